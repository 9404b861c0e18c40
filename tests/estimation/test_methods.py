"""Every rung of the ladder on problems with known answers: smooth integrands, polynomials, chains, repeated points."""

import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks
from vvcv.candidates.kernel import Options
from vvcv.data import Prepared
from vvcv.estimation import METHODS, average, effective_size
from vvcv.estimation.ladder import Ladder

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(24, 1)), 0.5 + 1.5 * RNG.normal(size=(18, 1))
EXACT = np.array([np.exp(1 / 8), np.exp(0.25 + 1.5**2 / 8)])  # E exp(x / 2) under N(0, 1) and N(1/2, 1.5^2)


def two_targets():
    return Tasks(
        [
            Task(X, -X, np.exp(X[:, 0] / 2), name="first"),
            Task(Z, -(Z - 0.5) / 1.5**2, np.exp(Z[:, 0] / 2), name="second"),
        ]
    )


@pytest.mark.parametrize("method", [*METHODS[1:], "auto"])
def test_every_method_beats_plain_averaging_on_a_smooth_problem(method):
    estimate = vvcv.estimate(two_targets(), method, kernel="squared-exponential")
    plain = np.abs(estimate.monte_carlo.mean - EXACT)
    assert (np.abs(estimate.mean - EXACT) < 0.2 * plain).all()
    assert (estimate.std_error < estimate.monte_carlo.std_error).all()
    assert (estimate.gain > 1).all()


def test_the_plain_rung_is_the_plain_average():
    estimate, tasks = vvcv.estimate(two_targets(), "mc"), two_targets()
    np.testing.assert_allclose(estimate.mean, [task.values.mean() for task in tasks], rtol=1e-15)
    expected = [task.values.std(ddof=1) / np.sqrt(task.size) for task in tasks]
    np.testing.assert_allclose(estimate.std_error, expected, rtol=1e-13)
    np.testing.assert_array_equal(estimate.gain, 1.0)


SIGMA = np.array([[1.0, 0.6], [0.6, 2.0]])
MEAN = np.array([1.0, -2.0])


def polynomial_problem(n=24):
    rng = np.random.default_rng(3)
    x = rng.multivariate_normal(MEAN, SIGMA, size=n)
    scores = -(x - MEAN) @ np.linalg.inv(SIGMA)
    values = np.column_stack([x[:, 0] ** 2 - 3 * x[:, 1], x[:, 0] * x[:, 1] + x[:, 1]])
    exact = [1 + 1 + 6, 0.6 - 2 - 2]
    return x, scores, values, np.array(exact)


@pytest.mark.parametrize("method", ["zv", "secf", "vv-secf", "auto"])
def test_quadratic_polynomials_of_a_gaussian_are_integrated_exactly(method):
    x, scores, values, exact = polynomial_problem()
    estimate = vvcv.estimate(Tasks.shared(x, scores, values), method, kernel="squared-exponential")
    np.testing.assert_allclose(estimate.mean, exact, rtol=0, atol=1e-8)


def test_quartic_polynomials_of_a_gaussian_are_integrated_exactly_by_zero_variance():
    x, scores, _, _ = polynomial_problem()
    z = x[:, 0] - 1
    estimate = vvcv.estimate(Tasks.shared(x, scores, np.column_stack([z**3, z**4])), "zv")
    np.testing.assert_allclose(estimate.mean, [0.0, 3.0], atol=1e-8)


def test_polynomials_of_different_gaussians_are_integrated_exactly_together():
    rng = np.random.default_rng(4)
    tasks = []
    for n, mean in ((24, 0.0), (18, 1.0)):
        x = mean + rng.normal(size=(n, 2))
        tasks.append(Task(x, -(x - mean), x[:, 0] ** 2 + x[:, 1], name=f"mean {mean}"))
    estimate = vvcv.estimate(Tasks(tasks), "vv-secf", kernel="squared-exponential")
    np.testing.assert_allclose(estimate.mean, [1.0, 3.0], atol=1e-8)


def test_repeated_points_of_a_chain_do_not_break_any_rung():
    rng = np.random.default_rng(5)
    x = np.repeat(rng.normal(size=(12, 1)), rng.integers(1, 4, size=12), axis=0)
    for method in ("zv", "cf", "secf", "auto"):
        estimate = vvcv.estimate(Task(x, -x, np.exp(x[:, 0] / 2)), method, kernel="squared-exponential")
        assert abs(estimate.mean[0] - np.exp(1 / 8)) < 0.05 and np.isfinite(estimate.std_error).all()


