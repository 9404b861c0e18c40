"""Inputs by name: copula, log densities, designs, tasks, and estimates whose error bars hold the exact mean."""

from multiprocessing.reduction import ForkingPickler

import jax
import jax.numpy as jnp
import jax.scipy.stats as jstats
import numpy as np
import pandas as pd
import pytest
from jax.scipy.special import ndtri
from scipy import stats
from scipy.integrate import quad

import vvcv
from vvcv import inputs

R = np.array([[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]])
LINKED = inputs.correlated(R, a=inputs.normal(1, 2), b=inputs.exponential(3), c=inputs.uniform(0, 2))


def linked_log_density(x):
    """The Gaussian copula as textbooks have it."""
    a, b, c = x
    z = jnp.array([(a - 1) / 2, ndtri(1 - jnp.exp(-b / 3)), ndtri(c / 2)])
    own = jstats.norm.logpdf(a, 1.0, 2.0) + jstats.expon.logpdf(b, 0.0, 3.0) + jnp.log(0.5)
    return own - z @ (np.linalg.inv(R) - np.eye(3)) @ z / 2 - np.linalg.slogdet(R)[1] / 2


def test_a_copulas_density_and_scores_are_those_of_jax():
    x = LINKED.rows(LINKED.sample(20, seed=3))
    with jax.enable_x64(True):
        value, slope = jax.jit(jax.vmap(jax.value_and_grad(linked_log_density)))(x)
    assert np.allclose(LINKED.log_density(x), value, rtol=1e-10)
    assert np.allclose(LINKED.score(x), slope, rtol=1e-9, atol=1e-9)


def test_the_coordinates_of_linked_inputs_are_standard_normal():
    """2000 draws: each of the nine moments of order two stays within 4.5 standard errors (false alarm: 1 in 15,000)."""
    points, scores = LINKED.coordinates(LINKED.sample(2000, seed=0))
    assert np.array_equal(scores, -points)
    error = np.where(np.eye(3) == 1, np.sqrt(2 / 2000), np.sqrt(1 / 2000))
    assert (np.abs(points.T @ points / 2000 - np.eye(3)) < 4.5 * error).all()


def test_pairs_and_a_matrix_say_the_same():
    marginals = {"a": inputs.normal(0, 1), "b": inputs.gamma(2), "c": stats.norm(0, 1)}
    pairs = inputs.correlated({("a", "b"): 0.6, ("c", "a"): -0.3, ("b", "c"): 0.2}, **marginals)
    assert np.array_equal(pairs.correlation, R)
    assert repr(inputs.independent(a=inputs.normal(0, 1))) == "independent(a=normal(mean=0.0, sd=1.0))"


def test_a_table_of_correlations_goes_by_its_names():
    laws = {name: inputs.normal(0, 1) for name in "abc"}
    matrix = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 1.0]])
    table = pd.DataFrame(matrix, index=list("abc"), columns=list("abc"))
    assert np.array_equal(inputs.correlated(table.loc[list("cab"), list("bca")], **laws).correlation, matrix)


def test_points_by_name_by_table_and_by_row_make_the_same_task():
    x = LINKED.sample(10, seed=1)
    shuffled = pd.DataFrame(x)[["c", "a", "b"]]
    tasks = [LINKED.task(form, np.arange(10.0), "t") for form in (x, shuffled, LINKED.rows(x))]
    assert all(np.array_equal(task.points, tasks[0].points) for task in tasks)
    assert vvcv.check(LINKED.task(LINKED.sample(400), np.arange(400.0))).ok


SPREAD = {
    "normal": inputs.normal(3, 2),
    "lognormal": inputs.lognormal(0, 1),
    "uniform": inputs.uniform(-1, 1),
    "triangular": inputs.triangular(0, 1, 4),
    "beta": inputs.beta(2, 3),
    "gamma": inputs.gamma(2.5, 3),
    "exponential": inputs.exponential(4),
    "student": inputs.student(3),
    "truncated": inputs.truncated(inputs.normal(0, 1), -1, 2),
    "scipy": inputs.from_scipy(stats.weibull_min(1.5, scale=3)),
}
#: All 20 intervals together hold their 20 means but for one time in 1000, if the error bars are as they say.
LEVEL = 1 - 1e-3 / (2 * len(SPREAD))


