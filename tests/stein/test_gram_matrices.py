"""Gram matrices: symmetric, positive semi-definite, and independent of padding, tiles and the order of rows."""

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from kernel_registry import TWO_DIMENSIONS, cases

from vvcv.kernels import Diagonal, Full, General, LowRank, Matern, Own, Separable, Side, SquaredExponential
from vvcv.stein import Gram, SteinKernel, SteinSum, compiled_gram, diagonal, gram, host_gram, host_pairs, pullback

B = np.array([[1.0, 0.6, -0.2], [0.6, 2.0, 0.3], [-0.2, 0.3, 0.5]])


def a_side(n, tasks=1, seed=0, d=2):
    rng = np.random.default_rng(seed)
    return Side(rng.normal(size=(n, d)), rng.normal(size=(n, d)), np.arange(n) * tasks // n)


_block = jax.jit(lambda kernel, side: kernel.block(side), compiler_options={"xla_backend_optimization_level": 0})


def direct(kernel, side):
    """The whole matrix in one piece, without padding or tiles."""
    with jax.enable_x64(True):
        return np.asarray(_block(kernel, side))


@pytest.mark.parametrize(("name", "order"), cases(TWO_DIMENSIONS))
def test_stein_kernels_in_two_dimensions_are_symmetric_and_positive_semidefinite(name, order):
    k = direct(SteinKernel(TWO_DIMENSIONS[name], order), a_side(12))
    scale = np.sqrt(np.outer(np.diag(k), np.diag(k)))
    assert np.abs((k - k.T) / scale).max() < 1e-12
    assert np.linalg.eigvalsh(0.5 * (k + k.T) / scale)[0] > -1e-11


SHARED_AND_OWN = SteinSum(
    (
        SteinKernel(Separable(Full(B), SquaredExponential([0.9, 1.4])), 1, [1.0, 0.5]),
        SteinKernel(Own(Matern(0.7, nu=1.5), task=0), 1, [0.2, 0.1]),
        SteinKernel(Own(SquaredExponential(0.7), task=2), 1, [0.3, 0.3]),
    )
)


@pytest.mark.parametrize("n", [3, 64, 128, 256, 257, 400])
def test_padding_and_tiles_do_not_change_a_gram_matrix(n):
    side = a_side(n, tasks=3)
    whole = direct(SHARED_AND_OWN, side)
    np.testing.assert_allclose(gram(SHARED_AND_OWN, side), whole, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(diagonal(SHARED_AND_OWN, side), np.diag(whole), rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(3, 300), (300, 3)])
def test_a_block_between_two_sides_is_part_of_the_whole_matrix(n, m):
    side = a_side(n + m, tasks=3, seed=1)
    left, right = Side(*(a[:n] for a in side)), Side(*(a[n:] for a in side))
    np.testing.assert_allclose(
        gram(SHARED_AND_OWN, left, right), direct(SHARED_AND_OWN, side)[:n, n:], rtol=1e-12, atol=1e-12
    )


def test_rows_may_come_in_any_order_of_tasks():
    side, shuffle = a_side(30, tasks=3), np.random.default_rng(3).permutation(30)
    shuffled = Side(*(a[shuffle] for a in side))
    np.testing.assert_allclose(
        gram(SHARED_AND_OWN, shuffled), gram(SHARED_AND_OWN, side)[np.ix_(shuffle, shuffle)], rtol=1e-13
    )
    cotangent = np.random.default_rng(4).normal(size=(30, 30))
    cotangent += cotangent.T
    expected = jax.tree.leaves(pullback(SHARED_AND_OWN, side, cotangent))
    slopes = jax.tree.leaves(pullback(SHARED_AND_OWN, shuffled, cotangent[np.ix_(shuffle, shuffle)]))
    for slope, other in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(slope, other, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="sorted by task"):
        Gram(Side(side.points, side.scores, side.task[::-1]))


GRADIENT_CASES = {
    "shared and own": SHARED_AND_OWN,
    "diagonal": SteinKernel(Separable(Diagonal([1.0, 2.0, 0.5]), Matern(0.8, nu=2.5)), 1),
    "low rank": SteinKernel(
        Separable(LowRank([[1.0], [0.5], [-1.0]], [0.1, 0.2, 0.3]), SquaredExponential()), 1, [1, 2]
    ),
    "sum of matrix kernels": SteinKernel(Separable(Full(B), SquaredExponential()) + Own(Matern(nu=2.5), task=1), 1),
}


def central_difference(function, kernel, step=1e-6):
    """Derivative of a number in every parameter of a kernel."""
    with jax.enable_x64(True):
        flat, rebuild = ravel_pytree(kernel)
        flat = np.asarray(flat)
        slopes = []
        for i in range(flat.size):
            shift = np.eye(flat.size)[i] * step
            slopes.append((function(rebuild(flat + shift)) - function(rebuild(flat - shift))) / (2 * step))
    return np.array(slopes)


@pytest.mark.parametrize(("name", "n"), [*((name, 20) for name in GRADIENT_CASES), ("shared and own", 300)])
def test_pullback_equals_finite_differences(name, n):
    kernel, side = GRADIENT_CASES[name], a_side(n, tasks=3, seed=5)
    cotangent = np.random.default_rng(6).normal(size=(n, n))
    cotangent += cotangent.T
    _, pull = Gram(side).with_pullback(kernel)
    below_is_not_read = np.where(np.tril(np.ones((n, n)), -1) > 0, np.nan, cotangent)
    with jax.enable_x64(True):
        gradient = np.asarray(ravel_pytree(pull(below_is_not_read))[0])
    expected = central_difference(lambda k: float(np.sum(cotangent * gram(k, side))), kernel)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["diagonal", "low rank", "shared and own"])
