"""Algorithms 1 and 2: convergence to closed forms, batches, options, refusals, and one compilation for all."""

import numpy as np
import optax
import pytest

from vvcv.data import Task, Tasks
from vvcv.kernels import SquaredExponential
from vvcv.paper import Exact, descent, fit, fit_replications, loop
from vvcv.paper.batches import make_batches
from vvcv.paper.objective import MarkovChainVariance, Variance
from vvcv.paper.stochastic import BlockCoordinateDescent, StochasticOptimisation
from vvcv.paper.variates import KernelVariate, PolynomialVariate

KERNEL = SquaredExponential(1.5)
RELATED = np.array([[1.0, 0.8], [0.8, 1.2]])


def annealed(rate, epochs):
    return lambda epoch: rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs))


def replications(count, sizes=(12, 8)):
    rng = np.random.default_rng(7)
    made = []
    for _ in range(count):
        x = [rng.standard_normal((n, 2)) for n in sizes]
        made.append(Tasks([Task(z, -z, np.sin(z[:, 0]) + k, name=f"{k}") for k, z in enumerate(x)]))
    return made


@pytest.mark.parametrize(
    ("variate", "penalty", "regularization", "rate"),
    [
        (KernelVariate(KERNEL, RELATED), "euclidean", 1e-2, 0.3),
        (KernelVariate(SquaredExponential(0.5), RELATED), "rkhs", 1e-1, 0.1),
        (
            KernelVariate(KERNEL, [[1.0, 0.8], [0.8, 1.2]], parametrization="paper", scores="shared"),
            "euclidean",
            1e-2,
            0.1,
        ),
        (PolynomialVariate(2, coregionalization=RELATED), "euclidean", 1e-3, 0.3),
    ],
    ids=["reduced kernel", "reduced kernel in its own norm", "the paper's kernel", "polynomial"],
)
def test_adam_converges_to_the_closed_form_for_unequal_sizes(one_target, variate, penalty, regularization, rate):
    epochs = 6000
    settings = StochasticOptimisation(
        epochs, None, annealed(rate, epochs), regularization=regularization, penalty=penalty
    )
    found, exact = fit(one_target, variate, settings), fit(one_target, variate, Exact(regularization, penalty))
    deviations = np.array([task.values.std() for task in one_target])
    assert (np.abs(found.mean - exact.mean) < 1e-4 * deviations).all()
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)


def test_mini_batches_converge_to_the_same_means(one_target):
    variate, epochs = PolynomialVariate(1), 2000
    found = fit(one_target, variate, StochasticOptimisation(epochs, 13, annealed(0.03, epochs), regularization=1e-3))
    exact = fit(one_target, variate, Exact(1e-3))
    deviations = np.array([task.values.std() for task in one_target])
    assert (np.abs(found.mean - exact.mean) < 1e-4 * deviations).all()


def test_every_epoch_visits_every_row_once_in_proportion_to_the_sizes():
    for sizes, batch_size in [((40, 25), 10), ((7, 3, 90), 9), ((5,), 2), ((4, 4), 8)]:
        batches = make_batches(sizes, batch_size)
        present = batches.weights > 0
        assert sorted(batches.positions[present].tolist()) == list(range(sum(sizes)))
        task = np.repeat(np.arange(len(sizes)), sizes)
        for t in range(len(sizes)):
            mine = present & (task[batches.positions] == t)
            per_batch = mine.sum(axis=1)
            assert per_batch.max() - per_batch.min() <= 1
            # Unbiased: averaged over the batches of an epoch, every row weighs 1/m_t.
            np.testing.assert_allclose(batches.weights[mine].sum() / batches.per_epoch, 1.0)


def test_algorithm_one_lowers_the_objective_and_keeps_b_positive_definite(one_target):
    result = fit(one_target, KernelVariate(KERNEL), BlockCoordinateDescent(100, learning_rate=1e-2))
    assert result.path.objective[-1] < 0.3 * result.path.objective[0]
    assert result.path.coregionalization.shape == (100, 2, 2) and result.path.mean.shape == (100, 2)
    assert (np.linalg.eigvalsh(result.path.coregionalization)[:, 0] > 0).all()
    np.testing.assert_allclose(result.path.coregionalization[-1], result.coregionalization, atol=1e-12)


