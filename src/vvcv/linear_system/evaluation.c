/* One evaluation of a covariance model's restricted likelihood and its gradient, for searches on few rows.

   The same numbers as stein/host_gram.py, linear_system/dense.py and linear_system/evaluation.py give, whose formulas
   and names these are, in two calls that need nothing of Python: a search (tuning/descent.c) makes hundreds of them, and
   threads that search side by side would wait for Python's lock at each of the sixty calls of NumPy and LAPACK that one
   takes otherwise. Here pairs of rows are gone through one by one, so squared distances have no error of expansion.
   Matrices are symmetric; what counts is on and above the diagonal row by row, which LAPACK, column by column, calls
   lower. LAPACK's own routines are SciPy's, handed over by address (linear_system/lapack.py). */

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A Stein kernel of a radial kernel on rows from start to stop, perhaps times B = L L' of as many tasks.

   Its entries: logarithms of the diagonal of L, what is below it, row by row; logarithms of lengthscales, and of weights
   of the axes, one for all axes or one for each. */
typedef struct {
    int64_t start, stop;
    int64_t rough; /* Matern kernels of smoothness rough + 1/2; zero is the squared exponential */
    int64_t tasks, lengths, weights; /* how many, or zero */
    double *axes, *lam; /* d each: weights of the axes, inverse squared lengthscales */
    double *factor, *b; /* L, B */
    double *by_axes, *by_lam, *by_b; /* the gradient in each; of B a sum over pairs on and above the diagonal */
} Term;

typedef struct {
    int64_t n, d, tasks, columns, values, parts, terms;
    int64_t scaled; /* whether the likeliest multiple of a model stands for it */
    int64_t lead; /* of n numbers and those after them that a step of LANES may touch */
    const double *points, *scores; /* d x lead */
    const int64_t *task; /* of each row, sorted */
    const double *column, *value; /* columns x n, values x n */
    const double *part; /* parts x n x n */
    const double *noise_weight, *count; /* n; rows of each task */
    double *noise, *variance; /* of each task and part, for one evaluation */
    Term *term;
    double *matrix, *solved; /* n x n, (columns + values) x n */
    double *normal, *coefficients; /* columns x columns, columns */
    double *weights, *own_noise; /* values x n, n */
    double *work, *axis; /* WORK x lead, AXIS x d */
    double *total, *by_noise, *by_part; /* of each task and part */
    double *scale; /* what a model was multiplied by */
} Problem;

enum { WORK = 12, AXIS = 5 };

/* Numbers that are worked on at once; the compiler makes of them what the processor has. */
enum { LANES = 8 };
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
#define AT(numbers) (*(const Lanes *)(numbers))
#define PUT(numbers, lanes) (*(Lanes *)(numbers) = (lanes))
#define TOTAL(x) (((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7])))

/* Of loops whose steps know nothing of each other. */
#define EACH _Pragma("omp simd")

/* What is taken for the same point: kernels/radial_stein.py. */
static const double COINCIDENT = 16 * 2.3e-16;

/* Triangles of this many rows are left to LAPACK: linear_system/inverse.py. */
enum { LEAF = 80 };

/* Hot loops for the processor that runs them, where the compiler can make several of one, with all that they call. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define HOT __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HOT
#endif
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

typedef struct {
    void (*potrf)(const char *, const int *, double *, const int *, int *);
    void (*potrs)(const char *, const int *, const int *, const double *, const int *, double *, const int *, int *);
    void (*trtri)(const char *, const char *, const int *, double *, const int *, int *);
    void (*lauum)(const char *, const int *, double *, const int *, int *);
    void (*trmm)(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
                 const double *, const int *, double *, const int *);
    void (*trsm)(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
                 const double *, const int *, double *, const int *);
    void (*syrk)(const char *, const char *, const int *, const int *, const double *, const double *, const int *,
                 const double *, double *, const int *);
} Routines;

static Routines lapack;

void vvcv_use(const Routines *routines) { lapack = *routines; }

/* exp(x) for x <= 0, to about a rounding; below the smallest number it is that number. 2^k exp(r), |r| <= log(2) / 2. */
INLINE double exponential(double x) {
    const double shift = 0x1.8p52;
    x = x < -708.0 ? -708.0 : x;
    double k = x * 1.4426950408889634 + shift;
    int64_t bits;
    memcpy(&bits, &k, sizeof bits);
    k -= shift;
    double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    int64_t result;
    memcpy(&result, &p, sizeof result);
    result += (int64_t)((uint64_t)bits << 52);
    memcpy(&p, &result, sizeof p);
    return p;
}

