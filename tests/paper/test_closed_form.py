"""Closed forms: Theorem 4.1 full and reduced, joint means, alternation, and the convex sequence for B."""

import numpy as np
import pytest
from scipy.optimize import minimize

from vvcv.data import Task, Tasks
from vvcv.kernels import General, SquaredExponential
from vvcv.paper import Exact, fit
from vvcv.paper.alternation import Alternation, alternate_means, alternate_with_b, best_b
from vvcv.paper.closed_form import best_means, coefficients_given_means, joint_solution
from vvcv.paper.convex import ConvexSequence, best_b_of_function, convex_sequence
from vvcv.paper.objective import Variance
from vvcv.paper.problem import Problem
from vvcv.paper.variates import BasisVariate, KernelVariate, PolynomialVariate
from vvcv.runtime.precision import float64

KERNEL = SquaredExponential(1.5)
LAMBDA = 1e-3


@float64
def lbar(problem, theta, beta, b, penalty="rkhs"):
    """L_vv of the paper's eq. 6, written out."""
    residual = problem.values - problem.columns @ beta - np.asarray(problem.space.output(theta, b))
    return Variance().value(residual, problem.chains) + LAMBDA * float(
        problem.space_with(penalty).penalty(theta, b, penalty)
    )


@float64
def test_full_system_and_reduced_system_give_one_function_for_two_targets(two_targets, related):
    tasks, scores = two_targets
    beta = np.array([0.3, 1.2])
    reduced = Problem.build(tasks, KernelVariate(KERNEL, related))
    full = Problem.build(tasks, KernelVariate(KERNEL, related, parametrization="paper", scores=scores))
    theta = coefficients_given_means(reduced, beta, LAMBDA)
    theta_full = coefficients_given_means(full, beta, LAMBDA)
    assert theta_full.shape == (50, 2)
    g, g_full = reduced.space.output(theta, related), full.space.output(theta_full, related)
    np.testing.assert_allclose(g_full, g, atol=1e-5)
    assert lbar(full, theta_full, beta, related) == pytest.approx(lbar(reduced, theta, beta, related), rel=1e-8)


@float64
def test_full_system_satisfies_the_equation_of_theorem_4_1(two_targets, related):
    tasks, scores = two_targets
    problem = Problem.build(tasks, KernelVariate(KERNEL, related, parametrization="paper", scores=scores))
    beta = np.array([0.3, 1.2])
    theta = coefficients_given_means(problem, beta, LAMBDA).reshape(-1)
    rows, inner = np.asarray(problem.space.expand(related)), np.asarray(problem.space_with("rkhs").inner(related))
    weights = 1 / np.repeat([30, 20], [30, 20])
    left = (rows.T * weights) @ rows @ theta + LAMBDA * inner @ theta
    right = (rows.T * weights) @ (problem.values - problem.columns @ beta)
    np.testing.assert_allclose(left, right, atol=1e-10 * np.abs(right).max())


def test_general_kernel_in_both_parametrisations_agrees_with_the_separable_one(one_target, related):
    import jax.numpy as jnp

    general = General(lambda x, y: jnp.asarray(related) * KERNEL(x, y))
    expected = fit(one_target, KernelVariate(KERNEL, related), Exact(LAMBDA)).mean
    for parametrization in ("reduced", "paper"):
        found = fit(
            one_target, KernelVariate(general, parametrization=parametrization, scores="shared"), Exact(LAMBDA)
        ).mean
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("penalty", ["rkhs", "euclidean"])
@pytest.mark.parametrize("parametrization", ["reduced", "paper"])
def test_joint_solution_cannot_be_improved_in_any_direction(one_target, related, penalty, parametrization):
    problem = Problem.build(
        one_target, KernelVariate(KERNEL, related, parametrization=parametrization, scores="shared")
    )
    solution = joint_solution(problem, LAMBDA, penalty)
    best = lbar(problem, solution.theta, solution.beta, related, penalty)
    assert solution.objective == pytest.approx(best, rel=1e-8)
    rng = np.random.default_rng(3)
    for _ in range(20):
        theta = solution.theta + 1e-3 * rng.standard_normal(solution.theta.shape)
        beta = solution.beta + 1e-3 * rng.standard_normal(2)
        assert lbar(problem, theta, beta, related, penalty) > best


def test_joint_means_are_the_averages_of_the_remainder(one_target, related):
    problem = Problem.build(one_target, KernelVariate(KERNEL, related))
    solution = joint_solution(problem, LAMBDA)
    np.testing.assert_allclose(best_means(problem, solution.theta), solution.beta, atol=1e-12)
    np.testing.assert_allclose(coefficients_given_means(problem, solution.beta, LAMBDA), solution.theta, atol=1e-8)