@pytest.mark.parametrize("name", SPREAD)
def test_means_are_within_their_error_bars(name):
    ours = SPREAD[name]
    middle, width = ours.from_normal(0.0), ours.from_normal(0.67) - ours.from_normal(-0.67)
    functions = [lambda x: 1 / (1 + ((x - middle) / width) ** 2), lambda x: (x - middle) / np.hypot(width, x - middle)]
    given = inputs.independent(x=ours)
    x = given.sample(60, seed=0)
    points, scores = given.coordinates(x)
    est = vvcv.estimate(vvcv.Tasks.shared(points, scores, np.column_stack([f(x["x"]) for f in functions])), "cf")
    low, high = est.interval(LEVEL)
    for t, f in enumerate(functions):
        ends = [float(end) for end in ours.law.support()]
        parts = [(ends[0], middle), (middle, ends[1])]
        exact = sum(quad(lambda y, f=f: f(y) * np.exp(ours.law.logpdf(y)), *part, epsabs=1e-10)[0] for part in parts)
        assert low[t] - 1e-7 < exact < high[t] + 1e-7
        assert est.std_error[t] < 0.2 * est.monte_carlo.std_error[t]


def banana(x):
    return -(x[0] ** 2) / 2 - (x[1] - x[0] ** 2) ** 2 / 2


def banana_draws(n, rng):
    z = rng.standard_normal((n, 2))
    return np.column_stack([z[:, 0], z[:, 1] + z[:, 0] ** 2])


def test_a_log_density_gives_its_scores_in_its_own_coordinates():
    given = inputs.from_log_density(banana, banana_draws, names=["a", "b"])
    x = given.sample(300, seed=2)
    task = given.task(x, x["a"] * x["b"], "product")
    away = x["b"] - x["a"] ** 2
    assert np.allclose(task.scores, np.column_stack([-x["a"] + 2 * x["a"] * away, -away]), rtol=1e-12)
    assert np.array_equal(task.points, given.rows(x)) and vvcv.check(task, banana).ok


def test_a_log_density_with_bounds_goes_to_the_whole_line():
    draws = np.random.default_rng(0).gamma(3.0, size=(50, 1))
    given = inputs.from_log_density(lambda x: 2 * jnp.log(x[0]) - x[0], draws, names=["a"], lower=0)
    task = given.task(draws, draws[:, 0])
    assert np.allclose(task.points, np.log(draws)) and np.allclose(task.scores, 3 - draws)
    assert sorted(given.sample(50, seed=5)["a"]) == sorted(draws[:, 0])


@pytest.mark.parametrize("flat", [lambda x: 0, lambda x: jnp.int32(0), lambda x: (x > 2).sum()])
def test_a_flat_log_density_may_be_a_whole_number(flat):
    draws = np.random.default_rng(0).uniform(size=(50, 1))
    given = inputs.from_log_density(flat, draws, lower=0, upper=1)
    assert np.allclose(given.task(draws, draws[:, 0]).scores, 1 - 2 * draws)
    assert np.array_equal(given.log_density(draws), np.zeros(50)) and given.log_density(draws).dtype == float


def test_a_latin_hypercube_has_one_point_in_each_stratum():
    given = inputs.independent(a=inputs.uniform(0, 1), b=inputs.uniform(0, 1))
    for column in given.sample(30, seed=0, design="latin-hypercube").values():
        assert sorted(np.floor(30 * column).astype(int)) == list(range(30))


def test_sobol_points_average_a_smooth_function_far_better_than_random_ones():
    given = inputs.independent(a=inputs.uniform(0, 1), b=inputs.uniform(0, 1))
    error = {}
    for design in ("random", "latin-hypercube", "sobol"):
        found = [given.sample(256, seed=seed, design=design) for seed in range(20)]
        error[design] = np.std([np.mean(x["a"] * x["b"]) - 0.25 for x in found])
    assert error["sobol"] < 0.1 * error["random"] and error["latin-hypercube"] < 0.6 * error["random"]


@pytest.mark.parametrize("design", ["random", "sobol"])
def test_more_points_begin_with_the_same_ones(design):
    few, many = (LINKED.sample(n, seed=4, design=design) for n in (10, 50))
    assert all(np.array_equal(few[name], many[name][:10]) for name in LINKED.names)


