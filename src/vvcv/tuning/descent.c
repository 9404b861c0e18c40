/* The search of tuning/descent.py, for functions that are compiled themselves: nothing of Python is needed until it ends.

   The same steps, whose reasons stand there. Points x are free numbers; the function has entries of which each is one of
   them, perhaps the same (tuning/parameters.py). What cannot be evaluated is no number, and the search steps back. */

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    double (*value)(const void *data, const double *entry);
    void (*slope)(const void *data, double *slope); /* at what was evaluated last, once */
    const void *data;
    const double *factor; /* what the value found its model to be multiplied by */
    int64_t free, entries;
    int64_t evaluations; /* at most */
    int64_t cuts, first_cuts, remembered;
    int64_t keep; /* whether what is remembered is asked for in the end */
    int64_t known; /* how much is remembered: steps and changes, the oldest first */
    int64_t used; /* evaluations made */
    double gain, infeasible, enough, least_cut, most_cut, longest_step;
    const int64_t *index; /* of each entry, which free number it is */
    const double *low, *high, *grid;
    double *steps, *changes; /* remembered + 1 of free each */
    double *best, *best_value, *best_factor; /* the best point seen, if its value is a number */
    double *x; /* the start */
    double *there, *gradient, *new_gradient, *direction; /* free each */
    double *entry, *entry_slope; /* entries each */
    double *products, *squares, *u, *v; /* remembered^2 twice, remembered twice */
} Search;

static double product(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double nearest(const Search *s, int64_t i, double x) {
    double on_grid = rint(x / s->grid[i]) * s->grid[i];
    on_grid = on_grid < s->low[i] ? s->low[i] : on_grid;
    return (on_grid > s->high[i] ? s->high[i] : on_grid) + 0.0; /* no zero has a sign */
}

static double value_at(Search *s, const double *x) {
    for (int64_t k = 0; k < s->entries; k++) s->entry[k] = x[s->index[k]];
    double value = s->value(s->data, s->entry);
    s->used++;
    if (!isfinite(value)) return s->infeasible;
    if (value < *s->best_value) {
        *s->best_value = value, *s->best_factor = *s->factor;
        memcpy(s->best, x, s->free * sizeof *x);
    }
    return value;
}

/* The gradient at what was evaluated last; one that is no number leads nowhere, and the search ends there. */
static void slope_there(Search *s, double value, double *gradient) {
    memset(gradient, 0, s->free * sizeof *gradient);
    if (value == s->infeasible) return;
    s->slope(s->data, s->entry_slope);
    for (int64_t k = 0; k < s->entries; k++) gradient[s->index[k]] += s->entry_slope[k];
    for (int64_t i = 0; i < s->free; i++)
        if (!isfinite(gradient[i])) {
            memset(gradient, 0, s->free * sizeof *gradient);
            return;
        }
}

static int is_free(const Search *s, int64_t i) {
    return (s->x[i] > s->low[i] || s->gradient[i] < 0) && (s->x[i] < s->high[i] || s->gradient[i] > 0);
}

/* Keep a step along which the function bends upwards. */
static void remember(Search *s) {
    int64_t n = s->free, all = s->remembered * n;
    double *step = s->steps + s->known * n, *change = s->changes + s->known * n;
    for (int64_t i = 0; i < n; i++) step[i] = s->there[i] - s->x[i], change[i] = s->new_gradient[i] - s->gradient[i];
    if (!(product(step, change, n) > 2.220446049250313e-16 * product(change, change, n))) return;
    if (++s->known > s->remembered) { /* the oldest is forgotten */
        memmove(s->steps, s->steps + n, all * sizeof(double)), memmove(s->changes, s->changes + n, all * sizeof(double));
        s->known = s->remembered;
    }
}

/* -H g among the free entries, in s->direction. */
static void by_memory(Search *s) {
    int64_t n = s->free, k = s->known, r = s->remembered;
    double *g = s->direction;
    for (int64_t i = 0; i < n; i++) g[i] = is_free(s, i) ? s->gradient[i] : 0.0;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) {
            s->products[i * r + j] = product(s->steps + i * n, s->changes + j * n, n);
            s->squares[i * r + j] = product(s->changes + i * n, s->changes + j * n, n);
        }
    double scale = s->products[(k - 1) * r + k - 1] / s->squares[(k - 1) * r + k - 1];
    for (int64_t i = k - 1; i >= 0; i--) { /* u = R^-1 S g */
        double sum = product(s->steps + i * n, g, n);
        for (int64_t j = i + 1; j < k; j++) sum -= s->products[i * r + j] * s->u[j];
        s->u[i] = sum / s->products[i * r + i];
    }
    for (int64_t i = 0; i < k; i++) { /* v = R^-T ((D + h Y Y') u - h Y g) */
        double sum = product(s->squares + i * r, s->u, k) - product(s->changes + i * n, g, n);
        sum = s->products[i * r + i] * s->u[i] + scale * sum;
        for (int64_t j = 0; j < i; j++) sum -= s->products[j * r + i] * s->v[j];
        s->v[i] = sum / s->products[i * r + i];
    }
    for (int64_t i = 0; i < n; i++) {
        double sum = scale * g[i];
        for (int64_t j = 0; j < k; j++) sum += s->v[j] * s->steps[j * n + i] - scale * s->u[j] * s->changes[j * n + i];
        g[i] = is_free(s, i) ? -sum : 0.0;
    }
}