@pytest.mark.parametrize("accelerate", [True, False])
def test_alternation_of_theta_and_beta_reaches_the_joint_solution(one_target, related, accelerate):
    problem = Problem.build(one_target, KernelVariate(KERNEL, related))
    ended = alternate_means(problem, Alternation(LAMBDA, accelerate=accelerate))
    joint = joint_solution(problem, LAMBDA)
    np.testing.assert_allclose(ended.beta, joint.beta, atol=1e-10)
    np.testing.assert_allclose(ended.theta, joint.theta, atol=1e-10 * np.abs(joint.theta).max())
    assert (np.diff(ended.objectives) <= 1e-12).all()


def test_acceleration_needs_about_as_many_sweeps_as_tasks_at_a_tiny_penalty(one_target, related):
    problem = Problem.build(one_target, KernelVariate(KERNEL, related))
    ended = alternate_means(problem, Alternation(1e-7))
    np.testing.assert_allclose(ended.beta, joint_solution(problem, 1e-7).beta, atol=1e-10)
    assert len(ended.betas) <= 8


def test_semi_exact_columns_enter_the_alternation(one_target, related):
    problem = Problem.build(one_target, KernelVariate(KERNEL, related, degree=1))
    ended = alternate_means(problem, Alternation(LAMBDA))
    np.testing.assert_allclose(ended.beta, joint_solution(problem, LAMBDA).beta, atol=1e-10)


def test_exact_b_step_beats_its_neighbours(one_target, related):
    problem = Problem.build(one_target, KernelVariate(KERNEL, related))
    solution = joint_solution(problem, LAMBDA)
    b = best_b(problem, solution.theta, solution.beta, LAMBDA)
    value = lbar(problem, solution.theta, solution.beta, b) + np.sum(b**2)
    rng = np.random.default_rng(4)
    for _ in range(50):
        root = np.linalg.cholesky(b + 1e-12 * np.eye(2)) + 1e-3 * rng.standard_normal((2, 2))
        other = root @ root.T
        assert lbar(problem, solution.theta, solution.beta, other) + np.sum(other**2) >= value - 1e-12


def test_alternation_with_b_never_raises_the_objective_and_works_for_two_targets(two_targets, related):
    problem = Problem.build(two_targets[0], KernelVariate(KERNEL, related))
    ended = alternate_with_b(problem, Alternation(LAMBDA, learn_b=True, sweeps=60, tolerance=1e-8))
    assert (np.diff(ended.objectives) <= 1e-12).all()
    assert ended.objectives[-1] < 0.5 * ended.objectives[0]
    assert np.linalg.eigvalsh(ended.b)[0] >= -1e-12


@pytest.mark.parametrize("unit", [0.1, 30.0])
def test_alternation_with_b_ends_when_the_objective_falls_by_less_than_its_tolerance_of_itself(one_target, unit):
    tasks = Tasks([Task(task.points, task.scores, unit * task.values) for task in one_target])
    ended = alternate_with_b(Problem.build(tasks, KernelVariate(KERNEL)), Alternation(LAMBDA, True, tolerance=1e-3))
    falls = -np.diff(ended.objectives) / ended.objectives[1:]
    assert falls[-1] <= 1e-3 and (falls[:-1] > 1e-3).all() and len(falls) > 1


def test_convex_sequence_decreases_and_ends_at_the_best_of_twenty_direct_optimisations(one_target):
    problem = Problem.build(one_target, KernelVariate(KERNEL))
    ended = convex_sequence(problem, ConvexSequence(LAMBDA))
    assert (np.diff(ended.objectives) <= 1e-12).all()
    final = joint_solution(problem, LAMBDA, b=ended.b).objective + np.sum(ended.b**2)

    def direct(free):
        root = np.array([[np.exp(free[0]), 0.0], [free[1], np.exp(free[2])]])
        b = root @ root.T
        return joint_solution(problem, LAMBDA, b=b).objective + np.sum(b**2)

    rng = np.random.default_rng(5)
    best = min(minimize(direct, rng.normal(-1, 1, 3), method="BFGS").fun for _ in range(20))
    assert final <= best * (1 + 1e-4)


def test_polynomial_least_squares_is_exact_for_polynomials_under_gaussians(one_target):
    x = one_target[0].points
    values = np.column_stack([x[:, 0] ** 2 * x[:, 1] ** 2, x[:, 0] + 3.0])
    tasks = type(one_target).shared(x, -x, values)
    for order, degree in ((2, 4), (1, 3)):
        result = fit(tasks, PolynomialVariate(degree, order), Exact(regularization=0.0))
        np.testing.assert_allclose(result.mean, [1.0, 3.0], atol=1e-9)


def test_a_users_monomials_give_the_polynomial_variate(one_target):
    import jax.numpy as jnp

    basis = BasisVariate(lambda x: jnp.stack([x[0], x[1], x[0] ** 2, x[0] * x[1], x[1] ** 2]))
    for regularization in (0.0, 0.1):
        found = fit(one_target, basis, Exact(regularization))
        expected = fit(one_target, PolynomialVariate(2), Exact(regularization))
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-10)
        np.testing.assert_allclose(found.std_error, expected.std_error, atol=1e-10)