def adam_by_hand(tasks, gram, b_start, rate, rate_b, lam, epochs, one_state=True):
    """The authors' program at full batch: one Adam state, B first, the other block's gradient zero, rate x 0.99.

    With two states a block that is not updated keeps its place, its moments and its count.
    """
    import jax
    import jax.numpy as jnp

    task, y, counts = tasks.task, tasks.values, np.repeat(tasks.sizes, tasks.sizes)
    means = [t.values.mean() for t in tasks]
    factor = np.linalg.cholesky(b_start)
    p = [np.zeros((len(y), 2)), np.array(means), np.log(np.diag(factor)), factor[1, 0]]
    moments = [[np.zeros_like(v), np.zeros_like(v)] for v in p]

    def loss(theta, beta, diagonal, below):
        root = jnp.diag(jnp.exp(diagonal)).at[1, 0].set(below)
        b = root @ root.T
        g = jnp.sum((gram @ theta) * b[task], axis=1)
        return jnp.sum((y - beta[task] - g) ** 2 / counts) + lam * jnp.sum(theta**2) + jnp.sum(b**2)

    gradient, step = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3))), 0
    for epoch in range(epochs):
        for active in ((2, 3), (0, 1)):
            step = step + 1 if one_state else epoch + 1
            slopes = [np.asarray(g) if i in active else np.zeros_like(p[i]) for i, g in enumerate(gradient(*p))]
            for i, g in enumerate(slopes):
                if not one_state and i not in active:
                    continue
                m, v = moments[i]
                m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
                moments[i] = [m, v]
                speed = (rate_b if i >= 2 else rate) * 0.99**epoch
                p[i] = p[i] - speed * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return p


@pytest.mark.parametrize("one_state", [True, False], ids=["one state", "two states"])
def test_published_settings_follow_the_authors_program_step_by_step(one_target, one_state):
    from vvcv.runtime.precision import float64

    variate = KernelVariate(KERNEL, 0.1 * np.eye(2), parametrization="paper", scores="shared")
    settings = BlockCoordinateDescent.as_published(
        epochs=30,
        batch_size=None,
        learning_rate=0.02,
        learning_rate_b=0.005,
        precision="float64",
        shared_state=one_state,
    )
    result = fit(one_target, variate, settings)
    gram = np.asarray(result.problem.space.features[0])
    by_hand = float64(adam_by_hand)(one_target, gram, 0.1 * np.eye(2), 0.02, 0.005, 1e-5, 30, one_state)
    theta, beta, diagonal, below = by_hand
    np.testing.assert_allclose(result.mean, beta, rtol=1e-9)
    np.testing.assert_allclose(result.coefficients, theta, atol=1e-9)
    root = np.diag(np.exp(diagonal))
    root[1, 0] = below
    np.testing.assert_allclose(result.coregionalization, root @ root.T, rtol=1e-9)


def test_replications_together_equal_replications_alone():
    data = replications(2)
    settings = BlockCoordinateDescent(8, batch_size=5)
    together = fit_replications(data, KernelVariate(KERNEL), settings, seeds=[5, 6])
    for index, seed in enumerate((5, 6)):
        alone = fit(data[index], KernelVariate(KERNEL), settings, seed=seed)
        np.testing.assert_allclose(alone.mean, together[index].mean, rtol=1e-9)


def test_nothing_is_compiled_twice_for_other_data_epochs_rates_or_penalties():
    first, second = replications(4)[:2], replications(4)[2:]
    fit_replications(first, KernelVariate(KERNEL), BlockCoordinateDescent(8, batch_size=5))
    count = loop.run._cached._cache_size()
    settings = BlockCoordinateDescent(60, batch_size=5, learning_rate=0.02, decay=0.9, regularization=1e-3)
    fit_replications(second, KernelVariate(SquaredExponential(0.7)), settings, seeds=[8, 9])
    assert loop.run._cached._cache_size() == count


def test_single_precision_gives_the_same_estimate_to_its_own_accuracy(one_target):
    double, single = (
        fit(one_target, KernelVariate(KERNEL), BlockCoordinateDescent(50, precision=precision))
        for precision in ("float64", "float32")
    )
    np.testing.assert_allclose(single.mean, double.mean, rtol=1e-3)
    assert single.mean.dtype == np.float64


@pytest.mark.parametrize("optimizer", [optax.sgd(0.02, momentum=0.9), optax.lion(1e-3)])
def test_any_optax_optimiser_may_take_the_place_of_adam(one_target, optimizer):
    settings = StochasticOptimisation(40, 13, optimizer=optimizer)
    result = fit(one_target, PolynomialVariate(1), settings)
    assert result.path.objective[-1] < result.path.objective[0]


@pytest.mark.parametrize("norm", [2.0, np.inf])
def test_each_norm_minimises_itself(one_target, norm):
    epochs = 1500
    chosen = {
        p: fit(
            one_target,
            PolynomialVariate(1),
            StochasticOptimisation(epochs, None, annealed(0.1, epochs), objective=Variance(p), regularization=0.0),
        )
        for p in (1.0, norm)
    }

    def value(result):
        residual = result.remainder(one_target) - np.repeat(result.mean, one_target.sizes)
        return Variance(norm).value(residual, result.problem.chains)

    assert value(chosen[norm]) <= value(chosen[1.0]) * (1 + 1e-6)


def test_early_stopping_returns_the_state_with_the_least_held_out_objective(one_target):
    settings = StochasticOptimisation(400, 10, 0.05, held_out=0.25, patience=10, regularization=0.0)
    result = fit(one_target, KernelVariate(SquaredExponential(0.5)), settings, seed=1)
    best = int(np.argmin(result.path.held_out))
    assert len(result.path.held_out) < 400
    np.testing.assert_allclose(result.mean, result.path.mean[best], atol=1e-12)