/* Downhill: by all that is remembered, or along the gradient; the slope there. */
static double downhill(Search *s) {
    int64_t n = s->free;
    if (s->known) {
        by_memory(s);
        double slope = product(s->gradient, s->direction, n);
        if (slope < 0) return slope; /* never of numbers that are none */
        s->known = 0;
    }
    double square = 0;
    for (int64_t i = 0; i < n; i++) {
        s->direction[i] = is_free(s, i) ? -s->gradient[i] : 0.0;
        square += s->direction[i] * s->direction[i];
    }
    for (int64_t i = 0; i < n; i++) s->direction[i] /= square > 1 ? sqrt(square) : 1.0;
    return product(s->gradient, s->direction, n);
}

/* The first point along the direction that is lower, in s->there; whether there is one. */
static int lower(Search *s, double here, double slope, int64_t most, double enough, double *value) {
    double longest = 0, widest = 0;
    for (int64_t i = 0; i < s->free; i++) {
        longest = fmax(longest, fabs(s->direction[i]));
        widest = fmax(widest, fabs(s->direction[i]) / s->grid[i]);
    }
    double step = fmin(fmax(1.0, 1 / widest), s->longest_step / longest);
    for (int64_t used = 1; used <= most; used++) {
        int moved = 0;
        for (int64_t i = 0; i < s->free; i++) {
            s->there[i] = nearest(s, i, s->x[i] + step * s->direction[i]);
            moved |= s->there[i] != s->x[i];
        }
        if (!moved) return 0;
        *value = value_at(s, s->there);
        if (*value <= here + s->enough * step * slope) return 1;
        double bent = *value - here - step * slope;
        step *= fmin(fmax(-0.5 * step * slope / bent, s->most_cut), s->least_cut);
        if (-step * slope <= enough) return 0;
    }
    return 0;
}

/* From s->x until evaluations are used up, or a step gains too little. */
void vvcv_search(Search *s) {
    int64_t n = s->free, begun = 0;
    for (int64_t i = 0; i < n; i++) s->x[i] = nearest(s, i, s->x[i]);
    s->used = 0;
    double here = value_at(s, s->x), there = here;
    slope_there(s, here, s->gradient);
    while (s->used < s->evaluations) {
        double slope = downhill(s), enough = s->gain * fmax(fabs(here), 1.0);
        int first = s->known == 0;
        if (!(-slope > enough)) return;
        int64_t most = first ? s->first_cuts : s->cuts, left = s->evaluations - s->used;
        if (lower(s, here, slope, most < left ? most : left, enough, &there)) {
            int last = s->used == s->evaluations || (here - there <= enough && begun && !first);
            if (last && !s->keep) return; /* nobody asks where it would go on */
            slope_there(s, there, s->new_gradient);
            remember(s);
            memcpy(s->x, s->there, n * sizeof *s->x);
            memcpy(s->gradient, s->new_gradient, n * sizeof *s->gradient);
            here = there, begun = 1;
            if (last) return;
        } else if (first || begun)
            return;
        else
            s->known = 0; /* what was learnt elsewhere */
    }
}
