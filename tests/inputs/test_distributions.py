"""Every distribution: density and score against JAX, the Gaussian map into the tails, and bad parameters refused."""

import jax
import jax.numpy as jnp
import jax.scipy.stats as jstats
import numpy as np
import pytest
from jax.scipy.special import log_ndtr
from scipy import stats
from scipy.special import log_ndtr as numpy_log_ndtr
from scipy.special import ndtr

from vvcv import inputs

Z = np.array([-3.1, -1.7, -0.6, -0.1, 0.3, 0.9, 2.2, 3.3])


def triangle(x):
    return jnp.log(jnp.where(x < 1, (x - 0.0) / 1.0, (4 - x) / 3.0) * 2 / 4)


def cut_gamma(x):
    return jstats.gamma.logpdf(x, 2.0) - jnp.log(jstats.gamma.cdf(3.0, 2.0) - jstats.gamma.cdf(1.0, 2.0))


#: Our distribution, and its log density as JAX has it or as the textbook does.
CASES = {
    "normal": (inputs.normal(0.1, 0.016), lambda x: jstats.norm.logpdf(x, 0.1, 0.016)),
    "lognormal": (inputs.lognormal(7.71, 1.0056), lambda x: jstats.norm.logpdf(jnp.log(x), 7.71, 1.0056) - jnp.log(x)),
    "uniform": (inputs.uniform(63070, 115600), lambda x: jstats.uniform.logpdf(x, 63070.0, 52530.0)),
    "triangular": (inputs.triangular(0, 1, 4), triangle),
    "beta": (inputs.beta(2, 3.5, -1, 5), lambda x: jstats.beta.logpdf(x, 2.0, 3.5, -1.0, 6.0)),
    "gamma": (inputs.gamma(2.5, 3), lambda x: jstats.gamma.logpdf(x, 2.5, 0.0, 3.0)),
    "exponential": (inputs.exponential(4), lambda x: jstats.expon.logpdf(x, 0.0, 4.0)),
    "student": (inputs.student(3, 1, 2), lambda x: jstats.t.logpdf(x, 3.0, 1.0, 2.0)),
    "half normal": (inputs.truncated(inputs.normal(0, 1), low=0), lambda x: jstats.norm.logpdf(x) + jnp.log(2.0)),
    "far tail": (inputs.truncated(inputs.normal(0, 1), low=9), lambda x: jstats.norm.logpdf(x) - log_ndtr(-9.0)),
    "truncated gamma": (inputs.truncated(inputs.gamma(2), 1, 3), cut_gamma),
    "scipy weibull": (
        inputs.from_scipy(stats.weibull_min(2, scale=3)),
        lambda x: jnp.log(2 / 3) + jnp.log(x / 3) - (x / 3) ** 2,
    ),
    "scipy gumbel": (inputs.from_scipy(stats.gumbel_r(1, 2)), lambda x: jstats.gumbel_r.logpdf(x, 1.0, 2.0)),
}
if hasattr(stats, "Normal"):  # from SciPy 1.15 on
    CASES["scipy normal object"] = (
        inputs.from_scipy(stats.Normal(mu=1, sigma=2)),
        lambda x: jstats.norm.logpdf(x, 1, 2),
    )
EVERY = pytest.mark.parametrize("name", CASES)


@EVERY
def test_scores_are_those_of_automatic_differentiation(name):
    ours, log_density = CASES[name]
    x = ours.from_normal(Z)
    with jax.enable_x64(True):
        slope = np.asarray(jax.jit(jax.vmap(jax.grad(log_density)))(x))
    tolerance = 1e-8 if ours.formula is None else 1e-12
    unit = ours.slope(x)  # scores have the unit of 1 / x
    assert np.abs((ours.score(x) - slope) / unit).max() < tolerance * np.abs(slope / unit).max() + 1e-12


@EVERY
def test_log_densities_are_those_of_jax(name):
    ours, log_density = CASES[name]
    x = ours.from_normal(Z)
    with jax.enable_x64(True):
        assert np.allclose(ours.log_density(x), np.asarray(jax.jit(jax.vmap(log_density))(x)), rtol=1e-10, atol=1e-10)


