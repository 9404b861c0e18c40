"""Functions of expectations, quantiles and the table of a summary: their numbers from those they are made of."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

import vvcv
from vvcv.data.chains import effective_size, effective_sizes
from vvcv.estimation.functional import Functional, Means, _harmonic, functional, with_products
from vvcv.estimation.quantiles import WINDOW, _quantile_slope
from vvcv.estimation.summary import _draws, _ends, _tail_size, hdi

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 1))
VALUES = np.column_stack([3 + X[:, 0], np.exp(X[:, 0]) + 0.3 * RNG.normal(size=60)])
FOUND = vvcv.estimate(vvcv.Tasks.shared(X, -X, VALUES, names=["a", "b"]), "mc", check=False)


def test_the_delta_method_is_that_of_the_joint_covariance():
    found = functional(FOUND, lambda m: m["a"] ** 2 * m["b"])
    a, b = VALUES.mean(axis=0)
    slope, covariance = np.array([2 * a * b, a**2]), np.cov(VALUES.T) / 60
    assert found.value == pytest.approx(a**2 * b, rel=1e-12) and found.label == "value"
    assert found.std_error == pytest.approx(np.sqrt(slope @ covariance @ slope), rel=1e-9)
    assert found.plain_std_error == pytest.approx(float(found.std_error), rel=1e-9)
    moves = (VALUES - VALUES.mean(axis=0)) * slope
    together, apart = moves.sum(axis=1) ** 2, np.sum(moves**2, axis=1)
    cancels = 2 / np.sum((together / together.sum() - apart / apart.sum()) ** 2)
    assert found.freedom == pytest.approx(1 / (1 / 59 + 1 / cancels), rel=1e-9) and cancels > 59


def test_plain_averages_of_a_loaded_estimate_count_as_independent():
    apart = replace(FOUND, tasks=None, error_correlation=np.eye(2))
    found = functional(apart, lambda m: m["a"] - m["b"])
    assert found.plain_std_error == pytest.approx(np.hypot(*FOUND.std_error), rel=1e-12)


def test_degrees_of_freedom_are_a_harmonic_mean_by_share_where_moves_are_not_known():
    freedom = np.array([4.0, 40.0])
    assert _harmonic(np.array([3.0, 0.0]), freedom) == 4.0
    assert _harmonic(np.array([1.0, -2.0]), freedom) == pytest.approx(5 / (1 / 4 + 4 / 40))
    assert _harmonic(np.zeros(2), freedom) == pytest.approx(2 / (1 / 4 + 1 / 40))
    assert _harmonic(np.array([1e-200, 0.0]), freedom) == pytest.approx(4.0)  # whose square is no number
    loaded = replace(FOUND, tasks=None, error_correlation=np.eye(2), freedom=freedom)
    assert functional(loaded, lambda m: m["a"]).freedom == pytest.approx(4.0)


def test_errors_cancel_as_moves_do_though_error_bars_differ():
    even, one = np.where(np.arange(60) % 2, 1e-200, -1e-200), np.eye(60)[0] - np.eye(60)[1]
    found = replace(FOUND, moves=(even, 2 * even), std_error=np.array([3.0, 5.0]))
    difference = functional(found, lambda m: jnp.stack([2 * m["a"] - m["b"], m["a"] + m["b"], m["a"], 0 * m["a"]]))
    np.testing.assert_allclose(difference.std_error, [0.0, np.sqrt(9 / 5 * 34), 3.0, 0.0], atol=1e-12)
    few = functional(replace(FOUND, moves=(even, one)), lambda m: m[:])
    np.testing.assert_allclose(few.freedom, [59.0, 59.0])  # of one mean nothing cancels
    np.testing.assert_allclose(few.std_error, FOUND.std_error)


def test_an_interval_and_a_gain_of_a_functional():
    found = Functional("g", np.array(2.0), np.array(0.5), np.array(2.2), np.array(1.5), 7.0)
    assert found.gain == pytest.approx(9.0)
    low, high = found.interval(0.9)
    half = student.ppf(0.95, 7.0) * 0.5
    assert (float(low), float(high)) == (pytest.approx(2 - half), pytest.approx(2 + half))
    assert str(found).startswith("g = 2.0") and "plain averages: 2.2" in str(found)
    several = Functional("g", *[np.array([1.0, 2.0])] * 4, 7.0)
    assert [line.split(" = ")[0] for line in str(several).splitlines()] == ["g[0]", "g[1]"]


def test_means_are_asked_by_name_and_by_place():
    means = Means(["a", "b"], np.array([1.0, 2.0]))
    assert (means["b"], means[0], len(means)) == (2.0, 1.0, 2)
    with pytest.raises(ValueError, match="no estimate named 'c'"):
        means["c"]


def test_products_are_added_once_and_of_one_sample_only():
    tasks = vvcv.Tasks.shared(X, -X, VALUES, names=["a", "b"])
    wider = with_products(tasks, {"a*b": ("a", "b")})
    assert wider.names == ("a", "b", "a*b")
    np.testing.assert_array_equal(wider["a*b"].values, VALUES[:, 0] * VALUES[:, 1])
    assert with_products(wider, {"a*b": ("a", "b")}) is wider
    apart = vvcv.Tasks([vvcv.Task(X, -X, X[:, 0], name="a"), vvcv.Task(X + 1, -X - 1, X[:, 0], name="b")])
    with pytest.raises(ValueError, match="points of their own"):
        with_products(apart, {"a*b": ("a", "b")})


@pytest.mark.parametrize("prob", [0.2, 0.5])
def test_a_quantile_is_the_plain_one_moved_along_the_draws_by_the_share_on_the_scale_of_a_normal(prob):
    tasks = vvcv.Tasks.shared(X, -X, VALUES, names=["a", "b"])
    found = vvcv.quantile(tasks, "b", prob, method="zv", check=False)
    values, z = VALUES[:, 1], norm.ppf(prob)
    centre = np.quantile(values, prob)
    share = vvcv.probability(tasks, "b", below=centre, method="zv", check=False)
    place = z - (float(share.value) - np.mean(values <= centre)) / norm.pdf(z)
    ends = np.quantile(values, norm.cdf([place - WINDOW, place + WINDOW]))
    slope = (ends[1] - ends[0]) / (norm.cdf(z + WINDOW) - norm.cdf(z - WINDOW))
    assert _quantile_slope(values, prob, place) == pytest.approx(slope, rel=1e-12)
    steps = (np.arange(values.size) + 0.5) / values.size
    here, there = np.interp([prob, norm.cdf(place)], steps, np.sort(values))
    assert np.unique(values).size == values.size and there != here
    assert found.value == pytest.approx(centre + there - here, rel=1e-12) and found.plain_value == centre
    moved = abs(float(share.value) - np.mean(values <= centre))
    on_the_way = np.sqrt(moved / (prob * (1 - prob))) * float(share.plain_std_error)
    assert found.std_error == pytest.approx(np.hypot(float(share.std_error), on_the_way) * slope, rel=1e-12)
    assert found.plain_std_error == pytest.approx(float(share.plain_std_error) * slope, rel=1e-12)
    assert found.freedom == share.freedom and share.label == f"P(b <= {centre:g})"


def test_quantiles_want_five_draws_on_each_side_that_differ():
    tasks = vvcv.Tasks.shared(X[:50], -X[:50], X[:50], names=["x"])
    vvcv.quantile(tasks, "x", 0.1, method="mc", check=False)
    for prob in (0.098, 0.902):
        with pytest.raises(ValueError, match="five different draws"):
            vvcv.quantile(tasks, "x", prob, method="mc")
    with pytest.raises(ValueError, match="five different draws"):
        vvcv.quantile(vvcv.Tasks.shared(X, -X, np.ones((60, 1)), names=["x"]), "x", 0.5, method="mc")


def test_the_size_of_tails_is_the_smaller_of_two_of_halved_chains():
    draws = np.cumsum(RNG.normal(size=(3, 41)), axis=1) + RNG.exponential(size=(3, 41))  # an odd length: one is dropped
    halves = np.concatenate([draws[:, :20], draws[:, -20:]])
    sizes = [effective_size((halves <= q).astype(float).ravel(), (6, 20)) for q in np.quantile(draws, [0.05, 0.95])]
    assert sizes[0] != pytest.approx(sizes[1])
    assert _tail_size(draws) == pytest.approx(min(sizes), rel=1e-12)
    tied = np.round(draws)  # values at the quantile itself count as below it
    edges = np.quantile(tied, [0.05, 0.95])
    cut = np.concatenate([tied[:, :20], tied[:, -20:]])
    below = np.stack([cut <= q for q in edges], axis=-1).astype(float)
    assert _tail_size(tied) == pytest.approx(effective_sizes(below.reshape(-1, 2), (6, 20)).min())


def test_what_draws_say_of_chains_and_of_independent_rows():
    x = RNG.normal(size=(2, 30, 1))
    tasks = vvcv.Tasks([vvcv.Task(x, -x, x[..., 0], name="a"), vvcv.Task(X, -X, X[:, 0], name="b")])
    found = _draws(tasks, "eti", 0.8)
    assert list(found) == ["eti_10%", "eti_90%", "ess_bulk", "ess_tail", "r_hat"]
    np.testing.assert_allclose(found["eti_10%"], [np.quantile(task.values, 0.1) for task in tasks])
    np.testing.assert_allclose(found["eti_90%"], [np.quantile(task.values, 0.9) for task in tasks])
    assert found["ess_bulk"][1] == found["ess_tail"][1] == 60 and np.isnan(found["r_hat"][1])
    assert found["ess_tail"][0] == pytest.approx(_tail_size(x[..., 0])) and 0.9 < found["r_hat"][0] < 1.3
    short = vvcv.Tasks([vvcv.Task(x[:, :3], -x[:, :3], x[:, :3, 0])])
    assert _draws(short, "hdi", 0.5)["ess_bulk"][0] == 6 and np.isnan(_draws(short, "hdi", 0.5)["r_hat"][0])
    least = vvcv.Tasks([vvcv.Task(x[:, :4], -x[:, :4], x[:, :4, 0])])
    assert np.isfinite(_draws(least, "hdi", 0.5)["r_hat"][0])
    assert _ends("hdi", 0.94) == ("hdi_3%", "hdi_97%")


def test_the_shortest_interval_is_found_at_either_end():
    assert hdi(np.array([3.0, 0.0, 0.1, 9.0]), 0.5) == (0.0, 3.0)
    assert hdi(np.array([0.0, 6.0, 9.0, 9.5, 9.1]), 0.4) == (9.0, 9.5)


def test_a_dataset_holds_draws_by_chain_and_matrices_by_pairs():
    x = RNG.normal(size=(2, 30, 3))
    found = vvcv.estimate(vvcv.Task(x, -x, x[..., 1], name="middle"), "mc", check=False)
    pytest.importorskip("arviz")
    data = found.to_inference_data()
    assert data["sample_stats"]["unconstrained_draw"].shape == (2, 30, 3)
    np.testing.assert_array_equal(data["sample_stats"]["unconstrained_draw"].values, x)
    assert data["posterior"]["middle"].dims == ("chain", "draw")
    np.testing.assert_array_equal(data["posterior"]["chain"].values, [0, 1])
    np.testing.assert_array_equal(data["posterior"]["draw"].values, np.arange(30))
    independent = FOUND.to_inference_data()["posterior"]["b"]
    np.testing.assert_array_equal(independent.values, VALUES[None, :, 1])
    pairs = FOUND.matrices()
    np.testing.assert_array_equal(pairs["covariance"].values, FOUND.covariance)
    assert float(pairs["covariance"].sel(task="a", other_task="b")) == FOUND.covariance[0, 1]
    assert FOUND.to_xarray().attrs["shared_points"] == 1 and FOUND.to_xarray().attrs["method"] == "mc"
    apart = vvcv.Tasks([vvcv.Task(X, -X, X[:, 0]), vvcv.Task(X + 1, -X - 1, X[:, 0])])
    with pytest.raises(ValueError, match="points of their own"):
        vvcv.estimate(apart, "mc", check=False).to_inference_data()


def test_what_an_estimate_is_worth_follows_from_the_spread_or_from_the_plain_error():
    plain = FOUND.monte_carlo
    sharper = replace(FOUND, std_error=FOUND.std_error / 2)
    np.testing.assert_allclose(sharper.summary()["ess_worth"], 4 * 60)
    unknown = replace(sharper, monte_carlo=replace(plain, std_dev=None))
    np.testing.assert_allclose(unknown.summary()["ess_worth"], 4 * 60)
    np.testing.assert_array_equal(sharper.summary()["n"], [60, 60])


def test_the_linear_part_of_exponentials_of_several_rates_is_not_believed():
    """Correlations of exp(x / 2) and exp(x): of 20 intervals of the surer answer 12 held the exact one."""

    def covariance(a: float, b: float) -> float:
        return np.exp((a + b) ** 2 / 2) - np.exp((a**2 + b**2) / 2)

    held, exact = 0, covariance(0.5, 1) / np.sqrt(covariance(0.5, 0.5) * covariance(1, 1))
    for seed in range(20):
        x = np.random.default_rng([seed, 21]).normal(size=(40, 1))
        tasks = vvcv.Tasks.shared(x, -x, np.exp(x * np.array([0.5, 1.0])), names=["a", "b"])
        low, high = vvcv.functional(tasks, "correlation", "a", "b", check=False).interval()
        held += bool(low <= exact <= high)
    assert held >= 17


def test_the_variance_of_an_exponential_is_as_sure_from_tasks_as_from_its_own_square():
    errors = []
    for seed in range(12):
        x = np.random.default_rng([seed, 22]).normal(size=(40, 2))
        tasks = vvcv.Tasks.shared(x, -x, 1e3 + np.exp(x[:, 0]), names=["a"])
        errors.append(float(vvcv.functional(tasks, "variance", "a", check=False).value) / (np.e**2 - np.e) - 1)
    assert np.sqrt(np.mean(np.square(errors))) < 0.1  # of squares about the plain average it is .18, plain .49