/* The profile of a radial kernel and three derivatives in s: kernels/radial.py. */
INLINE void exponential_profile(int64_t k, const double *s, double *f, double *g,
                                       double *h, double *t) {
    EACH
    for (int64_t j = 0; j < k; j++) {
        double value = exponential(-0.5 * s[j]);
        f[j] = value, g[j] = -0.5 * value, h[j] = 0.25 * value, t[j] = -0.125 * value;
    }
}

INLINE void rough_profile(int64_t rough, int64_t k, const double *s, double *f, double *g,
                                 double *h, double *t) {
    double nu = rough + 0.5;
    EACH
    for (int64_t j = 0; j < k; j++) {
        double z = sqrt(2 * nu * s[j]), value = exponential(-z);
        double inverse = z > 0 ? 1 / z : 0.0;
        double one = 1 + z, two = 3 * one + z * z, three = 5 * two + z * z * one, below = (1 + inverse) * inverse * inverse;
        if (rough == 1)
            f[j] = one * value, g[j] = -nu * value, h[j] = nu * nu * inverse * value, t[j] = -nu * nu * nu * below * value;
        else if (rough == 2)
            f[j] = two / 3 * value, g[j] = -nu / 3 * one * value, h[j] = nu * nu / 3 * value,
            t[j] = -nu * nu * nu / 3 * inverse * value;
        else
            f[j] = three / 15 * value, g[j] = -nu / 15 * two * value, h[j] = nu * nu / 15 * one * value,
            t[j] = -nu * nu * nu / 15 * value;
    }
}

/* What a Stein kernel is made of between row i of a term and those from i on. */
typedef struct {
    double *s, *inner, *pull, *q; /* squares, inner, 2 pull, -4 q: stein/host_strips.py */
    double *f, *g, *h, *t;
} Row;

INLINE Row row_of(const Problem *p) {
    double *w = p->work;
    int64_t n = p->lead;
    Row row = {w, w + n, w + 2 * n, w + 3 * n, w + 4 * n, w + 5 * n, w + 6 * n, w + 7 * n};
    return row;
}

/* Squared norms of the rows of a term, times what rounding is of them; weights of the axes for pairs of rows. */
INLINE void begin(const Problem *p, const Term *term, double *norms) {
    int64_t k = term->stop - term->start, d = p->d;
    memset(norms, 0, p->lead * sizeof *norms);
    for (int64_t r = 0; r < d; r++) {
        const double *x = p->points + r * p->lead + term->start;
        EACH
        for (int64_t j = 0; j < k; j++) norms[j] += COINCIDENT * term->lam[r] * x[j] * x[j];
        p->axis[r] = 2 * term->axes[r] * term->lam[r];
        p->axis[d + r] = -2 * p->axis[r] * term->lam[r];
    }
}

INLINE void row_numbers(const Problem *p, const Term *term, int64_t i, const double *norms, Row row) {
    int64_t k = term->stop - term->start - i, d = p->d, lead = p->lead;
    const double *points = p->points + term->start + i, *scores = p->scores + term->start + i;
    const double *twice = p->axis, *four = p->axis + d, *lam = term->lam;
    double *own = p->axis + 2 * d, *own_score = p->axis + 3 * d, *scaled = p->axis + 4 * d;
    for (int64_t r = 0; r < d; r++)
        own[r] = points[r * lead], own_score[r] = scores[r * lead], scaled[r] = term->axes[r] * scores[r * lead];
    for (int64_t j = 0; j < k; j += LANES) {
        Lanes s = {0}, inner = {0}, pull = {0}, q = {0};
        for (int64_t r = 0; r < d; r++) {
            Lanes delta = own[r] - AT(points + r * lead + j), score = AT(scores + r * lead + j), square = delta * delta;
            s += lam[r] * square;
            q += four[r] * square;
            pull += twice[r] * (delta * (score - own_score[r]) - 1);
            inner += scaled[r] * score;
        }
        PUT(row.s + j, s), PUT(row.inner + j, inner), PUT(row.pull + j, pull), PUT(row.q + j, q);
    }
    EACH
    for (int64_t j = 0; j < k; j++) {
        int apart = row.s[j] > norms[i] + norms[i + j];
        row.s[j] = apart ? row.s[j] : 0.0;
        row.q[j] = apart ? row.q[j] : 0.0;
    }
    if (term->rough)
        rough_profile(term->rough, k, row.s, row.f, row.g, row.h, row.t);
    else
        exponential_profile(k, row.s, row.f, row.g, row.h, row.t);
}

