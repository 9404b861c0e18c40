"""The ladder's answers number by number: plain averages, polynomials, witnesses, and who says that tasks are alike."""

from math import hypot
from types import SimpleNamespace

import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks
from vvcv.candidates.cost import seconds_to_solve
from vvcv.candidates.kernel import Options
from vvcv.candidates.plain import effective_size, skewness
from vvcv.candidates.polynomial import polynomials
from vvcv.data import Prepared
from vvcv.estimation import ladder as module
from vvcv.estimation.joint import _correlation, error_correlation, of_functions, value_correlation
from vvcv.estimation.ladder import Ladder
from vvcv.estimation.refusals import RefusedError
from vvcv.estimation.streamed import Streamed
from vvcv.estimation.weights import ROUNDING, contradiction
from vvcv.estimation.witness import in_order
from vvcv.linear_system.merit import merit_of
from vvcv.runtime.clock import limited

RNG = np.random.default_rng(11)
X = RNG.normal(size=(30, 1))
VALUES = np.column_stack([np.exp(X[:, 0]), 5 + np.sin(X[:, 0])])


def a_ladder(*tasks):
    return Ladder(Prepared.of(Tasks(tasks) if tasks else Tasks.shared(X, -X, VALUES)), Options())


@pytest.mark.parametrize("home", [Ladder, Streamed])
def test_a_plain_answer_has_the_spread_of_the_values_for_merit_and_freedom(home):
    chain = RNG.normal(size=(2, 25, 1)).cumsum(axis=1) / 3
    tasks = Tasks([Task(X, -X, VALUES[:, 0]), Task(chain, -chain, chain[..., 0])])
    plain = home(Prepared.of(tasks) if home is Ladder else tasks, Options()).plain
    for answer, task in zip(plain, tasks, strict=True):
        n = task.size
        assert answer.mean == pytest.approx(task.values.mean(), rel=1e-12)
        left_out = task.values.std() * n / (n - 1)  # each value less the average of the others
        expected = 0.5 * np.log(answer.std_error * left_out)
        assert answer.merit == pytest.approx(expected, rel=1e-9)
        assert (answer.method, answer.description) == ("mc", "plain average")
        assert answer.model_error == answer.cross_fitted_error == answer.std_error
        np.testing.assert_array_equal(answer.variate(task.points, task.scores), np.zeros(n))
    assert plain[0].std_error == pytest.approx(VALUES[:, 0].std(ddof=1) / np.sqrt(30)) and plain[0].freedom == 29
    if home is Ladder:
        size = effective_size(chain.ravel(), (2, 25))
        assert plain[1].freedom == pytest.approx(max(size - 1, 1)) and size < 40
    np.testing.assert_allclose(
        (home(Prepared.of(tasks) if home is Ladder else tasks, Options())).std_dev,
        [task.values.std(ddof=1) for task in tasks],
    )


def test_a_polynomial_and_its_witness_are_made_of_one_fit():
    ladder = a_ladder()
    prepared = ladder.prepared
    offered = ladder.candidates("zv")
    for t, fits in enumerate(polynomials(prepared, (0, 1))):
        assert len(offered[t]) == 2 * len(fits) > 0
        for fit, answer, witness in zip(fits, offered[t][::2], offered[t][1::2], strict=True):
            rounding = ROUNDING * (abs(prepared.shift[t]) + prepared.scale[t])
            assert answer.mean == fit.mean and answer.description == f"polynomial of degree {fit.degree}"
            assert answer.std_error == hypot(fit.std_error, rounding) and answer.freedom == fit.freedom
            left, move = fit.leave_one_out, fit.move
            assert witness.mean == pytest.approx(fit.mean + np.mean(left - move), rel=1e-12)
            error = np.std(left) / np.sqrt(len(left))
            assert witness.cross_fitted_error == answer.cross_fitted_error == pytest.approx(error, rel=1e-9)
            assert witness.std_error == pytest.approx(max(error, answer.std_error), rel=1e-9)
            rms = np.sqrt(np.mean(left**2))
            assert witness.merit == pytest.approx(float(merit_of(np.array(witness.std_error), rms)), rel=1e-9)
            assert witness.freedom == min(len(left) - 1, fit.freedom)
            price = contradiction(fit.mean, witness.mean, error, len(left) - 1, skewness(left))
            promised = float(merit_of(np.array(fit.jackknife), np.array(fit.left_out_error)))
            assert answer.merit == pytest.approx(promised + price, rel=1e-9)


