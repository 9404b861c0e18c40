"""The mini-batch likelihood's criterion and nugget against their formulas, and kernels as vectors of parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vvcv import Task, Tasks
from vvcv.kernels import General, Side, SquaredExponential
from vvcv.paper import Exact, MarginalLikelihood, MiniBatchMarginalLikelihood, PolynomialVariate, cross_validate
from vvcv.paper import marginal_likelihood as module
from vvcv.paper.cross_validation import median_heuristic
from vvcv.runtime.precision import float64
from vvcv.stein import SteinKernel, gram

RNG = np.random.default_rng(6)
X = RNG.normal(size=(6, 2))
SIDE = Side(X, -X, np.array([0, 0, 0, 1, 1, 1]))
VALUES = RNG.normal(size=6)
STEIN = SteinKernel(SquaredExponential([1.2, 0.8]))


@float64
def test_the_criterion_of_a_batch_is_block_by_task_and_padding_changes_it_by_noise_alone():
    settings = MiniBatchMarginalLikelihood(regularization=0.1, constant=0.7)
    present = np.array([1.0, 1.0, 0.0, 2.0, 2.0, 0.0])
    criterion = jax.jit(lambda values, weights: module._batch_criterion(STEIN, SIDE, values, weights, settings))
    found = criterion(VALUES, present)
    expected = 2 * 0.5 * np.log(1.1)  # two padded rows
    for rows in (np.array([0, 1]), np.array([3, 4])):
        w = gram(STEIN, Side(*(a[rows] for a in SIDE))) + 0.7 + 0.1 * np.eye(2)
        expected += 0.5 * VALUES[rows] @ np.linalg.solve(w, VALUES[rows]) + 0.5 * np.linalg.slogdet(w)[1]
    assert float(found) == pytest.approx(expected, rel=1e-9)


@float64
def test_the_nugget_is_the_first_power_of_ten_that_makes_the_condition():
    settings = MiniBatchMarginalLikelihood(regularization=1e-6, condition=1e3)
    nugget = jax.jit(lambda diagonal: module._nugget(settings, jnp.diag(diagonal)))
    for low, expected in ((1.0, 1e-6), (0.0, 1e-2), (-1e-3, 1e-2)):
        assert float(nugget(np.array([low, 2.0]))) == pytest.approx(expected)


def test_the_likelihood_of_all_data_is_its_formula_with_its_constant():
    tasks = Tasks([Task(X[:3], -X[:3], VALUES[:3]), Task(X[3:], -X[3:], VALUES[3:])])
    expected = 0.0
    for rows in (slice(0, 3), slice(3, 6)):
        w = gram(STEIN, Side(*(a[rows] for a in SIDE))) + 0.5 + 0.2 * np.eye(3)
        expected -= 0.5 * VALUES[rows] @ np.linalg.solve(w, VALUES[rows]) + 0.5 * np.linalg.slogdet(w)[1]
    found = module.log_marginal_likelihood(STEIN.kernel, tasks, 0.2, constant=0.5)
    assert found == pytest.approx(expected, rel=1e-9)
    chosen = module.maximise_marginal_likelihood(STEIN.kernel, tasks, MarginalLikelihood(0.2, constant=0.5, reach=0.05))
    assert chosen.before == pytest.approx(expected, rel=1e-9) and chosen.after >= chosen.before
    moved = module._flatten(chosen.kernel)[0] - module._flatten(STEIN.kernel)[0]
    assert 0 < np.abs(moved).max() <= 0.05 + 1e-9


def test_a_kernel_is_a_vector_of_its_parameters_and_back():
    vector, rebuild = module._flatten(SquaredExponential([1.2, 0.8]))
    np.testing.assert_allclose(np.sort(np.exp(vector)), np.sort(np.exp(module._flatten(rebuild(vector))[0])))
    assert module._flatten(rebuild(vector + 1))[0].tolist() == (vector + 1).tolist()
    still = General(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)) * jnp.eye(2))
    assert module._flatten(still)[0].size == 0
    tasks = Tasks([Task(X, -X, VALUES)])
    assert MarginalLikelihood().choose(still, tasks, 0) is still


@float64
def test_related_tasks_are_one_block():
    tasks = Tasks([Task(X[:3], -X[:3], VALUES[:3]), Task(X[3:], -X[3:], VALUES[3:])])
    assert [rows.tolist() for rows in module._blocks(STEIN, tasks)] == [[0, 1, 2], [3, 4, 5]]
    related = SteinKernel(General(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)) * jnp.ones((2, 2))))
    assert [rows.tolist() for rows in module._blocks(related, tasks)] == [list(range(6))]


def test_cross_validation_averages_the_objective_over_its_folds():
    x = RNG.normal(size=(12, 1))
    tasks = Tasks.shared(x, -x, x**3)
    found = cross_validate(
        tasks, {"line": (PolynomialVariate(1), Exact(0)), "cube": (PolynomialVariate(3), Exact(0))}, 3
    )
    assert found.best == "cube" and found.objectives["cube"] < 1e-12
    from vvcv.paper import fit
    from vvcv.paper.splits import folds

    by_hand = []
    for others, fold, _ in folds(tasks, 3, 0):
        line = fit(others, PolynomialVariate(1), Exact(0))
        left = fold[0].values - line.control_variate(fold[0].points, fold[0].scores, 0) - line.mean[0]
        by_hand.append(np.mean(left**2))
    assert found.objectives["line"] == pytest.approx(np.mean(by_hand), rel=1e-9)
    with pytest.raises(ValueError, match="needs candidates"):
        cross_validate(tasks, {})


def test_the_median_distance_is_that_of_a_fixed_subset_of_many_points(monkeypatch):
    monkeypatch.setattr("vvcv.paper.cross_validation.MEDIAN_POINTS", 5)
    points = RNG.normal(size=(6, 1))
    chosen = points[np.random.default_rng(1).choice(6, 5, replace=False)]
    assert median_heuristic(points, seed=1) == median_heuristic(chosen)
    distances = np.abs(points[:5] - points[:5].T)[np.triu_indices(5, 1)]
    assert median_heuristic(points[:5]) == pytest.approx(np.median(distances))
    assert median_heuristic(np.array([[0.0], [0.0], [2.0]])) == 2.0  # repeated points are not at a distance


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epochs", (-1, 2.5, "a", None)),
        ("batch_size", (0, -3, 2.5, None)),
        ("learning_rate", (0, -1, np.nan, "a")),
        ("decay", (0, -1, np.inf, "a")),
        ("regularization", (0, -1, np.nan, None)),
        ("condition", (0, 0.5, 1, np.nan)),
        ("constant", (-1, np.inf, "a")),
        ("smallest", (0, -1, np.nan)),
        ("order", (0, 3, "first")),
        ("evaluations", (0, -1, 2.5)),
        ("reach", (0, -1, np.nan)),
    ],
)
def test_settings_that_mean_nothing_are_refused(name, values):
    """Negative rates and decays, and conditions below one, gave some kernel in silence."""
    takes = [way for way in (MarginalLikelihood, MiniBatchMarginalLikelihood) if hasattr(way, name)]
    for way in takes:
        for value in values:
            with pytest.raises(ValueError, match="must be"):
                way(**{name: value})


def test_whole_settings_may_be_floats_and_a_singular_covariance_is_told_in_words():
    assert MiniBatchMarginalLikelihood(epochs=np.float64(3), batch_size=4.0).batch_size == 4
    x = np.linspace(-1, 1, 40)[:, None]
    with pytest.raises(ValueError, match="Raise the regularization"):
        module.log_marginal_likelihood(SquaredExponential(3.0), Tasks.shared(x, -x, x), 0.0)
