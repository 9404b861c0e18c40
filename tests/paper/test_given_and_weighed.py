"""What may be given: beta, starts, weights of tasks, the MCMC objective by descent, a matrix-valued kernel to tune."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vvcv.data import Task, Tasks
from vvcv.kernels import Full, MatrixKernel, Separable, Side, SquaredExponential
from vvcv.paper import (
    Exact,
    KernelVariate,
    MarginalLikelihood,
    MarkovChainVariance,
    MiniBatchMarginalLikelihood,
    NeuralVariate,
    PolynomialVariate,
    StochasticOptimisation,
    Variance,
    fit,
    log_marginal_likelihood,
    maximise_marginal_likelihood,
)
from vvcv.stein import SteinKernel, gram

KERNEL = SquaredExponential(1.5)
LAMBDA = 1e-3


def test_with_beta_given_theta_is_that_of_theorem_4_1_and_the_means_are_averages(one_target, related):
    beta = np.array([0.3, 1.2])
    result = fit(one_target, KernelVariate(KERNEL, related), Exact(LAMBDA, beta=beta))
    counts = np.repeat(one_target.sizes, one_target.sizes)
    k = related[np.ix_(one_target.task, one_target.task)] * result.problem.space.scalar_gram()
    c = np.linalg.solve(k + LAMBDA * np.diag(counts), one_target.values - beta[one_target.task])
    np.testing.assert_allclose(result.coefficients, c, atol=1e-8 * np.abs(c).max())
    left = one_target.values - k @ c
    np.testing.assert_allclose(result.mean, [left[one_target.task == t].mean() for t in range(2)], rtol=1e-9)


def test_beta_given_at_the_joint_optimum_changes_nothing(one_target, related):
    for variate in (KernelVariate(KERNEL, related, degree=1), PolynomialVariate(1, coregionalization=related)):
        joint = fit(one_target, variate, Exact(LAMBDA))
        given = fit(one_target, variate, Exact(LAMBDA, beta=joint.beta))
        np.testing.assert_allclose(given.mean, joint.mean, atol=1e-9)
        x = one_target[0].points[:5]
        np.testing.assert_allclose(given.control_variate(x, -x), joint.control_variate(x, -x), atol=1e-8)
    with pytest.raises(ValueError, match="beta must be 2 finite numbers"):
        fit(one_target, variate, Exact(LAMBDA, beta=[1.0]))


def test_the_error_bar_with_beta_given_leaves_rows_out(one_target, related):
    beta, variate = np.array([0.3, 1.2]), KernelVariate(KERNEL, related)
    result = fit(one_target, variate, Exact(LAMBDA, beta=beta))
    counts = np.repeat(one_target.sizes, one_target.sizes).astype(float)
    k = related[np.ix_(one_target.task, one_target.task)] * result.problem.space.scalar_gram()
    target, changes = one_target.values - beta[one_target.task], []
    for i in range(len(counts)):
        kept = np.arange(len(counts)) != i
        c = np.linalg.solve((k + LAMBDA * np.diag(counts))[np.ix_(kept, kept)], target[kept])
        values = one_target.values.copy()
        values[i] = beta[one_target.task[i]] + k[i, kept] @ c
        moved = values - k @ np.linalg.solve(k + LAMBDA * np.diag(counts), values - beta[one_target.task])
        changes.append(result.mean - [moved[one_target.task == t].mean() for t in range(2)])
    np.testing.assert_allclose(result.std_error, np.sqrt(np.sum(np.square(changes), axis=0)), rtol=1e-6)


def test_starts_of_theta_and_beta_are_where_a_descent_begins(one_target, related):
    exact = fit(one_target, KernelVariate(KERNEL, related), Exact(1e-2, "euclidean"))
    at_rest = StochasticOptimisation(0, regularization=1e-2, start_theta=exact.coefficients, start_beta=exact.beta)
    result = fit(one_target, KernelVariate(KERNEL, related), at_rest)
    np.testing.assert_array_equal(result.mean, exact.mean)
    np.testing.assert_array_equal(result.coefficients, exact.coefficients)
    settings = StochasticOptimisation(
        5, None, 1e-6, regularization=1e-2, start_theta=exact.coefficients, start_beta=exact.beta
    )
    result = fit(one_target, KernelVariate(KERNEL, related), settings)
    assert result.path.objective[0] == pytest.approx(exact.objective, rel=1e-6)
    with pytest.raises(ValueError, match="start_theta must have the shape"):
        fit(one_target, KernelVariate(KERNEL, related), StochasticOptimisation(1, start_theta=np.zeros(3)))
    with pytest.raises(ValueError, match="beta must be"):
        fit(one_target, KernelVariate(KERNEL, related), StochasticOptimisation(1, start_beta=[1.0]))


def test_importance_weighs_the_tasks_in_the_closed_form_and_in_the_descent(one_target, related):
    variate = KernelVariate(SquaredExponential(0.7), related)
    plain, weighed = (fit(one_target, variate, Exact(0.1, objective=Variance(importance=a))) for a in (None, (1, 50)))

    def variances(result):
        residual = result.remainder(one_target) - np.repeat(result.mean, one_target.sizes)
        return np.array([np.mean(residual[one_target.task == t] ** 2) for t in range(2)])

    assert variances(weighed)[1] < 0.1 * variances(plain)[1]
    penalty = 0.1 * float(weighed.problem.space.penalty(weighed.coefficients, related, "rkhs"))
    assert weighed.objective == pytest.approx(variances(weighed) @ [1, 50] + penalty, rel=1e-6)
    epochs = 3000
    descent = StochasticOptimisation(
        epochs,
        None,
        lambda epoch: 0.05 * (1 + np.cos(np.pi * epoch / epochs)),
        regularization=0.1,
        objective=Variance(importance=(0.01, 1)),
    )
    linear = PolynomialVariate(1)
    exact = fit(one_target, linear, Exact(0.1, objective=Variance(importance=(0.01, 1))))
    np.testing.assert_allclose(fit(one_target, linear, descent).mean, exact.mean, atol=1e-4)
    with pytest.raises(ValueError, match="one number per task"):
        fit(one_target, variate, Exact(0.1, objective=Variance(importance=(1.0,))))
    with pytest.raises(ValueError, match="positive and finite"):
        Variance(importance=(0.0, 1.0))


def chain_tasks(seed=0, draws=60):
    rng = np.random.default_rng(seed)
    x = np.cumsum(0.4 * rng.standard_normal((2, draws, 2)), axis=1)
    x = x / x.std()
    return Tasks([Task(x, -x, np.sin(x[..., 0]) + x[..., 1])])


def test_a_descent_on_the_mcmc_objective_reaches_its_closed_form():
    tasks, epochs = chain_tasks(), 4000
    objective = MarkovChainVariance()
    descent = StochasticOptimisation(
        epochs,
        None,
        lambda epoch: 0.05 * (1 + np.cos(np.pi * epoch / epochs)),
        regularization=1e-2,
        objective=objective,
    )
    exact = fit(tasks, PolynomialVariate(2), Exact(1e-2, objective=objective))
    found = fit(tasks, PolynomialVariate(2), descent)
    assert found.objective == pytest.approx(exact.objective, rel=1e-4)
    np.testing.assert_allclose(found.mean, exact.mean, atol=1e-2)
    plain = fit(tasks, PolynomialVariate(2), Exact(1e-2))
    assert abs(plain.mean[0] - exact.mean[0]) > 5 * abs(found.mean[0] - exact.mean[0])


def test_networks_are_trained_on_the_mcmc_objective():
    tasks = chain_tasks()
    network = eqx.nn.MLP(2, 2, 8, 1, activation=jnp.tanh, key=jax.random.key(0))
    settings = StochasticOptimisation(200, None, 1e-2, objective=MarkovChainVariance(), held_out=0.25, patience=50)
    result = fit(tasks, NeuralVariate(network), settings)
    assert result.path.objective[-1] < 0.3 * result.path.objective[0]
    np.testing.assert_allclose(result.mean, result.path.mean[np.argmin(result.path.held_out)], atol=1e-12)


class Drifting(MatrixKernel):
    """A user's own kernel: two tasks whose relation is learned, K_tu = a^(t != u) k(x, y)."""

    log_lengthscale: jax.Array
    share: jax.Array

    def entry(self, x, t, y, u):
        k = jnp.exp(-0.5 * jnp.sum((x - y) ** 2) * jnp.exp(-2 * self.log_lengthscale))
        return k * jnp.where(t == u, 1.0, jax.nn.sigmoid(self.share))