def test_repeated_rows_of_a_chain_are_shared_out_in_the_order_of_the_draws():
    x = np.repeat(RNG.normal(size=(2, 10, 1)), 2, axis=1)  # every draw is kept for two steps
    ladder = a_ladder(Task(x, -x, x[..., 0] ** 3))
    distinct = ladder.prepared.distinct[0]
    assert len(distinct.values) == 20 and (distinct.multiplicity == 2).all()
    numbers = np.arange(20.0)
    spread = in_order(distinct, numbers)
    np.testing.assert_array_equal(spread, numbers[distinct.row] / 2)
    (fit, *_) = polynomials(ladder.prepared, (0,))[0]
    witness = ladder.candidates("zv")[0][1]
    residuals = in_order(distinct, fit.leave_one_out * 2)
    size = effective_size(residuals, (2, 20))
    assert size < 35  # as many as there are draws that moved, about, not as rows
    assert witness.cross_fitted_error == pytest.approx(np.std(residuals) / np.sqrt(size), rel=1e-9)


def test_a_constant_beside_others_has_no_polynomial_and_its_own_value_for_mean():
    ladder = a_ladder(Task(X, -X, np.full(30, 2.5), name="still"), Task(X, -X, X[:, 0] ** 2, name="square"))
    offered = ladder.candidates("zv")
    assert offered[0] == [] and len(offered[1]) > 0
    required = ladder.required("zv")
    assert required[0].mean == 2.5 and required[0].method == "mc" and required[1].mean == pytest.approx(1.0, abs=1e-8)


def test_only_a_vector_valued_fit_says_that_tasks_are_alike():
    ladder = a_ladder()
    alike = np.array([[1.0, 0.7], [0.7, 1.0]])
    merit = {"found": SimpleNamespace(merit=0.0), "merits": np.zeros(2)}
    fit = SimpleNamespace(members=(0, 1), task_correlation=alike, **merit)
    vars(ladder.fits)["joint"] = [fit]
    monkey = module.best_of
    module.best_of = lambda fits: fits[0]
    try:
        for method in ("vv", "vv-secf"):
            np.testing.assert_array_equal(ladder.task_correlation(method), alike)
        for method in ("cf", "auto"):  # auto has not come so far
            np.testing.assert_array_equal(ladder.task_correlation(method), np.eye(2))
        ladder._joined = True
        np.testing.assert_array_equal(ladder.task_correlation("auto"), alike)
        np.testing.assert_array_equal(ladder.task_correlation("zv"), np.eye(2))
        fit.members, fit.task_correlation = (1,), np.array([[3.0]])
        np.testing.assert_array_equal(ladder.task_correlation("vv"), np.eye(2))
    finally:
        module.best_of = monkey


def test_refusals_name_what_is_missing(monkeypatch):
    ladder = a_ladder(Task(X[:3], -X[:3], X[:3, 0], name="three"))
    with pytest.raises(RefusedError, match=r"'cf' needs more points than task 'three' has: 3 distinct points"):
        ladder.required("cf")
    ladder = a_ladder(Task(X, -X, X[:, 0], name="thirty"))
    monkeypatch.setattr(module, "largest_system", lambda: 30)
    assert "failed for every kernel tried" in ladder._refusal("cf", 0)
    assert "needs more points" in ladder._refusal("secf", 0)
    monkeypatch.setattr(module, "largest_system", lambda: 29)
    assert "must factorise a matrix of 30 rows" in ladder._refusal("cf", 0)