def test_shared_coefficients_are_the_letter_of_the_papers_linear_form(one_target, related):
    variate = PolynomialVariate(2, coregionalization=related, coefficients="shared")
    result = fit(one_target, variate, Exact(1e-6))
    assert result.coefficients.shape == (5, 1)
    x = np.random.default_rng(6).standard_normal((4, 2))
    first, second = (result.control_variate(x, -x, t) for t in ("low", "high"))
    np.testing.assert_allclose(second / first, 2.0 / 1.8, rtol=1e-10)


def test_semi_exact_kernel_variate_integrates_polynomials_exactly(one_target):
    x = one_target[0].points
    tasks = type(one_target).shared(x, -x, 2.0 + x[:, :1] ** 2)
    result = fit(tasks, KernelVariate(KERNEL, degree=2), Exact(1e-2))
    np.testing.assert_allclose(result.mean, [3.0], atol=1e-10)


def test_singular_b_has_a_right_answer_and_an_indefinite_one_is_refused(one_target):
    result = fit(one_target, KernelVariate(KERNEL, np.ones((2, 2))), Exact(LAMBDA))
    nearly = fit(one_target, KernelVariate(KERNEL, np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])), Exact(LAMBDA))
    np.testing.assert_allclose(result.mean, nearly.mean, rtol=1e-7)
    np.testing.assert_allclose(result.std_error, nearly.std_error, rtol=1e-6)
    with pytest.raises(ValueError, match="positive semi-definite"):
        fit(one_target, KernelVariate(KERNEL, np.array([[1.0, 2.0], [2.0, 1.0]])), Exact(LAMBDA))


def test_zero_penalty_on_a_kernel_is_refused_with_a_remedy(one_target):
    with pytest.raises(ValueError, match="must be positive.*take"):
        fit(one_target, KernelVariate(KERNEL), Exact(0.0))


def test_a_covariance_model_is_solved_exactly(one_target, related):
    from vvcv.kernels import Fixed, Separable
    from vvcv.linear_system.model import Model
    from vvcv.stein import SteinKernel, diagonal

    stein = SteinKernel(Separable(Fixed(related), KERNEL))
    expected = fit(one_target, KernelVariate(KERNEL, related), Exact(LAMBDA))
    variances = diagonal(stein, expected.problem.side)
    means = [variances[one_target.task == t].mean() for t in range(2)]
    model = Model(stein, LAMBDA * np.array(one_target.sizes) / means)
    found = fit(one_target, model)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-10)
    x = np.random.default_rng(8).standard_normal((5, 2))
    np.testing.assert_allclose(found.control_variate(x, -x, "high"), expected.control_variate(x, -x, "high"), atol=1e-8)
    with pytest.raises(ValueError, match="no task"):
        found.control_variate(x, -x, "middle")


def test_every_selection_is_reached_through_fit_and_gives_a_variate_of_mean_zero(one_target, related):
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    mass = np.outer(weights, weights).reshape(-1) / weights.sum() ** 2
    selections = [
        Exact(LAMBDA),
        Alternation(LAMBDA),
        Alternation(LAMBDA, learn_b=True, sweeps=5),
        ConvexSequence(LAMBDA),
    ]
    for selection in selections:
        result = fit(one_target, KernelVariate(KERNEL, related, degree=1), selection)
        for task in range(2):
            g = result.control_variate(grid, -grid, task)
            assert abs(mass @ g) < 1e-9 * np.sqrt(mass @ g**2)
        assert (np.abs(result.mean - [0.5, 1.5]) < 4 * result.std_error).all()
        if result.path is not None:
            assert len(result.path.mean) == len(result.path.objective) == len(result.path.coregionalization)
    with pytest.raises(ValueError, match="A selection is one of"):
        fit(one_target, KernelVariate(KERNEL), "adam")


def test_the_best_b_of_a_function_is_that_of_its_products_and_delta():
    # lambda Tr[B^-1 (S + delta^2 I)] + ||B||^2 is least at the cube root of lambda (S + delta^2 I) / 2.
    found = best_b_of_function(np.diag([0.0, 3.0]), 2.0, delta=0.5)
    np.testing.assert_allclose(found, np.diag([0.25, 3.25]) ** (1 / 3), atol=1e-12)


@pytest.mark.parametrize(
    "wrong", [{"shrink": 0.0}, {"shrink": 1.0}, {"smallest": 0.0}, {"smallest": 0.2}], ids=lambda wrong: str(wrong)
)
def test_a_sequence_that_does_not_decrease_is_refused(wrong):
    assert ConvexSequence(shrink=0.9, smallest=0.1, delta=0.1).smallest == 0.1
    with pytest.raises(ValueError, match="A decreasing sequence needs"):
        ConvexSequence(**wrong)
