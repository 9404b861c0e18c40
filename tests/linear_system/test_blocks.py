"""Blocks of neighbouring draws are left out together: residuals, moves and error bars against refits without them."""

from dataclasses import replace

import numpy as np
import pytest

import vvcv
from vvcv.candidates.designs import build_design
from vvcv.data import Prepared
from vvcv.data.chains import blocks
from vvcv.kernels import Side, SquaredExponential
from vvcv.linear_system.design import Design
from vvcv.linear_system.mean_errors import Errors
from vvcv.linear_system.model import Model
from vvcv.linear_system.solution import solve
from vvcv.stein import SteinKernel

RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 2))
VALUES = np.exp(X[:, 0] / 2) + 0.1 * RNG.normal(size=24)
MODEL = Model(SteinKernel(SquaredExponential(np.full(2, 1.5)), axes=np.ones(2)), noise=1e-2)
BLOCK = np.arange(24) // 5


def design(rows: np.ndarray, block: np.ndarray | None = None) -> Design:
    side = Side(X[rows], -X[rows], np.zeros(rows.size, dtype=int))
    return Design.build(side, VALUES[rows], np.ones(rows.size), 1, block=block)


def test_the_mean_moves_as_it_does_when_a_block_is_replaced_by_its_prediction():
    every = np.arange(24)
    errors = Errors.of(solve(MODEL, design(every, BLOCK)), design(every, BLOCK), 0)
    left = BLOCK != 1
    # The relative noise follows the mean of the diagonal: that of all rows is kept.
    whole, part = design(every).gram.upper(MODEL.kernel), design(every[left]).gram.upper(MODEL.kernel)
    ratio = np.diag(whole).mean() / np.diag(part).mean()
    without = solve(Model(MODEL.kernel, 1e-2 * ratio), design(every[left]))
    mean = solve(MODEL, design(every)).coefficients[0]
    assert errors.move[0, ~left].sum() == pytest.approx(mean - without.coefficients[0], rel=1e-8)
    sums = [errors.move[0, b == BLOCK].sum() for b in range(5)]
    assert errors.jackknife[0] == pytest.approx(np.linalg.norm(sums))


def test_blocks_of_one_row_each_are_left_out_as_rows_are():
    every = np.arange(24)
    apart, alone = design(every, every), design(every)
    by_block, by_row = Errors.of(solve(MODEL, apart), apart, 2), Errors.of(solve(MODEL, alone), alone, 2)
    for name in ("model", "z", "left_out", "jackknife", "drift", "residual", "move"):
        np.testing.assert_allclose(getattr(by_block, name), getattr(by_row, name), rtol=1e-9)


def chain(rho: float, draws: int) -> np.ndarray:
    noise = np.random.default_rng(5).normal(size=(2, draws, 1))
    x = noise.copy()
    for i in range(1, draws):
        x[:, i] = rho * x[:, i - 1] + np.sqrt(1 - rho**2) * noise[:, i]
    return x


def test_independent_draws_have_no_blocks_and_slow_chains_long_ones():
    still, slow = chain(0.0, 100), chain(0.9, 100)
    assert Prepared.of(vvcv.Tasks([vvcv.Task(still, -still, still[..., 0])])).blocks((0,)) is None
    prepared = Prepared.of(vvcv.Tasks([vvcv.Task(slow, -slow, slow[..., 0])]))
    found = prepared.blocks((0,))
    order = prepared.distinct[0].row  # of the rows as drawn
    lengths = np.bincount(found[order])
    assert lengths.size >= 8 and lengths.max() >= 8
    assert (np.diff(found[order]) >= 0).all()  # neighbours stay together, chains apart
    assert not set(found[order][:100]) & set(found[order][100:])
    assert build_design(prepared, (0,), prepared.coordinates((0,), "scaled"), 0, False).folds is not None


@pytest.mark.parametrize(("time", "longest"), [(0.7, 2), (3.0, 6), (1e6, 25)])
def test_blocks_are_twice_the_correlation_time_and_at_least_eight(time, longest):
    assert np.bincount(blocks(time, (2, 100))).max() == longest


def test_blocks_of_two_integrands_on_the_same_rows_are_those_of_each():
    every = np.arange(24)
    both = replace(design(every, BLOCK), values=np.column_stack([VALUES, VALUES**2]))
    errors = Errors.of(solve(MODEL, both), both, 0)
    for k, values in enumerate((VALUES, VALUES**2)):
        one = replace(both, values=values)
        alone = Errors.of(solve(MODEL, one), one, 0)
        for name in ("left_out", "z", "jackknife"):
            assert getattr(errors, name)[k] == pytest.approx(getattr(alone, name)[0], rel=1e-9)