def test_a_rung_that_cannot_be_solved_in_time_is_not_begun(monkeypatch):
    ladder = a_ladder()
    assert ladder._seconds_to_solve("cf") == 0.0  # of as much time as it takes
    with limited(100.0):
        assert ladder._seconds_to_solve("zv") == ladder._seconds_to_solve("mc") == 0.0
        assert len(ladder.views) == 2  # one of the integrands grows
        assert ladder._seconds_to_solve("cf") == 2 * seconds_to_solve(30) > 0
        y = X + 1
        apart = a_ladder(Task(X, -X, np.sin(3 * X[:, 0])), Task(y, -y, np.sin(3 * y[:, 0])))
        assert apart._seconds_to_solve("cf") == pytest.approx(2 * seconds_to_solve(30))
        assert apart._seconds_to_solve("vv") == seconds_to_solve(60)
        asked = []
        monkeypatch.setattr(ladder, "candidates", lambda rung: asked.append(rung) or [[], []])
        monkeypatch.setattr(ladder, "_seconds_to_solve", lambda rung: 1e6 if rung != "zv" else 0.0)
        ladder.automatic()
    assert asked == ["mc", "zv"] and not ladder._joined


def test_points_in_separate_groups_are_left_to_the_plain_average():
    apart = np.concatenate([X[:15] / 10, 50 + X[15:] / 10])
    scores = -100 * np.concatenate([X[:15] / 10, X[15:] / 10])
    ladder = a_ladder(Task(apart, scores, apart[:, 0]), Task(X, -X, X[:, 0]))
    assert ladder._grouped == [True, False]
    shared = Ladder(Prepared.of(Tasks.shared(apart, scores, np.hstack([apart, apart**2]))), Options())
    assert shared._grouped == [True, True]
    ((first,), (second,)) = shared.automatic()
    assert first.description == second.description == module.SEPARATE_GROUPS
    assert second.mean == pytest.approx(np.mean(apart**2))


def test_errors_go_together_as_moves_on_the_same_points_do():
    tasks = Tasks([Task(X, -X, VALUES[:, 0]), Task(X + 1, -X, VALUES[:, 1]), Task(X, -X, VALUES[:, 0] - X[:, 0])])
    found = value_correlation(tasks)
    expected = np.corrcoef(VALUES[:, 0], VALUES[:, 0] - X[:, 0])[0, 1]
    np.testing.assert_allclose(found, [[1, 0, expected], [0, 1, 0], [expected, 0, 1]], atol=1e-12)
    moved = error_correlation(tasks, [VALUES[:, 0] - X[:, 0], VALUES[:, 1], 3 * (VALUES[:, 0] - X[:, 0])])
    np.testing.assert_allclose(moved, [[1, 0, 1], [0, 1, 0], [1, 0, 1]], atol=1e-12)
    still = _correlation(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 4.0], [-2.0, -4.0, -8.0]]))
    np.testing.assert_allclose(still, [[1, 0, 0], [0, 1, -1], [0, -1, 1]])
    tiny = _correlation(np.array([[1e-200, 0.0], [1e-200, 1e-200]]))  # whose squares are no numbers
    np.testing.assert_allclose(tiny[0, 1], np.sqrt(0.5))