HOT static void add_term(const Problem *p, const Term *term) {
    Row row = row_of(p);
    double *norms = p->work + 8 * p->lead;
    const int64_t *task = p->task + term->start;
    begin(p, term, norms);
    for (int64_t i = 0; i < term->stop - term->start; i++) {
        int64_t k = term->stop - term->start - i;
        double *out = p->matrix + (term->start + i) * p->n + term->start + i;
        const double *b = term->tasks ? term->b + task[i] * term->tasks : 0;
        row_numbers(p, term, i, norms, row);
        if (b)
            EACH
            for (int64_t j = 0; j < k; j++)
                out[j] += b[task[i + j]] * (row.f[j] * row.inner[j] + row.g[j] * row.pull[j] + row.h[j] * row.q[j]);
        else
            EACH
            for (int64_t j = 0; j < k; j++)
                out[j] += row.f[j] * row.inner[j] + row.g[j] * row.pull[j] + row.h[j] * row.q[j];
    }
}

/* The gradient of a sum over pairs of weights, p->matrix, times the term's entries. */
HOT static void pull_term(const Problem *p, const Term *term) {
    Row row = row_of(p);
    int64_t n = p->n, lead = p->lead;
    double *norms = p->work + 8 * lead, *weight = p->work + 9 * lead;
    double *by_s = p->work + 10 * lead, *by_q = p->work + 11 * lead;
    const int64_t *task = p->task + term->start;
    begin(p, term, norms);
    memset(term->by_lam, 0, p->d * sizeof(double)), memset(term->by_axes, 0, p->d * sizeof(double));
    if (term->tasks) memset(term->by_b, 0, term->tasks * term->tasks * sizeof(double));
    for (int64_t i = 0; i < term->stop - term->start; i++) {
        int64_t k = term->stop - term->start - i;
        const double *given = p->matrix + (term->start + i) * n + term->start + i;
        row_numbers(p, term, i, norms, row);
        if (term->tasks) {
            const double *b = term->b + task[i] * term->tasks;
            double *sums = term->by_b + task[i] * term->tasks;
            EACH
            for (int64_t j = 0; j < k; j++) {
                by_s[j] = given[j] * (row.f[j] * row.inner[j] + row.g[j] * row.pull[j] + row.h[j] * row.q[j]);
                weight[j] = given[j] * b[task[i + j]];
            }
            for (int64_t j = 0; j < k; j++) sums[task[i + j]] += by_s[j];
        } else
            memcpy(weight, given, k * sizeof *weight);
        EACH
        for (int64_t j = 0; j < k; j++) {
            double off = row.s[j] > 0 ? weight[j] : 0.0; /* nothing of one point with itself */
            by_s[j] = off * (row.g[j] * row.inner[j] + row.h[j] * row.pull[j] + row.t[j] * row.q[j]);
            by_q[j] = off * row.h[j];
            row.f[j] *= weight[j];
            row.g[j] *= weight[j];
        }
        size_t rest = LANES * sizeof(double);
        memset(by_s + k, 0, rest), memset(by_q + k, 0, rest), memset(row.f + k, 0, rest), memset(row.g + k, 0, rest);
        for (int64_t r = 0; r < p->d; r++) {
            const double *x = p->points + r * lead + term->start + i, *score = p->scores + r * lead + term->start + i;
            double own = x[0], own_score = score[0], lam = term->lam[r], a = term->axes[r];
            Lanes of_s = {0}, of_q = {0}, of_pull = {0}, of_inner = {0};
            for (int64_t j = 0; j < k; j += LANES) {
                Lanes delta = own - AT(x + j), other = AT(score + j), square = delta * delta;
                of_s += AT(by_s + j) * square;
                of_q += AT(by_q + j) * square;
                of_pull += AT(row.g + j) * (delta * (other - own_score) - 1);
                of_inner += AT(row.f + j) * other;
            }
            double twice = 2 * TOTAL(of_pull), four = 4 * lam * TOTAL(of_q);
            term->by_lam[r] += TOTAL(of_s) + a * (twice - 2 * four);
            term->by_axes[r] += own_score * TOTAL(of_inner) + lam * (twice - four);
        }
    }
}

