"""N unknowns give the same function as the N T unknowns of Theorem 4.1, written here as the paper has it."""

import numpy as np
import pytest

from vvcv.kernels import Fixed, Full, Matern, Own, Separable, Side
from vvcv.linear_system.dense import DenseSystem
from vvcv.linear_system.design import Design
from vvcv.linear_system.model import Model
from vvcv.linear_system.solution import solve
from vvcv.stein import SteinKernel, gram

SIZES = (14, 9, 6)
T, N = len(SIZES), sum(SIZES)
LAMBDA = 1e-3
B = np.array([[1.0, 0.6, -0.2], [0.6, 2.0, 0.3], [-0.2, 0.3, 0.5]])
MEANS, SPREADS = np.array([0.0, 0.5, -0.5]), np.array([1.0, 1.5, 0.8])

KERNELS = {
    "separable": SteinKernel(Separable(Full(B), Matern(0.9, nu=2.5)), 1, [1.0, 0.4]),
    "second order": SteinKernel(Separable(Full(B), Matern(0.9, nu=3.5)), 2),
    "diagonal b": SteinKernel(Separable(Fixed(np.diag([1.0, 2.0, 0.5])), Matern(0.9, nu=2.5)), 1),
    "shared and own": SteinKernel(Separable(Full(B), Matern(0.9, nu=2.5)), 1) + SteinKernel(Own(Matern(0.5), 1), 1),
}


def score(x, t):
    return -(x - MEANS[t]) / SPREADS[t] ** 2


def a_problem():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(T), SIZES)
    x = MEANS[task, None] + SPREADS[task, None] * rng.normal(size=(N, 2))
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] ** 2 + task
    own = np.stack([score(p, t) for p, t in zip(x, task, strict=True)])
    return Side(x, own, task), y


def every_output(x):
    """All T outputs at every point: the paper needs the score of every target at the points of every task."""
    return Side(
        np.repeat(x, T, axis=0),
        np.concatenate([np.stack([score(p, t) for t in range(T)]) for p in x]),
        np.tile(np.arange(T), len(x)),
    )


def theorem_4_1(kernel, side, y, beta=None):
    """Minimise sum_t 1/m_t sum_j (f - beta_t - g_t)^2 + lambda |g|^2 over theta in R^(N T), and beta if not given."""
    whole = gram(kernel, every_output(side.points))
    pick = np.zeros((N, N * T))
    pick[np.arange(N), np.arange(N) * T + side.task] = 1.0
    q = 1.0 / np.array(SIZES)[side.task]
    a = (side.task[:, None] == np.arange(T)).astype(float)
    # The gradient in theta is K (pick' Q (pick K theta + A beta - y) + lambda theta), zero where the bracket is.
    top = pick.T @ (q[:, None] * (pick @ whole)) + LAMBDA * np.eye(N * T)
    if beta is not None:
        return np.linalg.solve(top, pick.T @ (q * (y - a @ beta))), beta
    system = np.block([[top, pick.T @ (q[:, None] * a)], [(a.T * q) @ pick @ whole, (a.T * q) @ a]])
    solution = np.linalg.solve(system, np.concatenate([pick.T @ (q * y), a.T @ (q * y)]))
    return solution[: N * T], solution[N * T :]


def new_points():
    return every_output(np.random.default_rng(1).normal(size=(5, 2)))


@pytest.mark.parametrize("name", KERNELS)
def test_with_beta_given_the_reduced_system_is_the_same_function(name):
    kernel, (side, y) = KERNELS[name], a_problem()
    beta = np.array([0.3, 1.2, 2.5])
    theta, _ = theorem_4_1(kernel, side, y, beta)
    expected = gram(kernel, new_points(), every_output(side.points)) @ theta
    w = gram(kernel, side) + LAMBDA * np.diag(np.array(SIZES)[side.task])
    reduced = gram(kernel, new_points(), side) @ np.linalg.solve(w, y - beta[side.task])
    np.testing.assert_allclose(reduced, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", KERNELS)
def test_with_beta_optimal_the_dense_system_is_the_same_function_with_the_same_means(name):
    kernel, (side, y) = KERNELS[name], a_problem()
    theta, beta = theorem_4_1(kernel, side, y)
    w = gram(kernel, side) + LAMBDA * np.diag(np.array(SIZES)[side.task]).astype(float)
    system = DenseSystem.of(w, (side.task[:, None] == np.arange(T)).astype(float), y)
    np.testing.assert_allclose(system.coefficients, beta, rtol=1e-9)
    expected = gram(kernel, new_points(), every_output(side.points)) @ theta
    reduced = gram(kernel, new_points(), side) @ system.weights
    np.testing.assert_allclose(reduced, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_model_states_the_same_penalty_as_noise_relative_to_the_kernel():
    kernel, (side, y) = KERNELS["separable"], a_problem()
    mean_diagonal = np.bincount(side.task, weights=np.diag(gram(kernel, side))) / np.array(SIZES)
    design = Design.build(side, y, np.ones(N), T)
    system = solve(Model(kernel, LAMBDA * np.array(SIZES) / mean_diagonal), design)
    np.testing.assert_allclose(system.coefficients, theorem_4_1(kernel, side, y)[1], rtol=1e-9)
