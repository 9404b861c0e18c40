"""Answers from sums over blocks of rows, and the ladder of samples too large for an exact fit, number by number."""

from math import hypot
from types import SimpleNamespace

import numpy as np
import pytest

from vvcv import Task, Tasks
from vvcv.candidates.kernel import Options
from vvcv.data import Prepared
from vvcv.estimation import large_ladder
from vvcv.estimation.ladder import SEPARATE_GROUPS, Ladder
from vvcv.estimation.large_ladder import LargeLadder, too_large
from vvcv.estimation.refusals import RefusedError
from vvcv.estimation.streamed import Streamed
from vvcv.estimation.weights import ROUNDING, contradiction
from vvcv.linear_system.merit import merit_of

RNG = np.random.default_rng(11)
X = RNG.normal(size=(30, 1))
VALUES = np.column_stack([np.exp(X[:, 0]), 5 + np.sin(X[:, 0])])


def test_streamed_tasks_of_which_none_took_the_kernel_have_the_correlation_of_their_polynomials():
    streamed = Streamed(Tasks.shared(X, -X, VALUES), Options())
    asked = []
    (_, fits) = streamed._groups[0]
    streamed._groups = [((0, 1), SimpleNamespace(correlation=lambda methods, stages: asked.append((methods, stages)) or
                                                 np.full((2, 2), 0.5)))]  # fmt: skip
    polynomials, both = ("zv",), ("zv", "inducing")
    streamed._asked = {(0, "line"): (polynomials, 0), (1, "square"): (polynomials, 1), (1, "kernel"): (both, 2)}
    line, square, kernel, plain = (
        SimpleNamespace(method=method, description=words)
        for method, words in (("zv", "line"), ("zv", "square"), ("inducing", "kernel"), ("mc", "plain average"))
    )
    np.testing.assert_array_equal(streamed.error_correlation([line, square]), np.full((2, 2), 0.5))
    streamed.error_correlation([line, kernel])
    np.testing.assert_array_equal(streamed.error_correlation([line, plain]), np.eye(2))
    assert asked == [(polynomials, [0, 1]), (both, [0, 2])]


def test_streamed_polynomials_are_those_of_the_ladder():
    tasks = Tasks.shared(X, -X, VALUES)
    streamed, ladder = Streamed(tasks, Options()), Ladder(Prepared.of(tasks), Options())
    offered = streamed.candidates("zv")
    for mine, theirs in zip(offered, ladder.candidates("zv"), strict=True):
        assert len(mine) >= 2
        by_words = {answer.description: answer for answer in theirs}
        for answer in mine:
            other = by_words[answer.description]
            for name in ("mean", "model_error", "cross_fitted_error"):
                assert getattr(answer, name) == pytest.approx(getattr(other, name), rel=1e-6), (name, answer)
            np.testing.assert_allclose(answer.variate(X, -X), other.variate(X, -X), rtol=1e-6, atol=1e-8)
    assert {answer.method for answers in offered for answer in answers} == {"zv"}
    for fit, answer in zip(streamed._groups[0][1].of_task(1, ("zv",)), offered[1][::2], strict=True):
        rounding = ROUNDING * (VALUES[:, 1].mean() + VALUES[:, 1].std())
        assert answer.std_error == pytest.approx(hypot(fit.std_error, rounding), rel=1e-14)
        promised = float(merit_of(np.array(fit.jackknife), np.array(fit.left_out_error)))
        price = contradiction(fit.mean, fit.witness, fit.witness_error, fit.witness_size - 1, fit.skewness)
        assert answer.merit == pytest.approx(promised + price, rel=1e-12)
    chosen = [answers[0] for answers in offered]
    found = streamed.error_correlation(chosen)
    assert 0 < abs(found[0, 1]) < 1 and found[0, 0] == 1
    few = Streamed(Tasks.shared(X[:3], -X[:3], VALUES[:3]), Options())
    assert few.candidates("zv") == [[], []]


def test_beside_large_tasks_small_ones_have_a_ladder_of_their_own(monkeypatch):
    monkeypatch.setattr(large_ladder, "largest_system", lambda: 20)
    few, many = Task(X[:20], -X[:20], X[:20, 0], name="few"), Task(X, -X, VALUES[:, 0], name="many")
    repeated = Task(X[np.arange(30) % 20], -X[np.arange(30) % 20], VALUES[:, 0], name="repeated")
    tasks = Tasks([few, many, repeated])
    assert too_large(tasks) == [False, True, False]  # distinct rows count
    assert too_large(Tasks.shared(X, -X, VALUES)) == [True, True]
    flat = Task(np.hstack([np.ones_like(X), X]), -np.hstack([X, X]), X[:, 0])
    assert too_large(Tasks([flat])) == [True]  # of which the first coordinate does not tell
    ladder = LargeLadder(tasks, Options())
    assert ladder._ladder.tasks.names == ("few", "repeated") and ladder.so_far() == [[], [], []]
    assert LargeLadder(Tasks([many]), Options())._ladder is None
    np.testing.assert_array_equal(ladder.task_correlation("vv"), np.eye(3))
    monkeypatch.setattr(ladder._ladder, "automatic", lambda: ["small", "again"])
    monkeypatch.setattr(ladder.streamed, "automatic", lambda: ["a", "b", "c"])
    assert ladder.automatic() == ["small", "b", "again"]
    assert ladder.required("zv")[0].mean == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(RefusedError, match="'cf' must factorise a matrix of 20 rows for task 'few'"):
        ladder.required("cf")
    three = LargeLadder(Tasks([Task(X[:3], -X[:3], X[:3, 0], name="three"), many]), Options())
    with pytest.raises(RefusedError, match="'zv' needs more points than task 'three' has: 3 rows in dimension 1"):
        three.required("zv")
    still = LargeLadder(Tasks([Task(X, -X, np.full(30, 4.0), name="still")]), Options())
    assert still.required("zv")[0].mean == 4.0
    apart = np.concatenate([X[:15] / 10, 50 + X[15:] / 10])
    grouped = LargeLadder(Tasks([Task(apart, -100 * np.concatenate([X[:15], X[15:]]) / 10, apart[:, 0])]), Options())
    ((alone,),) = grouped.automatic()
    assert alone.description == SEPARATE_GROUPS and alone.mean == pytest.approx(apart.mean())
