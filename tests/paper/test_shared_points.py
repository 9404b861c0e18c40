"""Tasks that share points: what is held out is held out of all of them, and their errors go together."""

import numpy as np
import pytest
from scipy.special import ndtr, stdtrit

import vvcv
from vvcv.kernels import SquaredExponential
from vvcv.paper import CrossFit, Exact, KernelVariate, PolynomialVariate, Split, StochasticOptimisation, fit
from vvcv.paper.splits import folds, hold_out

RELATED = [[1.0, 0.95], [0.95, 1.0]]
X = np.random.default_rng(0).normal(size=(24, 2))


def task(rows, name, scale=1.0):
    return vvcv.Task(X[rows], -X[rows], scale * np.exp(X[rows, 0]), name=name)


def designs():
    every = np.arange(24)
    return {
        "shared": [task(every, "a"), task(every, "b", 2.0)],
        "nested": [task(every, "a"), task(every[3:11], "b", 2.0)],
        "reordered": [task(every, "a"), task(every[::-1], "b", 2.0)],
        "overlapping": [task(every[:12], "a"), task(every[8:], "b", 2.0)],
        "repeated": [task(np.repeat(every, 2), "a"), task(every, "b", 2.0)],
    }


@pytest.mark.parametrize("design", designs())
def test_no_point_of_a_part_is_seen_in_another(design):
    tasks = vvcv.Tasks(designs()[design])
    kept, held = hold_out(tasks, 0.4, 0)
    pairs = [(kept, held), *((others, fold) for others, fold, _ in folds(tasks, 4, 0))]
    for seen, unseen in pairs:
        assert not {tuple(x) for x in seen.points} & {tuple(x) for x in unseen.points}
        assert sorted([*seen.names]) == sorted(tasks.names)
    if design != "overlapping":
        assert {fold[-1].size for _, fold, _ in folds(tasks, 4, 0)} == {tasks[-1].size // 4}
    rows = [np.sort(np.concatenate([rows[t] for _, _, rows in folds(tasks, 4, 0)])) for t in range(2)]
    assert all(np.array_equal(found, np.arange(size)) for found, size in zip(rows, tasks.sizes, strict=True))


def test_parts_that_would_be_empty_are_refused():
    tasks = vvcv.Tasks([task([0, 1], "a"), task([2, 3], "b"), task([0, 1, 4], "c"), task([0, 2, 5, 6], "d")])
    sizes = [part.sizes for part in hold_out(tasks, 0.5, 0)]
    assert all(size > 0 for part in sizes for size in part)
    pairs = vvcv.Tasks([task([k, k + 1], str(k)) for k in range(6)] + [task([0, 2, 4], "last")])
    for seed in range(20):
        try:
            parts = folds(pairs, 2, seed)
        except ValueError as error:
            assert "shares most of its points" in str(error)
            return
        assert all(fold[-1].size > 0 for _, fold, _ in parts)
    pytest.fail("no seed left a part empty")


@pytest.mark.parametrize("estimator", [None, Split(0.5), CrossFit(4)])
@pytest.mark.parametrize("b", [None, RELATED])
def test_errors_of_one_integrand_twice_are_one_error(estimator, b):
    twice = vvcv.Tasks([task(np.arange(24), "a"), task(np.arange(24), "b")])
    both = fit(twice, KernelVariate(SquaredExponential(1.5), b), Exact(1e-4), estimator=estimator)
    correlation = both.covariance[0, 1] / np.prod(both.std_error)
    assert correlation == pytest.approx(1, abs=1e-6)
    alone = fit(twice[0], KernelVariate(SquaredExponential(1.5)), Exact(1e-4), estimator=estimator)
    assert both.std_error[0] == pytest.approx(alone.std_error[0], rel=0.3)


def test_descents_know_what_errors_share():
    twice = vvcv.Tasks(designs()["shared"])
    found = fit(twice, PolynomialVariate(1), StochasticOptimisation(epochs=30, regularization=0.0))
    assert found.covariance[0, 1] > 0.8 * np.prod(found.std_error)


def test_repeated_rows_tell_no_more_than_one_of_them():
    tasks = designs()["repeated"]
    once, twice = (fit(t, KernelVariate(SquaredExponential(1.5)), Exact(1e-4)) for t in (tasks[1], tasks[0]))
    assert once.std_error[0] == pytest.approx(2 * twice.std_error[0], rel=1e-6)


def test_errors_that_nothing_tells_are_infinite():
    assert np.isinf(fit(task([0], "a"), KernelVariate(SquaredExponential()), Exact(1e-3)).std_error).all()
    few = vvcv.Tasks([task(np.arange(6), "a"), task(np.arange(6), "b")])
    assert np.isinf(fit(few, PolynomialVariate(4), Exact(0)).std_error).all()
    chain = vvcv.Tasks.shared(X.reshape(2, 12, 2), -X.reshape(2, 12, 2), np.exp(X[:, :1]).reshape(2, 12, 1))
    assert np.isinf(fit(chain, PolynomialVariate(8), Exact(0)).std_error).all()
    uneven = vvcv.Tasks([task(np.arange(1, 24), "a"), task([0], "b")])
    for selection in (Exact(1e-3), StochasticOptimisation(epochs=20)):
        found = fit(uneven, KernelVariate(SquaredExponential(), RELATED), selection)
        assert np.isfinite(found.std_error[0])
        assert np.isinf(found.std_error[1])


@pytest.mark.parametrize(("estimator", "widened"), [(Split(0.5), False), (CrossFit(4), True)])
def test_rows_that_share_coefficients_have_bars_as_wide_as_their_tails_ask(estimator, widened):
    x = np.random.default_rng(1).normal(size=(80, 1))
    tasks, variate, selection = vvcv.Tasks(vvcv.Task(x, -x, np.exp(x[:, 0]))), PolynomialVariate(1), Exact(1e-3)
    if widened:
        parts = [(fit(others, variate, selection), fold) for others, fold, _ in folds(tasks, 4, 0)]
    else:
        kept, held = hold_out(tasks, 0.5, 0)
        parts = [(fit(kept, variate, selection), held)]
    remainder = np.concatenate([fitted.remainder(rest) for fitted, rest in parts])
    centred = remainder - remainder.mean()
    kurtosis = np.mean(centred**4) / np.mean(centred**2) ** 2
    freedom = max(2 * len(remainder) / (max(kurtosis, 3) - 1) - 1, 3)
    plain = remainder.std(ddof=1) / np.sqrt(len(remainder))
    expected = plain * stdtrit(freedom, ndtr(2)) / 2 if widened else plain
    assert expected > plain or not widened
    found = fit(tasks, variate, selection, estimator=estimator)
    assert found.std_error[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rung", ["zv", "vv"])
def test_the_covariance_of_a_rung_is_that_of_the_estimate(rung):
    """It was diagonal: the error of a difference of nearly equal integrands was the sum of both."""
    x = np.random.default_rng(0).normal(size=(40, 1))
    first = np.sin(x[:, 0]) + 0.3 * x[:, 0] ** 3
    tasks = vvcv.Tasks.shared(x, -x, np.column_stack([first, first + 0.01 * np.cos(3 * x[:, 0])]))
    found = fit(tasks, rung)
    assert found.covariance[0, 1] > 0.9 * np.prod(found.std_error)
    np.testing.assert_allclose(found.covariance, vvcv.estimate(tasks, rung).covariance, rtol=1e-9)
