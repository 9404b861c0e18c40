"""An estimate says what is wrong with its data, and nothing that a check does can take the estimate away."""

import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks
from vvcv.checks.mixing import effective_draws, mixing, r_hat
from vvcv.estimation import diagnosis, run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))


def chains(rng, rho, shape=(4, 200)):
    u = rng.normal(size=shape)
    for i in range(1, shape[1]):
        u[:, i] = rho * u[:, i - 1] + np.sqrt(1 - rho**2) * u[:, i]
    return u


def test_scores_of_the_wrong_sign_are_announced_under_the_table():
    with pytest.warns(vvcv.AlarmWarning, match="wrong sign"):
        estimate = vvcv.estimate(Task(X, X, X[:, 0] ** 2), "zv")
    assert "error: " in str(estimate) and "wrong sign" in str(estimate)
    assert estimate.check.worst == "error"


@pytest.fixture
def no_fit(monkeypatch):
    def fitted(*_):
        raise AssertionError("a fit has begun")

    monkeypatch.setattr(run, "_climb_all", fitted)


def test_alarms_come_before_any_fit_at_the_line_of_the_call(no_fit):
    with pytest.warns(vvcv.AlarmWarning, match="wrong sign") as caught, pytest.raises(AssertionError, match="begun"):
        vvcv.estimate(Task(X, X, X[:, 0] ** 2))
    assert [warning.filename for warning in caught] == [__file__]


def test_alarms_can_be_an_error_before_any_fit(no_fit):
    with pytest.raises(ValueError, match="wrong sign(.|\\n)*on_alarm='warn'"):
        vvcv.estimate(Task(X, X, X[:, 0] ** 2), on_alarm="raise")
    stuck = X[:200].reshape(2, 100, 2) + np.array([[[0.0]], [[5.0]]])
    with pytest.raises(ValueError, match="not mixed"):
        vvcv.compare(Task(stuck, -stuck, stuck[..., 0]), ["mc"], on_alarm="raise")
    with pytest.raises(ValueError, match="on_alarm must be one of"):
        vvcv.estimate(Task(X, -X, X[:, 0]), "mc", on_alarm="shout")


def test_ignored_alarms_are_silent_and_stand_in_the_result():
    estimate = vvcv.estimate(Task(X, X, X[:, 0] ** 2), "zv", on_alarm="ignore")
    assert "wrong sign" in estimate.alarms()[0]


def test_right_scores_are_printed_without_alarm():
    estimate = vvcv.estimate(Task(X, -X, X[:, 0] ** 2), "zv")
    assert estimate.alarms() == [] and estimate.check.ok


def test_the_check_can_be_left_out():
    estimate = vvcv.estimate(Task(X, X, X[:, 0] ** 2), "zv", check=False)
    assert estimate.check is None and estimate.alarms() == []


def test_a_check_that_fails_does_not_break_the_estimate(monkeypatch):
    monkeypatch.setattr(diagnosis, "check", lambda tasks: 1 / 0)
    estimate = vvcv.estimate(Task(X, -X, X[:, 0] ** 2), "zv")
    assert estimate.mean[0] == pytest.approx(1.0)
    assert "could not be checked" in str(estimate.check)


def test_large_samples_are_thinned_before_they_are_checked(monkeypatch):
    monkeypatch.setattr(diagnosis, "MOST_PRODUCTS", 1)
    x = RNG.normal(size=(4, 900, 2))
    small = diagnosis.thinned(Tasks([Task(x, -x, x[..., 0], name="chains"), Task(X, -X, X[:, 0], name="few")]))
    assert small.sizes == (452, 300) and small[0].chains == (4, 113) and small.names == ("chains", "few")


@pytest.mark.parametrize("shape", [(4, 200), (2, 51), (3, 100)])
@pytest.mark.parametrize("rho", [0.0, 0.7, 0.95])
def test_r_hat_and_effective_draws_are_those_of_arviz(shape, rho):
    az = pytest.importorskip("arviz")
    draws = np.round(chains(np.random.default_rng(1), rho, shape) ** 3, 1)  # skewed, with ties
    assert r_hat(draws) == pytest.approx(float(az.rhat(draws)), rel=1e-9)
    assert effective_draws(draws) == pytest.approx(float(az.ess(draws)), rel=0.15)


def test_chains_that_have_not_mixed_are_named_in_the_table():
    rng = np.random.default_rng(2)
    good, stuck = chains(rng, 0.2), chains(rng, 0.2) + np.array([[0.0], [0.0], [0.0], [3.0]])
    tasks = Tasks([Task(x[..., None], -x[..., None], x, name=name) for name, x in {"good": good, "bad": stuck}.items()])
    estimate = vvcv.estimate(tasks, "mc", on_alarm="ignore")
    (alarm,) = [line for line in str(estimate).splitlines() if "mixed" in line]
    assert "'bad'" in alarm and "r_hat" in alarm and "effective draws of 800" in alarm
    assert estimate.mixing.poor == [1]


def test_chains_that_have_mixed_are_not_accused():
    """r_hat above 1.05 in chains of autocorrelation 0.5 and 200 draws: below 1 in 100."""
    rng = np.random.default_rng(3)
    poor = [mixing(Tasks([Task(x[..., None], -x[..., None], x)])).poor for x in (chains(rng, 0.5) for _ in range(40))]
    assert poor == [[]] * 40


@pytest.mark.parametrize("shape", [(1, 50), (1, 99), (4, 25), (50, 4), (20, 10), (4, 50)])
def test_chains_of_few_draws_are_not_accused_of_being_short(shape):
    """Of independent draws at most one in 50 is, of slow ones three in four at least (200 of each were counted)."""
    rng, poor = np.random.default_rng(5), {0.0: 0, 0.95: 0}
    for rho in poor:
        for _ in range(50):
            x = chains(rng, rho, shape)
            poor[rho] += bool(mixing(Tasks([Task(x[..., None], -x[..., None], x**2)])).poor)
    assert poor[0.0] <= 4 and poor[0.95] >= 34


def test_constant_chains_and_independent_draws_have_no_mixing_problem():
    ones = np.ones((4, 50))
    assert r_hat(ones) == 1.0
    assert mixing(Tasks([Task(X, -X, X[:, 0])])) is None


def test_an_alarm_says_whose_r_hat_it_tells():
    rng = np.random.default_rng(2)
    points = np.stack([chains(rng, 0.2), chains(rng, 0.2) + np.array([[0.0], [0.0], [0.0], [3.0]])], axis=-1)
    tasks = Tasks.shared(points, -points, points, names=["good", "bad"])
    of_points, own = mixing(tasks).alarms(tasks.names, tasks.sizes)
    assert "'good'" in of_points and f"r_hat {r_hat(points[..., 1]):.2f} of a coordinate of its points" in of_points
    assert "'bad'" in own and "coordinate" not in own


def test_tasks_that_only_their_points_accuse_are_told_in_one_line():
    rng = np.random.default_rng(2)
    points = np.stack([*(chains(rng, 0.2) for _ in range(5)), chains(rng, 0.2) + np.arange(4.0)[:, None]], axis=-1)
    tasks = Tasks.shared(points, -points, points, names=[*"abcde", "bad"])
    together, own = mixing(tasks).alarms(tasks.names, tasks.sizes)
    assert "tasks 'a', 'b', 'c' and 2 more" in together and " to " in together and "'bad'" in own
    est = vvcv.estimate(tasks, "mc", on_alarm="ignore")
    assert sum("not mixed" in alarm for alarm in est.alarms()) == 2 and est.mixing.poor == [0, 1, 2, 3, 4, 5]