HOT static void add_parts(const Problem *p) {
    int64_t n = p->n;
    for (int64_t k = 0; k < p->parts; k++)
        for (int64_t i = 0; i < n; i++) {
            double *out = p->matrix + i * n;
            const double *part = p->part + (k * n + i) * n;
            EACH
            for (int64_t j = i; j < n; j++) out[j] += p->variance[k] * part[j];
        }
}

HOT static void pull_parts(const Problem *p) {
    int64_t n = p->n;
    for (int64_t k = 0; k < p->parts; k++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            const double *weight = p->matrix + i * n, *part = p->part + (k * n + i) * n;
#pragma omp simd reduction(+ : sum)
            for (int64_t j = i; j < n; j++) sum += weight[j] * part[j];
        }
        p->by_part[k] = p->variance[k] * sum;
    }
}

static void add_noise(const Problem *p) {
    int64_t n = p->n;
    memset(p->total, 0, p->tasks * sizeof(double));
    for (int64_t i = 0; i < n; i++) p->total[p->task[i]] += p->matrix[i * n + i];
    for (int64_t i = 0; i < n; i++) {
        int64_t t = p->task[i];
        p->own_noise[i] = p->noise[t] * p->total[t] / p->count[t] * p->noise_weight[i];
        p->matrix[i * n + i] += p->own_noise[i];
    }
}

static double log_determinant(const double *factor, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += log(factor[i * n + i]);
    return 2 * sum;
}