@EVERY
def test_the_gaussian_map_keeps_probability(name):
    """p(x) dx = phi(z) dz, and half of the probability below z = 0."""
    ours, _ = CASES[name]
    x = ours.from_normal(Z)
    dx = 1e-4 / ours.slope(x)
    dz = (ours.to_normal(x + dx) - ours.to_normal(x - dx)) / 2e-4
    assert np.allclose(dz, 1, atol=1e-6)
    assert float(ours.law.logcdf(ours.from_normal(0.0))) == pytest.approx(np.log(0.5), rel=1e-9)


@pytest.mark.parametrize(
    "ours",
    [
        inputs.normal(5, 2),
        inputs.lognormal(0, 1),
        inputs.gamma(0.3),
        inputs.gamma(40),
        inputs.exponential(3),
        inputs.student(1),
        inputs.student(3),
        inputs.beta(2, 3),
        inputs.triangular(0, 1, 4),
        inputs.triangular(-4, -1, 0),
        inputs.truncated(inputs.normal(0, 1), low=0),
        inputs.truncated(inputs.normal(0, 1), high=0),
    ],
    ids=repr,
)
def test_eight_standard_deviations_come_back(ours):
    z = np.linspace(-8, 8, 33)
    assert np.abs(ours.to_normal(ours.from_normal(z)) - z).max() < 1e-8


def test_the_tails_are_where_closed_forms_put_them():
    z = np.array([-8.0, -6.0, 6.0, 8.0])
    assert np.allclose(inputs.exponential(1).from_normal(z), -numpy_log_ndtr(-z), rtol=1e-14)
    assert np.allclose(inputs.uniform(0, 1).from_normal(z[:2]), ndtr(z[:2]), rtol=1e-14)
    assert np.allclose(inputs.triangular(0, 1, 1).from_normal(z[:2]), np.sqrt(ndtr(z[:2])), rtol=1e-14)
    assert np.allclose(inputs.triangular(-1, -1, 0).from_normal(z[2:]), -np.sqrt(ndtr(-z[2:])), rtol=1e-14)
    half = inputs.truncated(inputs.normal(0, 1), low=0)
    assert np.allclose(half.from_normal(z[:2]), ndtr(z[:2]) * np.sqrt(np.pi / 2), rtol=1e-9)
    assert np.allclose(inputs.normal(5, 2).to_normal(5 + 2 * z), z, rtol=1e-13)