def test_numbers_of_pairs_that_are_kept_give_what_moments_do(name, monkeypatch):
    kernel, side = GRADIENT_CASES[name], a_side(20, tasks=3, seed=5)
    cotangent = np.random.default_rng(6).normal(size=(20, 20))
    kept, pull_kept = Gram(side).with_pullback(kernel)
    monkeypatch.setattr(host_pairs, "MOST_KEPT", 0)
    moments, pull_moments = Gram(side).with_pullback(kernel)
    np.testing.assert_allclose(np.triu(kept), np.triu(moments), rtol=1e-12, atol=1e-12)
    for one, other in zip(jax.tree.leaves(pull_kept(cotangent)), jax.tree.leaves(pull_moments(cotangent)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_a_task_without_rows_has_a_zero_gradient_in_its_part_of_b():
    kernel, side = SteinKernel(Separable(Full(B), SquaredExponential()), 1), a_side(10, tasks=2)
    gradient = pullback(kernel, side, np.ones((10, 10)))
    assert gradient.kernel.coregionalization.log_diagonal[2] == 0


def test_a_task_without_rows_may_have_a_kernel_of_its_own():
    side = a_side(10, tasks=2)
    np.testing.assert_allclose(gram(SHARED_AND_OWN, side), direct(SHARED_AND_OWN, side), rtol=1e-12)


def test_a_task_that_b_does_not_have_is_refused():
    side = a_side(10, tasks=3)
    kernel = SteinKernel(Separable(Full(B[:2, :2]), SquaredExponential()), 1)
    for right in (None, side):
        with pytest.raises((ValueError, IndexError)):
            gram(kernel, side, right)


def test_a_general_kernel_equals_the_separable_one_it_spells_out():
    side = a_side(12, tasks=3)
    general = General(lambda x, y: B * SquaredExponential(0.8)(x, y))
    separable = Separable(Full(B), SquaredExponential(0.8))
    np.testing.assert_allclose(
        gram(SteinKernel(general, 1), side), gram(SteinKernel(separable, 1), side), rtol=1e-11, atol=1e-12
    )


@pytest.mark.parametrize("kernel", [SquaredExponential(0.8), *(Matern([0.8, 1.3], nu) for nu in (1.5, 2.5, 3.5))])
@pytest.mark.parametrize("axes", [None, 0.7, [0.4, 1.6]])
def test_small_matrices_and_their_gradients_are_those_of_compiled_code(kernel, axes, monkeypatch):
    x = np.random.default_rng(3).normal(size=(30, 2))
    x[7] = x[2]  # coincident points
    side, term = Side(x, -x, np.zeros(30, int)), SteinKernel(kernel, 1, axes)
    assert host_gram.serves(term, 30)
    cotangent = np.random.default_rng(4).normal(size=(30, 30))
    cotangent = cotangent + cotangent.T
    here = gram(term, side), ravel_pytree(pullback(term, side, cotangent))[0]
    monkeypatch.setattr(host_gram, "MOST_ROWS", 0)
    compiled = gram(term, side), ravel_pytree(pullback(term, side, cotangent))[0]
    np.testing.assert_allclose(here[0], compiled[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(here[1], compiled[1], rtol=1e-10, atol=1e-10)


def test_a_jax_that_does_not_know_our_compile_options_compiles_as_usual(monkeypatch):
    monkeypatch.setattr(compiled_gram, "FAST_COMPILE", {"xla_option_of_another_version": True})
    assert float(compiled_gram.compiled_fast(lambda x: x + 1.0)(1.0)) == 2.0

    def broken(x):
        raise ValueError("mistake of ours")

    with pytest.raises(ValueError, match="mistake of ours"):
        compiled_gram.compiled_fast(broken)(1.0)