def test_few_rows_that_tell_how_errors_cancel_leave_few_degrees_of_freedom():
    difference, even = np.array([[1.0, -1.0]]), np.where(np.arange(30) % 2, 1.0, -1.0)
    apart = Tasks([Task(X, -X, VALUES[:, 0]), Task(X + 1, -X, VALUES[:, 1])])
    left, freedom = of_functions(apart, [even, np.eye(30)[0]], np.array([[2.0, 0.0], [0.0, 5.0], [3.0, 4.0]]))
    assert (left == 1).all() and np.isinf(freedom).all()  # on points of their own nothing cancels
    moves = [even, even + np.eye(30)[0]]
    share = np.eye(30)[0] - np.sum(np.square(moves), axis=0) / np.sum(np.square(moves))
    found = of_functions(Tasks.shared(X, -X, VALUES), moves, difference)[1]
    np.testing.assert_allclose(found, 2 / (30 * np.var(share)))
    assert found < 3
    chains, series = X[:28].reshape(2, 14, 1), np.sin(np.outer([1, 2], np.arange(28)) / 8)  # neighbours are alike
    told = np.square(difference @ series)[0] / np.sum((difference @ series) ** 2)
    told -= np.sum(series**2, axis=0) / np.sum(series**2)
    independent = of_functions(Tasks.shared(X[:28], -X[:28], series.T), list(series), difference)[1]
    slow = of_functions(Tasks.shared(chains, -chains, series.T.reshape(2, 14, 2)), list(series), difference)[1]
    np.testing.assert_allclose(slow, independent * effective_size(told, (2, 14)) / 28)
    assert slow < 0.8 * independent


def test_findings_say_whether_a_fit_was_stopped_or_late():
    found = vvcv.estimate(Task(X, -X, X[:, 0]), "mc", check=False)
    from vvcv.estimation.diagnosis import Diagnosis

    stopped = Diagnosis().attached({"mc": found}, stopped=True)["mc"]
    assert "stopped before it was done" in str(stopped.check) and stopped.alarms()
    late = Diagnosis().attached({"mc": found}, stopped=False, late=True)["mc"]
    assert "time given was up" in str(late.check) and not late.alarms()
    assert Diagnosis().attached({"mc": found}, stopped=False)["mc"].check is None


def test_every_kth_row_is_looked_at_and_chains_too_short_for_it_are_rows(monkeypatch):
    from vvcv.estimation import diagnosis

    monkeypatch.setattr(diagnosis, "MOST_PRODUCTS", 2 * 500)
    x = RNG.normal(size=(1001, 1))
    whole, part = Tasks([Task(x[:500], -x[:500], x[:500, 0])]), Tasks([Task(x, -x, x[:, 0], name="many")])
    assert diagnosis.thinned(whole) is whole
    thinned = diagnosis.thinned(part)
    assert thinned.names == ("many",) and thinned[0].chains is None
    np.testing.assert_array_equal(thinned[0].points, x[::3])
    chains = RNG.normal(size=(125, 12, 1))  # of which every third draw is four of each
    kept = diagnosis._thinned(Task(chains, -chains, chains[..., 0]), "long", 500)
    assert kept.chains == (125, 4) and kept.name == "long"
    np.testing.assert_array_equal(kept.values.reshape(125, 4), chains[:, ::3, 0])
    short = diagnosis._thinned(Task(chains[:, :11], -chains[:, :11], chains[:, :11, 0]), "short", 500)
    assert short.chains is None and short.size == 459


def test_an_estimate_keeps_its_data_and_says_how_it_was_made():
    tasks = Tasks.shared(X, -X, VALUES, names=["a", "b"])
    found = vvcv.estimate(tasks, "zv", check=False)
    assert found.tasks is tasks and found.sizes == (30, 30) and found.share_points and found.error_correlation is None
    assert found.method == "zv" and found.methods == ("zv", "zv") and 0 <= found.seconds < 60
    np.testing.assert_allclose(found.monte_carlo.mean, VALUES.mean(axis=0))
    np.testing.assert_allclose(found.monte_carlo.std_dev, VALUES.std(axis=0, ddof=1))
    for promises in found.promises:
        assert sum(promise.weight for promise in promises) == pytest.approx(1.0)
    for wrong in ({"seconds": 0.0}, {"on_alarm": "cry"}, {"on_interrupt": "stop"}, {"kernel": ()}, {"criterion": "ml"}):
        with pytest.raises(ValueError, match="must "):
            vvcv.estimate(tasks, "zv", **wrong)
    with pytest.raises(ValueError, match="at least two points"):
        vvcv.estimate(Task(X[:1], -X[:1], X[:1, 0]), "mc")