def test_zero_epochs_return_the_plain_averages(one_target):
    result = fit(one_target, KernelVariate(KERNEL), StochasticOptimisation(0))
    np.testing.assert_allclose(result.mean, [task.values.mean() for task in one_target], rtol=1e-12)
    plain = [task.values.std(ddof=1) / np.sqrt(task.size) for task in one_target]
    assert (result.std_error >= 0.999 * np.array(plain)).all()
    assert result.path.mean.shape == (0, 2)


def test_one_task_is_the_scalar_case(one_target):
    alone = Tasks(one_target[0])
    result = fit(alone, KernelVariate(KERNEL), BlockCoordinateDescent(400, learning_rate=0.05))
    assert abs(result.mean[0] - 0.5) < 3 * result.std_error[0] and result.std_error[0] < 0.05
    assert (result.path.coregionalization > 0).all() and result.path.objective[-1] < 0.1 * result.path.objective[0]


def test_a_divergent_learning_rate_is_named(one_target):
    for settings in (
        StochasticOptimisation(50, learning_rate=1e3),
        BlockCoordinateDescent(50, learning_rate=1e3),
    ):
        with pytest.raises(ValueError, match="learning rate.*too large.*Divide"):
            fit(one_target, KernelVariate(KERNEL), settings)


def test_impossible_settings_are_refused_with_a_remedy(one_target):
    variate = KernelVariate(KERNEL)
    with pytest.raises(ValueError, match="batch size.*65.*Use None"):
        fit(one_target, variate, StochasticOptimisation(5, batch_size=100))
    with pytest.raises(ValueError, match="positive definite B"):
        fit(one_target, KernelVariate(KERNEL, np.ones((2, 2))), BlockCoordinateDescent(5))
    with pytest.raises(ValueError, match="epochs must be"):
        StochasticOptimisation(-1)
    with pytest.raises(ValueError, match="learning rate must be positive"):
        StochasticOptimisation(learning_rate=-0.1)
    with pytest.raises(ValueError, match="Use batch_size=None.*Exact"):
        StochasticOptimisation(objective=MarkovChainVariance())
    with pytest.raises(ValueError, match="equal sample sizes"):
        fit_replications([*replications(1), *replications(1, (9, 8))], variate, StochasticOptimisation(5))


def test_an_interrupted_fit_returns_the_best_state_on_request(one_target, monkeypatch):
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return loop.run(*arguments)

    monkeypatch.setattr(descent, "run", interrupted)
    settings = StochasticOptimisation(100, 10, interruptible=True)
    result = fit(one_target, KernelVariate(KERNEL), settings)
    assert len(result.path.objective) == 50
    np.testing.assert_allclose(result.mean, result.path.mean[np.argmin(result.path.objective)], atol=1e-12)
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        fit(one_target, KernelVariate(KERNEL), StochasticOptimisation(100, 10))


def test_the_progress_bar_changes_nothing(one_target, capsys):
    plain, shown = (
        fit(one_target, PolynomialVariate(1), StochasticOptimisation(10, progress=p)) for p in (False, True)
    )
    np.testing.assert_array_equal(plain.mean, shown.mean)


def test_error_bars_of_a_descent_see_overfitting_by_the_jackknife_of_its_minimiser(one_target):
    variate, epochs = KernelVariate(SquaredExponential(0.3)), 3000
    settings = StochasticOptimisation(epochs, None, annealed(0.1, epochs), regularization=1e-4)
    found = fit(one_target, variate, settings)
    exact = fit(one_target, variate, Exact(1e-4, "euclidean"))
    left = np.split(found.remainder(one_target), [40])
    own = np.array([part.std(ddof=1) / np.sqrt(len(part)) for part in left])
    assert (own < 0.5 * exact.std_error).all()
    np.testing.assert_allclose(found.std_error, exact.std_error, rtol=1e-6)


def test_error_bars_of_a_descent_that_stopped_early_are_those_of_its_residuals(one_target):
    found = fit(one_target, PolynomialVariate(2), StochasticOptimisation(1, None, 1e-3, regularization=1e-3))
    left = np.split(found.remainder(one_target), [40])
    own = [part.std(ddof=1) / np.sqrt(len(part)) for part in left]
    np.testing.assert_allclose(found.std_error, own, rtol=1e-9)


def test_a_descent_of_sixty_epochs_has_sixty_on_its_path_and_its_variate_takes_variance_away():
    x = np.random.default_rng(0).standard_normal((12, 1))
    settings = StochasticOptimisation(epochs=60, learning_rate=0.1)
    result = fit(Tasks([Task(x, -x, x[:, 0])]), PolynomialVariate(1), settings)
    assert len(result.path.objective) == 60
    assert np.std(x[:, 0] - result.control_variate(x, -x, 0)) < 0.3 * np.std(x)