def test_draws_next_to_a_bound_stay_inside():
    for ours in (inputs.beta(0.1, 0.1), inputs.uniform(1e6, 1e6 + 1), inputs.truncated(inputs.normal(0, 1), low=30)):
        x = ours.from_normal(np.array([-9.0, 9.0]))
        assert np.isfinite(ours.to_normal(x)).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: inputs.normal(0, -1), "sd must be positive"),
        (lambda: inputs.normal(np.nan, 1), "mean of normal must be a finite number"),
        (lambda: inputs.uniform(2, 1), "low must be below high"),
        (lambda: inputs.triangular(0, 5, 1), "mode must lie from low to high"),
        (lambda: inputs.truncated(inputs.uniform(0, 1), low=2), "nothing is between 2 and inf"),
        (lambda: inputs.truncated(inputs.normal(0, 1), 2, 1), "low must be below high"),
        (lambda: inputs.truncated(inputs.normal(0, 1), low="0"), "low must be one number, but is '0'"),
        (lambda: inputs.truncated(inputs.normal(0, 1), low=0, high=None), "high must be one number, but is None"),
        (lambda: inputs.truncated(inputs.normal(0, 1), low=50), "nothing is between 50 and inf"),
        (
            lambda: inputs.from_scipy(stats.poisson(3)),
            "frozen continuous.*rv_discrete_frozen was given.*each as a model",
        ),
        (lambda: inputs.independent(a=3.0), "a float was given. A constant belongs in the model"),
        (lambda: inputs.from_scipy(stats.norm), "frozen continuous"),
        (lambda: inputs.from_scipy(stats.gamma), "frozen continuous"),
        (lambda: inputs.from_scipy(stats.norm([0, 1], 1)), "must be one number"),
        (lambda: inputs.from_scipy(stats.rv_histogram(([1, 2], [0, 1, 2]))([0, 1])), "must be one number"),
        (lambda: inputs.normal([0, 1], 1), "mean must be one number"),
        (lambda: inputs.uniform("0", 1), "low must be one number"),
        (lambda: inputs.lognormal("0", 1), "mu must be one number"),
        (lambda: inputs.triangular(0, [1], 2), "mode must be one number"),
        (lambda: inputs.gamma(None), "shape must be one number"),
        (lambda: inputs.gamma(2).to_normal([1.0, -1.0]), "strictly between 0 and inf.*first is -1"),
    ],
)
def test_bad_parameters_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.skipif(not hasattr(stats, "Mixture"), reason="older SciPy")
def test_distribution_objects_of_scipy_are_inputs_unless_they_are_many_or_none():
    mixture = stats.Mixture([stats.Normal(), stats.Normal(mu=3.0)], weights=[0.3, 0.7])
    given = inputs.independent(a=mixture, b=stats.Normal(mu=1.0) * 2)
    x = np.column_stack(list(given.sample(4000, seed=0).values()))
    # Two means at five standard errors: false alarms below 1 in 10^6.
    assert np.abs(x.mean(axis=0) - [2.1, 2.0]).max() < 5 * x.std(axis=0).max() / np.sqrt(4000)
    assert repr(inputs.from_scipy(stats.Normal(mu=1.0))) == "Normal(mu=1.0, sigma=1.0)"
    for wrong, words in ((stats.Normal, "continuous"), (stats.Normal(mu=[0.0, 1.0]), "must be one number")):
        with pytest.raises(ValueError, match=words):
            inputs.from_scipy(wrong)
    if hasattr(stats, "Binomial"):
        with pytest.raises(ValueError, match="continuous"):
            inputs.from_scipy(stats.Binomial(n=3, p=0.5))


def test_nothing_is_left_at_a_bound_and_everything_at_the_other():
    for ours in (inputs.truncated(inputs.normal(0, 1), -1, 2), inputs.truncated(inputs.gamma(2), low=1)):
        low, high = ours.law.support()
        ends = np.array([-np.inf, low - 1, low, high, high + 1, np.inf])
        below = np.array([True, True, True, False, False, False])
        assert np.array_equal(ours.law.logcdf(ends), np.where(below, -np.inf, 0.0))
        assert np.array_equal(ours.law.logsf(ends), np.where(below, 0.0, -np.inf))
        assert ours.law.logpdf(low - 1) == -np.inf and np.isnan(ours.law.logcdf(np.nan))


@pytest.mark.parametrize(
    ("inner", "outer"),
    [((0, np.inf), (1, np.inf)), ((-np.inf, 3), (-np.inf, 2)), ((0, np.inf), (1, 3)), ((1, np.inf), (-np.inf, 3))],
)
def test_what_is_truncated_may_be_truncated_again(inner, outer):
    once = inputs.truncated(inputs.normal(0, 1), max(inner[0], outer[0]), min(inner[1], outer[1]))
    twice = inputs.truncated(inputs.truncated(inputs.normal(0, 1), *inner), *outer)
    x = once.from_normal(Z)
    assert np.allclose(twice.to_normal(x), Z, atol=1e-9) and np.allclose(twice.from_normal(Z), x, rtol=1e-12)
    assert np.array_equal(twice.score(x), once.score(x))


@pytest.mark.parametrize("unit", [1e-200, 1e-100, 1e140])
def test_scores_have_the_unit_of_the_input_however_small_or_large(unit):
    for make in (
        lambda u: inputs.normal(0, u),
        lambda u: inputs.student(3, 0, u),
        lambda u: inputs.uniform(0, u),
        lambda u: inputs.gamma(2, u),
        lambda u: inputs.exponential(u),
        lambda u: inputs.beta(2, 3, 0, u),
    ):
        x = make(1.0).from_normal(Z)
        assert np.allclose(make(unit).score(x * unit) * unit, make(1.0).score(x), rtol=1e-12)