def test_order_two_and_leave_one_out_are_options_and_nonsense_is_refused():
    task = Task(X, -X, np.exp(X[:, 0] / 2))
    for options in ({"order": 2}, {"criterion": "loo"}):
        estimate = vvcv.estimate(task, "cf", kernel="squared-exponential", **options)
        assert abs(estimate.mean[0] - EXACT[0]) < 1e-2
    for options in ({"method": "magic"}, {"kernel": "rbf"}, {"kernel": []}, {"criterion": "aic"}, {"order": 3}):
        with pytest.raises(ValueError):
            vvcv.estimate(task, **options)
    with pytest.raises(ValueError, match="order"):
        vvcv.estimate(task, "cf", kernel="matern-3/2", order=2)


def test_correlated_chains_have_a_smaller_effective_size_than_rows():
    rng = np.random.default_rng(6)
    noise, chain = rng.normal(size=(4, 2000)), np.zeros((4, 2000))
    for i in range(1, 2000):
        chain[:, i] = 0.9 * chain[:, i - 1] + noise[:, i]
    # The true ratio is (1 - 0.9) / (1 + 0.9) = 1 / 19; its estimate from 8000 draws is off by about a tenth.
    size = effective_size(chain.ravel(), (4, 2000))
    assert 8000 / 19 / 1.6 < size < 8000 / 19 * 1.6
    white = effective_size(noise.ravel(), (4, 2000))
    assert 6000 < white < 11000
    task = Task(chain[..., None], -chain[..., None], chain)
    assert average(task)[1] == pytest.approx(chain.std(ddof=1) / np.sqrt(size), rel=1e-6)


def test_a_comparison_refuses_rungs_that_cannot_serve_the_data_or_leaves_them_out():
    x = np.random.default_rng(0).normal(size=(10, 4))
    few = Task(x, -x, x[:, 0])
    with pytest.raises(ValueError, match="'secf' needs more points"):
        vvcv.compare(few, ["mc", "secf"])
    assert list(vvcv.compare(few, ["mc", "secf", "zv"], refused="skip")) == ["mc", "zv"]
    with pytest.raises(ValueError, match="refused must be"):
        vvcv.compare(few, ["mc"], refused="never")


ALL = ["mc", "zv", "cf", "secf", "vv", "vv-secf"]


@pytest.mark.parametrize(
    ("tasks", "few", "many"),
    [
        ("one", ALL[:4], ALL[:3]),
        ("on shared points", ALL, ["mc", "zv", "vv"]),
        ("apart", ALL, ["mc", "zv", "cf", "vv"]),
    ],
)
def test_beyond_a_modest_number_of_rows_kernels_have_their_own_polynomials(monkeypatch, tasks, few, many):
    x, y = np.random.default_rng(7).normal(size=(2, 12, 1))
    given = {
        "one": vvcv.Tasks([Task(x, -x, np.sin(x[:, 0]))]),
        "on shared points": vvcv.Tasks.shared(x, -x, np.hstack([np.sin(x), np.cos(x)])),
        "apart": vvcv.Tasks([Task(x, -x, np.sin(x[:, 0])), Task(y, -y, np.sin(y[:, 0]))]),
    }[tasks]
    rows = 24 if tasks == "apart" else 12
    for most, rungs in ((rows, few), (rows - 1, many)):
        monkeypatch.setattr("vvcv.estimation.methods.MODEST_ROWS", most)
        ladder, asked = Ladder(Prepared.of(given), Options()), []
        monkeypatch.setattr(ladder, "candidates", lambda rung, asked=asked: asked.append(rung) or [[]] * len(given))
        ladder.automatic()
        assert asked == rungs


def test_methods_may_come_from_anywhere():
    x = np.random.default_rng(0).normal(size=(30, 1))
    task = vvcv.Task(x, -x, x[:, 0] ** 2)
    assert list(vvcv.compare(task, "zv")) == ["zv"]
    assert list(vvcv.compare(task, (method for method in ("mc", "zv")))) == ["mc", "zv"]
    with pytest.raises(ValueError, match="seconds must be a positive time"):
        vvcv.compare(task, ["mc"], seconds="3")