static double product(const double *a, const double *b, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* The parameters of a term, from its entries; where those of the next begin. */
static const double *term_at(const Problem *p, const Term *term, const double *entry) {
    int64_t t = term->tasks, d = p->d;
    const double *below = entry + t;
    for (int64_t i = 0; i < t; i++) {
        for (int64_t j = 0; j < i; j++) term->factor[i * t + j] = *below++;
        term->factor[i * t + i] = exp(entry[i]);
        for (int64_t j = 0; j <= i; j++)
            term->b[i * t + j] = term->b[j * t + i] = product(term->factor + i * t, term->factor + j * t, j + 1);
    }
    entry = below;
    for (int64_t r = 0; r < d; r++) term->lam[r] = exp(-2 * entry[term->lengths > 1 ? r : 0]);
    entry += term->lengths;
    for (int64_t r = 0; r < d; r++) term->axes[r] = term->weights ? exp(entry[term->weights > 1 ? r : 0]) : 1.0;
    return entry + term->weights;
}

/* The gradient in a term's entries, from that in its parameters. */
static double *term_slope(const Problem *p, const Term *term, double *slope) {
    int64_t t = term->tasks, d = p->d;
    double *below = slope + t;
    for (int64_t i = 0; i < t; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0; /* a pair above stands for B_tu and for B_ut; within a task for two of B_tt */
            for (int64_t k = j; k < t; k++) sum += (term->by_b[i * t + k] + term->by_b[k * t + i]) * term->factor[k * t + j];
            if (j < i)
                *below++ = sum;
            else
                slope[i] = sum * term->factor[i * t + i];
        }
    slope = below;
    memset(slope, 0, (term->lengths + term->weights) * sizeof *slope);
    for (int64_t r = 0; r < d; r++) slope[term->lengths > 1 ? r : 0] -= 2 * term->lam[r] * term->by_lam[r];
    slope += term->lengths;
    if (term->weights)
        for (int64_t r = 0; r < d; r++) slope[term->weights > 1 ? r : 0] += term->axes[r] * term->by_axes[r];
    return slope + term->weights;
}

/* Minus the log restricted likelihood of a model or its likeliest multiple. Entries: of each term, logarithms of noise,
   of variances of parts. No number where W, or the normal matrix of the columns, is not positive definite. */
double vvcv_value(const Problem *p, const double *entry) {
    int n = (int)p->n, q = (int)p->columns, m = (int)p->values, both = q + m, info = 0;
    for (int64_t k = 0; k < p->terms; k++) entry = term_at(p, p->term + k, entry);
    for (int64_t t = 0; t < p->tasks; t++) p->noise[t] = exp(*entry++);
    for (int64_t k = 0; k < p->parts; k++) p->variance[k] = exp(*entry++);
    memset(p->matrix, 0, p->n * p->n * sizeof(double));
    for (int64_t k = 0; k < p->terms; k++) add_term(p, p->term + k);
    add_parts(p);
    add_noise(p);
    lapack.potrf("L", &n, p->matrix, &n, &info);
    if (info) return NAN;
    memcpy(p->solved, p->column, p->columns * p->n * sizeof(double));
    memcpy(p->solved + p->columns * p->n, p->value, p->values * p->n * sizeof(double));
    lapack.potrs("L", &n, &both, p->matrix, &n, p->solved, &n, &info);
    for (int i = 0; i < q; i++)
        for (int j = 0; j < q; j++) p->normal[j * q + i] = product(p->column + i * p->n, p->solved + j * p->n, n);
    lapack.potrf("L", &q, p->normal, &q, &info);
    if (info) return NAN;
    double quadratic = 0; /* y' P y */
    for (int k = 0; k < m; k++) {
        double *weights = p->weights + k * p->n, *target = p->solved + (q + k) * p->n;
        double *coefficients = p->coefficients;
        for (int i = 0; i < q; i++) coefficients[i] = product(p->column + i * p->n, target, n);
        int one = 1;
        lapack.potrs("L", &q, &one, p->normal, &q, coefficients, &q, &info);
        memcpy(weights, target, p->n * sizeof(double));
        for (int i = 0; i < q; i++)
            for (int j = 0; j < n; j++) weights[j] -= coefficients[i] * p->solved[i * p->n + j];
        quadratic += product(p->value + k * p->n, weights, n);
    }
    double size = log_determinant(p->matrix, n) + log_determinant(p->normal, q), freedom = n - q;
    double scale = p->scaled ? quadratic / (m * (freedom > 1 ? freedom : 1)) : 1.0;
    if (!(scale > 0 && scale < INFINITY)) return NAN; /* values that the columns leave nothing of */
    *p->scale = scale;
    return 0.5 * (quadratic / scale + m * (size + freedom * log(scale)));
}

/* X = L^-1 in the place of L, by halves: linear_system/inverse.py. */
static void invert_triangle(double *lower, int n, int lead) {
    int info = 0, half = n / 2, rest = n - half;
    if (n <= LEAF) {
        lapack.trtri("L", "N", &n, lower, &lead, &info);
        return;
    }
    double minus = -1, one = 1, *corner = lower + half, *second = lower + (int64_t)half * lead + half;
    invert_triangle(lower, half, lead);
    invert_triangle(second, rest, lead);
    lapack.trmm("L", "L", "N", "N", &rest, &half, &minus, second, &lead, corner, &lead);
    lapack.trmm("R", "L", "N", "N", &rest, &half, &one, lower, &lead, corner, &lead);
}

/* The gradient there in all entries, once after a value that is a number. */
void vvcv_slope(const Problem *p, double *slope) {
    int n = (int)p->n, q = (int)p->columns, m = (int)p->values, both = q + m, info = 0;
    double one = 1, half = 0.5 * m, minus = -half, share = 1 / sqrt(m * *p->scale);
    lapack.trsm("R", "L", "T", "N", &n, &q, &one, p->normal, &q, p->solved, &n);
    for (int64_t i = 0; i < p->values * p->n; i++) p->solved[p->columns * p->n + i] = share * p->weights[i];
    invert_triangle(p->matrix, n, n);
    lapack.lauum("L", &n, p->matrix, &n, &info);
    lapack.syrk("L", "N", &n, &both, &minus, p->solved, &n, &half, p->matrix, &n);
    memset(p->by_noise, 0, p->tasks * sizeof(double));
    for (int64_t i = 0; i < n; i++) p->by_noise[p->task[i]] += p->matrix[i * n + i] * p->own_noise[i];
    for (int64_t i = 0; i < n; i++) {
        double *weight = p->matrix + i * n;
        /* The noise follows the kernel's own diagonal, so its slope flows back into the diagonal too. */
        weight[i] += p->by_noise[p->task[i]] / p->total[p->task[i]];
        EACH
        for (int64_t j = i + 1; j < n; j++) weight[j] *= 2; /* a pair above stands for two */
    }
    pull_parts(p);
    for (int64_t k = 0; k < p->terms; k++) {
        pull_term(p, p->term + k);
        slope = term_slope(p, p->term + k, slope);
    }
    for (int64_t t = 0; t < p->tasks; t++) *slope++ = p->by_noise[t];
    for (int64_t k = 0; k < p->parts; k++) *slope++ = p->by_part[k];
}
