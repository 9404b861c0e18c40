"""Rows that repeat the one before them are left out together, wherever blocks begin."""

import numpy as np
import pytest
from random_walks import metropolis

import vvcv
from vvcv.estimation import large_ladder
from vvcv.large import look, normal_equations, passes, rows
from vvcv.large.runs import Edges, run_lengths

KERNEL = {"kernel": "squared-exponential", "check": False}


@pytest.mark.parametrize("step", [1, 2, 7, 20])
def test_runs_across_blocks_are_put_together(step):
    chains, draws = 3, 20
    points = np.repeat(np.random.default_rng(0).integers(0, 3, size=30), 2)[:, None].astype(float)
    points[18:43] = (
        5.0  # a run over several blocks that ends with its chain, though the next begins with the same point
    )
    index = np.arange(chains * draws)
    whole = run_lengths(points, index // draws)
    blocks = [index[(index // draws == c) & (index % draws // step == b)] for c in range(chains) for b in range(draws)]
    blocks = [block for block in blocks if block.size]
    own = [run_lengths(points[block], block // draws) for block in blocks]
    edges = [Edges.of(draws, points[block], block, lengths) for block, lengths in zip(blocks, own, strict=True)]
    across = passes.tree_sum(edges).across()
    found = [across.whole(block, lengths) for block, lengths in zip(blocks, own, strict=True)]
    np.testing.assert_array_equal(np.concatenate(found), whole)
    assert whole[18:43].tolist() == [2] * 2 + [20] * 20 + [3] * 3


def test_rows_given_twice_say_nothing_new(small_machine, sample):
    once = vvcv.estimate(vvcv.Tasks.shared(*sample), "zv", **KERNEL)
    twice = vvcv.estimate(vvcv.Tasks.shared(*(np.repeat(array, 2, axis=0) for array in sample)), "zv", **KERNEL)
    for name in ("mean", "std_error", "cross_fitted_std_error"):  # a cubic leaves rounding alone of the third
        np.testing.assert_allclose(getattr(twice, name)[:2], getattr(once, name)[:2], rtol=1e-6)


def test_error_bars_do_not_depend_on_blocks_that_cut_runs(small_machine, repeating, monkeypatch):
    tasks = vvcv.Tasks.shared(*repeating)
    whole = vvcv.compare(tasks, ["zv", "inducing"], **KERNEL)
    monkeypatch.setattr(rows, "BLOCK", 7)
    monkeypatch.setattr(normal_equations, "STRIP", 50)
    in_pieces = vvcv.compare(tasks, ["zv", "inducing"], **KERNEL)
    for method, part in {"zv": 1e-8, "inducing": 0.02}.items():  # of residuals of a millionth rounding takes digits
        ratio = in_pieces[method].std_error[:2] / whole[method].std_error[:2]
        np.testing.assert_allclose(ratio, 1.0, rtol=part)


def test_error_bars_of_metropolis_chains_are_honest(monkeypatch):
    """Of thirty samples ten drawn again exceed 1.1 in one of a thousand cases; these ten do not tell copies left in."""
    monkeypatch.setattr(large_ladder, "largest_system", lambda: 300)
    monkeypatch.setattr(look, "PILOT_ROWS", 400)
    exact, z = np.exp([0.26, -1.04]), []
    for seed in range(10):
        points = metropolis(seed, draws=1500)
        along = points @ [0.6, -0.4]
        tasks = vvcv.Tasks.shared(points, -points, np.stack([np.exp(along), np.cos(2 * along)], axis=-1))
        found = vvcv.estimate(tasks, "inducing", **KERNEL)
        z.append((found.mean - exact) / found.std_error)
    assert np.sqrt(np.mean(np.square(z))) < 1.1


def test_copies_that_do_not_follow_each_other_raise_the_alarm_and_sorted_do_not(small_machine, sample, repeating):
    """Rows drawn with replacement gave error bars that were too narrow, in silence."""
    again = np.random.default_rng(0).integers(0, 900, size=len(sample[0]))
    with pytest.warns(vvcv.AlarmWarning, match="repeat one that is not beside them"):
        vvcv.estimate(vvcv.Tasks.shared(*(array[again] for array in sample)), "zv")
    for fine in (sample, repeating, [array[np.sort(again)] for array in sample]):
        found = vvcv.estimate(vvcv.Tasks.shared(*fine), "zv", on_alarm="ignore")
        assert "repeats" not in [finding.code for finding in found.check or ()]