def test_a_users_matrix_valued_kernel_is_tuned_with_all_tasks_in_one_covariance(one_target, related):
    side = Side(one_target.points, one_target.scores, one_target.task)
    for kernel in (Separable(Full(related), KERNEL), Drifting(np.array(0.3), np.array(1.0))):
        k = gram(SteinKernel(kernel), side) + 0.1 * np.eye(65) + 2.0 * (side.task[:, None] == side.task)
        expected = -0.5 * (one_target.values @ np.linalg.solve(k, one_target.values) + np.linalg.slogdet(k)[1])
        assert log_marginal_likelihood(kernel, one_target, 0.1, constant=2.0) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "settings",
    [MarginalLikelihood(1e-2, constant=1.0), MiniBatchMarginalLikelihood(epochs=30, regularization=1e-2)],
    ids=["all data", "mini-batches"],
)
def test_tuning_a_matrix_valued_kernel_raises_its_likelihood_and_moves_the_share(one_target, settings):
    start = Drifting(np.array(1.5), np.array(-2.0))
    chosen = maximise_marginal_likelihood(start, one_target, settings)
    assert chosen.after > chosen.before + 1
    assert abs(float(chosen.kernel.share) + 2.0) > 0.2
    found = fit(one_target, KernelVariate(chosen.kernel), Exact(LAMBDA))
    assert (np.abs(found.mean - [0.5, 1.5]) < 3 * found.std_error).all()