def test_scores_far_out_and_of_laws_too_wide_for_squares_are_finite():
    assert inputs.student(3).score(1e150) == pytest.approx(-4e-150)
    assert np.allclose(inputs.lognormal(0, 1e160).score([0.75, 1.5]), [-4 / 3, -2 / 3])
    assert np.allclose(inputs.truncated(inputs.normal(0, 1e200), 0.5, 2).score([0.75, 1.5]), 0)


class Quadratic(stats.rv_continuous):
    """A law of the user's own as SciPy has it: a class with a density."""

    def _pdf(self, x):
        return 3 * x**2


def test_a_histogram_is_an_input_frozen_or_not_and_is_known_again():
    counts, edges = np.array([10, 20, 0, 70]), np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    made = {name: stats.rv_histogram((c, edges)) for name, c in (("one", counts), ("other", counts[[1, 0, 2, 3]]))}
    x = inputs.independent(a=made["one"]).sample(1000, seed=0, design="latin-hypercube")["a"]
    assert np.histogram(x, edges)[0].tolist() == [100, 200, 0, 700]
    described = {name: repr(inputs.from_scipy(law)) for name, law in made.items()}
    again = stats.rv_histogram((counts, edges))
    assert described["one"] == repr(inputs.from_scipy(again)) == repr(inputs.from_scipy(again()))
    assert len({*described.values(), repr(inputs.from_scipy(again(loc=1)))}) == 3
    assert float(inputs.from_scipy(Quadratic(a=0, b=1)).from_normal(0.0)) == pytest.approx(0.5 ** (1 / 3))


TOO_FINE = {
    "half of the draws below the smallest float": inputs.gamma(0.001),
    "a sixth of the draws next to one": inputs.beta(0.05, 0.05),
    "beyond the largest float": inputs.lognormal(800, 1),
    "below the smallest float": inputs.lognormal(-800, 1),
    "four floats": inputs.uniform(1, 1 + 1e-15),
    "digits of the mean alone": inputs.normal(1e10, 1e-5),
    "a width that overflows": inputs.uniform(-1e308, 1e308),
    "more than squares can hold": inputs.uniform(-1e200, 1e200),
    "an area that underflows": inputs.triangular(0, 0, 1e-300),
    "no law at all": inputs.from_scipy(stats.norm(0, -1)),
}


@pytest.mark.parametrize("kind", TOO_FINE)
def test_an_input_whose_draws_floats_do_not_tell_apart_is_refused(kind):
    with pytest.raises(ValueError, match="of 'width', .* Check the parameters; or give the model another coordinate"):
        inputs.independent(width=TOO_FINE[kind])


AT_THE_EDGE = {
    "gamma": inputs.gamma(0.02),
    "beta": inputs.beta(0.3, 0.3),
    "huge": inputs.uniform(-1e149, 1e149),
    "tiny": inputs.uniform(0, 1e-300),
    "heavy": inputs.student(0.1),
    "far": inputs.truncated(inputs.normal(0, 1), low=34),
    "short and far": inputs.truncated(inputs.normal(0, 1), low=20, high=20.0001),
    "cut out of what is too wide": inputs.truncated(inputs.lognormal(0, 300), 1e-3, 1e3),
}


@pytest.mark.parametrize("kind", AT_THE_EDGE)
def test_an_input_at_the_edge_of_floats_is_standard_normal_all_the_same(kind):
    given = inputs.independent(a=AT_THE_EDGE[kind])
    z, _ = given.coordinates(given.sample(4001, seed=0, design="latin-hypercube"))
    assert abs(z.mean()) < 1e-3 and abs(z.std() - 1) < 1e-3


@pytest.mark.parametrize("shape", [0.5, 0.1, 0.02, 0.01])
def test_scores_near_a_bound_where_the_law_is_steep(shape):
    x = inputs.gamma(shape).from_normal(Z)
    np.testing.assert_allclose(inputs.from_scipy(stats.gamma(shape)).score(x), (shape - 1) / x - 1, rtol=1e-9)