def two(correlation):
    return inputs.correlated(correlation, a=inputs.normal(0, 1), b=inputs.normal(0, 1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LINKED.sample(10, design="grid"), "design must be one of"),
        (lambda: LINKED.sample(0), "positive integer"),
        (lambda: LINKED.task({"a": [1.0], "b": [1.0]}, [1.0]), r"\['c'\] are missing"),
        (lambda: LINKED.task(np.ones((4, 2)), np.ones(4)), "one column per input"),
        (lambda: LINKED.task({"a": [1.0], "b": [-1.0], "c": [1.0]}, [1.0]), "b must lie strictly between 0 and inf"),
        (lambda: inputs.independent(), "at least one input"),
        (lambda: inputs.independent(a=3.0), "but a float was given"),
        (lambda: inputs.correlated(np.eye(3), a=inputs.normal(0, 1)), "symmetric 1 by 1 matrix"),
        (lambda: inputs.correlated({("a", "q"): 0.1}, a=inputs.normal(0, 1)), "is none"),
        (
            lambda: inputs.correlated({("a", "b"): 1.0}, a=inputs.normal(0, 1), b=inputs.normal(0, 1)),
            "positive definite",
        ),
        (
            lambda: inputs.correlated(
                {("a", "b"): 0.5, ("b", "a"): -0.5}, a=inputs.normal(0, 1), b=inputs.normal(0, 1)
            ),
            "one correlation, but",
        ),
        (lambda: two({("a", "b"): "strong"}), r"correlation of \('a', 'b'\) must be one number, but is 'strong'"),
        (lambda: two({("a", "b"): np.nan}), "between -1 and 1, but that of .* is nan"),
        (lambda: inputs.correlated(pd.DataFrame(np.eye(1)), a=inputs.normal(0, 1)), "a row and a column for each"),
        (lambda: inputs.from_log_density(banana, banana_draws), "names must say"),
        (
            lambda: LINKED.rows(dict.fromkeys(LINKED.names[1:], [1.0]) | {LINKED.names[0]: [1.0, 2.0]}),
            "as many entries",
        ),
        (lambda: inputs.from_log_density(lambda x: -(x**2), np.ones((5, 2))).score(np.ones((5, 2))), r"shape \(2,\)"),
        (lambda: inputs.from_log_density(lambda x: None, np.ones((5, 2))).score(np.ones((5, 2))), "but gave None"),
        (lambda: inputs.from_log_density(lambda x: 1j * x[0], np.ones((5, 2))).score(np.ones((5, 2))), "complex128"),
        (lambda: inputs.from_log_density(lambda x: float(x[0]), np.ones((5, 2))).score(np.ones((5, 2))), "jax.numpy"),
        (
            lambda: inputs.from_log_density(lambda x: jnp.log(x).sum(), np.ones((5, 2))).task(
                -np.ones((5, 2)), np.ones(5)
            ),
            "finite at every point, but is not at 5 of 5",
        ),
        (lambda: inputs.from_log_density(banana, np.ones((5, 2))).sample(6), "There are 5 draws, but 6"),
        (lambda: inputs.from_log_density(banana, np.ones((5, 2))).sample(-1), "positive integer"),
        (lambda: inputs.from_log_density(banana, np.ones((5, 2)), names=["a", "a"]), "differ from one another"),
        (lambda: inputs.from_log_density(banana, np.ones((5, 2)), names=["a"]), r"for draws of shape \(5, 2\)"),
    ],
)
def test_bad_calls_are_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_inputs_go_to_other_processes():
    given = inputs.correlated(
        {("a", "b"): 0.5},
        a=inputs.normal(3, 1),
        b=inputs.lognormal(0, 1),
        c=inputs.uniform(0, 1),
        d=inputs.beta(2, 3),
        e=inputs.gamma(2),
        f=inputs.exponential(1),
        g=inputs.student(4),
        h=inputs.triangular(0, 1, 2),
        i=inputs.truncated(inputs.normal(0, 1), low=0),
        j=stats.gumbel_r(0, 1),
    )
    arrived, x = ForkingPickler.loads(ForkingPickler.dumps(given)), given.sample(5, seed=1)
    assert repr(arrived) == repr(given)
    np.testing.assert_array_equal(arrived.score(x), given.score(x))


def test_a_table_of_arrow_is_taken_by_its_names():
    pyarrow = pytest.importorskip("pyarrow")
    given = inputs.independent(a=inputs.uniform(0, 1), b=inputs.uniform(4, 5))
    table = pyarrow.table({"b": [4.2, 4.7], "a": [0.1, 0.9]})
    np.testing.assert_array_equal(given.rows(table), [[0.1, 4.2], [0.9, 4.7]])
