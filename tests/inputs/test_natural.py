"""Bounded inputs by logarithms and logits: the law there, what is exact, and answers that come nearer."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.scipy.stats as jstats
import numpy as np
import pytest
from jax.scipy.special import ndtri
from scipy import stats

import vvcv
from vvcv import inputs
from vvcv.data import Prepared
from vvcv.estimation.views import other_looks
from vvcv.inputs.families import as_distribution
from vvcv.inputs.natural import seen_otherwise

LINKED = inputs.correlated(
    {("a", "b"): 0.5, ("b", "c"): -0.3}, a=inputs.uniform(2, 5), b=inputs.exponential(3), c=inputs.normal(1, 2)
)


def log_density(y):
    """Of logit((a - 2) / 3), log b and c's z, from the textbook."""
    a, b = jax.nn.sigmoid(y[0]), jnp.exp(y[1])
    z = jnp.array([ndtri(a), ndtri(-jnp.expm1(-b / 3)), y[2]])
    copula = -z @ (jnp.linalg.inv(jnp.asarray(LINKED.correlation)) - jnp.eye(3)) @ z / 2
    own = jnp.log(a * (1 - a)) + jstats.expon.logpdf(b, 0.0, 3.0) + y[1] + jstats.norm.logpdf(y[2])
    return copula + own


def test_scores_there_are_those_of_automatic_differentiation():
    x = LINKED.sample(50, seed=1)
    task = LINKED.task(x, x["a"])
    there, slopes = task.elsewhere(task.points, task.scores)
    np.testing.assert_allclose(there[:, 0], np.log((x["a"] - 2) / (5 - x["a"])), rtol=1e-9, atol=1e-9)
    with jax.enable_x64(True):
        expected = np.asarray(jax.vmap(jax.grad(log_density))(there))
    np.testing.assert_allclose(slopes, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("law", [inputs.normal(0, 1), inputs.lognormal(1, 2), inputs.student(5)])
def test_where_nothing_else_is_to_be_seen_there_is_no_other_look(law):
    given = inputs.independent(x=law)
    assert given.task(given.sample(20), np.arange(20.0)).elsewhere is None


HISTOGRAM = stats.rv_histogram(np.histogram(np.random.default_rng(0).gamma(2, size=300), bins=8))
BENT = [inputs.triangular(0, 0.2, 1), stats.triang(0.3), stats.trapezoid(0.2, 0.8), HISTOGRAM]
BENT += [inputs.truncated(stats.laplace(), low=-1)]
SMOOTH = [inputs.triangular(0, 0, 1), inputs.beta(0.5, 0.5), inputs.gamma(0.1), inputs.exponential(1e-9)]
SMOOTH += [inputs.truncated(inputs.normal(0, 1), low=30), stats.weibull_min(0.5), stats.loguniform(1, 100)]


def test_laws_that_bend_or_jump_are_seen_in_gaussian_coordinates_alone():
    assert seen_otherwise(as_distribution(law) for law in [*BENT, *SMOOTH]) == tuple(range(5, 12))


@pytest.mark.parametrize(("law", "seed"), [(HISTOGRAM, 2), (HISTOGRAM, 5), (inputs.triangular(0, 0.2, 1), 8)])
def test_means_under_laws_that_bend_or_jump_are_within_their_error_bars(law, seed):
    """By logits, Stein's identity fails for a histogram, and a mean may as well be the value at a triangle's mode."""
    given = inputs.independent(x=law, time=inputs.exponential(1))
    mean, x = (HISTOGRAM.mean() if law is HISTOGRAM else 0.4), given.sample(40, seed=seed)
    found = vvcv.estimate(given.task(x, 10 * x["x"] + x["time"] * x["x"]))
    assert abs(found.mean[0] - 11 * mean) < 3 * found.std_error[0] < 1


def test_tasks_of_other_inputs_have_no_look_in_common():
    ones = [inputs.independent(x=inputs.uniform(0, 1)) for _ in range(2)]
    tasks = [given.task(given.sample(20), np.arange(20.0), name) for given, name in zip(ones, "ab", strict=True)]
    assert not other_looks(Prepared.of(vvcv.Tasks(tasks)))
    assert len(other_looks(Prepared.of(vvcv.Tasks([tasks[0], tasks[0].carrying(np.arange(20.0), "c")])))) == 1


def test_what_is_linear_in_the_inputs_has_no_error():
    laws = [inputs.uniform(0, 1), inputs.gamma(2), inputs.exponential(3), inputs.beta(2, 3)]
    given = inputs.independent(**{f"x{j}": law for j, law in enumerate(laws)})
    x = given.sample(30, seed=2)
    found = vvcv.estimate(given.task(x, x["x0"] + 2 * x["x1"] - x["x2"] + 3 * x["x3"]), check=False)
    assert found.mean[0] == pytest.approx(0.5 + 4 - 3 + 1.2, abs=1e-6)
    points = given.coordinates(given.sample(200_000, seed=3))[0]
    assert abs(found.control_variate(points, -points).mean()) < 5 * 4 / np.sqrt(200_000)  # false alarms: 6e-7


def test_products_of_bounded_inputs_come_nearer():
    """Root mean square error against that in Gaussian coordinates alone, twenty samples: measured .53."""
    given = inputs.independent(**{f"x{j}": inputs.uniform(1, 2) for j in range(4)})
    errors = {"both": [], "Gaussian": []}
    for seed in range(20):
        x = given.sample(40, seed=seed)
        task = given.task(x, np.prod(list(x.values()), axis=0))
        for look, seen in (("both", task), ("Gaussian", replace(task, elsewhere=None))):
            errors[look].append(vvcv.estimate(seen, check=False).mean[0] - 1.5**4)
    assert np.linalg.norm(errors["both"]) < 0.8 * np.linalg.norm(errors["Gaussian"])
