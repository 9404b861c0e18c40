"""The two homes of a linear system agree: LAPACK on the host, and JAX on a device, here that of the CPU."""

import jax
import numpy as np
import pytest
from scipy.linalg import LinAlgError

import vvcv
from vvcv.kernels import Custom, Full, Matern, Own, Separable, Side, SquaredExponential
from vvcv.linear_system import blocked, device
from vvcv.linear_system.design import Design
from vvcv.linear_system.device import DeviceSystem
from vvcv.linear_system.evaluation import criterion_and_gradient
from vvcv.linear_system.mean_errors import Errors
from vvcv.linear_system.model import Model
from vvcv.linear_system.solution import solve
from vvcv.paper import KernelVariate
from vvcv.runtime.device import device_for, placed
from vvcv.stein import Ridge, SteinKernel, SteinSum, tiled_gram

ROWS = (50, 40)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Three blocks and three tiles in matrices of ninety rows."""
    monkeypatch.setattr(blocked, "BLOCK", 32)
    monkeypatch.setattr(blocked, "LEAF", 16)
    monkeypatch.setattr(blocked, "DIRECT", 32)
    monkeypatch.setattr(tiled_gram, "TILE", 64)


def on_device():
    return placed(jax.devices("cpu")[0], fewest_rows=0)


def a_design(tasks=2, degree=0, integrands=0):
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(tasks), ROWS if tasks == 2 else sum(ROWS))
    x = rng.normal(size=(len(task), 2))
    values = np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + task + 0.1 * rng.normal(size=len(task))
    if integrands:
        values = values[:, None] + x[:, :1] * rng.normal(size=integrands)
    ridge = Ridge.of(x, -x, 2 * x, -x / 2, x, -x) if tasks == 1 else None
    return Design.build(Side(x, -x, task), values, rng.integers(1, 4, len(task)).astype(float), tasks, degree, ridge)


def a_kernel_of_ones_own(x, y):
    return jax.numpy.exp(-jax.numpy.sum((x - y) ** 2)) * (1 + x @ y)


SCALAR = SteinKernel(SquaredExponential([1.1, 0.6]), 1, [0.3, 0.2])
SEPARABLE = SteinKernel(Separable(Full([[1.0, 0.6], [0.6, 2.0]]), SquaredExponential([1.1, 0.6])), 1, [0.3, 0.2])
OWN = tuple(SteinKernel(Own(Matern([0.9, 0.7 + t], nu=2.5), t), 1, [0.1, 0.2]) for t in range(2))
CASES = {
    "parts, two integrands": (Model(SCALAR, 1e-3, range(1, 8)), a_design(1, integrands=2)),
    "shared and own, polynomial columns": (Model(SteinSum((SEPARABLE, *OWN)), [1e-3, 1e-2]), a_design(degree=1)),
    "differentiated by JAX": (Model(SteinKernel(Custom(a_kernel_of_ones_own)), 1e-3), a_design(1)),
}


@pytest.mark.parametrize("name, criterion", [*((name, "reml") for name in CASES), (next(iter(CASES)), "loo")])
def test_criteria_and_gradients_are_those_of_lapack(name, criterion):
    model, design = CASES[name]
    expected, slopes = criterion_and_gradient(model, design, criterion)
    with on_device():
        value, gradient = criterion_and_gradient(model, design, criterion)
    assert value == pytest.approx(expected, rel=1e-10)
    assert jax.tree.structure(gradient) == jax.tree.structure(slopes)
    largest = max(np.abs(leaf).max() for leaf in jax.tree.leaves(slopes) if leaf.size)
    for mine, theirs in zip(jax.tree.leaves(gradient), jax.tree.leaves(slopes), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-9 * largest)


def test_a_small_matrix_is_evaluated_in_one_program_with_the_same_result(monkeypatch):
    model, design = CASES["parts, two integrands"]
    expected, slopes = criterion_and_gradient(model, design)
    monkeypatch.setattr(blocked, "BLOCK", 128)
    monkeypatch.setattr(device, "_evaluated", None)  # only its compiled form is asked for
    with on_device():
        value, gradient = criterion_and_gradient(model, design)
    assert value == pytest.approx(expected, rel=1e-10)
    for mine, theirs in zip(jax.tree.leaves(gradient), jax.tree.leaves(slopes), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_solutions_and_what_values_left_out_say_are_those_of_lapack(name):
    model, design = CASES[name]
    with on_device():
        mine = solve(model, design)
    assert isinstance(mine, DeviceSystem)
    theirs = solve(model, design)
    for field in ("coefficients", "weights", "covariance", "influence"):
        expected = getattr(theirs, field)
        np.testing.assert_allclose(getattr(mine, field), expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
    assert mine.restricted_likelihood() == pytest.approx(theirs.restricted_likelihood(), rel=1e-10)
    errors, expected = Errors.of(mine, design, 3), Errors.of(theirs, design, 3)
    for field in ("model", "z", "left_out", "jackknife", "drift", "residual"):
        np.testing.assert_allclose(getattr(errors, field), getattr(expected, field), rtol=1e-8, atol=1e-10)
    folds = [np.arange(0, 20, 2), np.array([7, 3, 11])]
    for left, right in zip(mine.leave_rows_out(folds), theirs.leave_rows_out(folds), strict=True):
        for one, other in zip(left, right, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_a_matrix_that_is_not_positive_definite_has_the_same_failure():
    with pytest.raises(LinAlgError, match="covariance matrix is not positive definite"):
        DeviceSystem.of(-np.eye(90), np.ones((90, 1)), np.ones(90))
    model, design = CASES["differentiated by JAX"]
    negative = jax.tree.map(lambda leaf: leaf * np.nan, model)
    with on_device(), pytest.raises(LinAlgError, match="covariance matrix is not positive definite"):
        criterion_and_gradient(negative, design)


def test_small_systems_stay_on_the_host_and_a_block_inside_keeps_what_was_said():
    device = jax.devices("cpu")[0]
    assert device_for(10**6) is None
    with placed(device, fewest_rows=100):
        assert device_for(99) is None and device_for(100) is device
        with placed(None):
            assert device_for(100) is device
        with placed("cpu"):
            assert device_for(10**6) is None
    assert device_for(10**6) is None


def test_a_device_that_is_not_there_is_refused_with_what_there_is():
    x = np.random.default_rng(0).normal(size=(20, 1))
    with pytest.raises(ValueError, match="JAX sees .*cpu"):
        vvcv.estimate(vvcv.Task(x, -x, x[:, 0]), "mc", device="gpu")


def test_estimates_and_fits_on_a_device_are_those_of_the_host():
    x = np.random.default_rng(1).normal(size=(40, 2))
    task = vvcv.Task(x, -x, np.cos(2 * x[:, 0]) * x[:, 1])  # no fit ends where rounding decides
    host = vvcv.estimate(task, "cf", kernel="squared-exponential")
    exact = vvcv.fit(vvcv.Tasks([task]), KernelVariate(SquaredExponential(1.0)))
    with on_device():
        mine = vvcv.estimate(task, "cf", kernel="squared-exponential")
        fitted = vvcv.fit(vvcv.Tasks([task]), KernelVariate(SquaredExponential(1.0)))
    assert abs(mine.mean - host.mean) < 0.1 * host.std_error
    np.testing.assert_allclose(fitted.mean, exact.mean, rtol=1e-10)
    np.testing.assert_allclose(fitted.std_error, exact.std_error, rtol=1e-8)


def test_squares_of_rows_are_those_of_lapack():
    for model, design in CASES.values():
        rows = np.random.default_rng(9).normal(size=(len(design.values), 3))
        expected = solve(model, design).squares(rows)
        with on_device():
            system = solve(model, design)
            assert isinstance(system, DeviceSystem)
            np.testing.assert_allclose(system.squares(rows), expected, rtol=1e-8)
