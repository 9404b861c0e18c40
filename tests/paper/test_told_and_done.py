"""What the user says is what is done: forms of B, scores of all tasks, double precision, symmetry, batch sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vvcv.data import Tasks
from vvcv.kernels import Blocks, Custom, Descriptors, Diagonal, Fixed, Full, General, LowRank, SquaredExponential
from vvcv.paper import (
    Alternation,
    BlockCoordinateDescent,
    ConvexSequence,
    Exact,
    KernelVariate,
    StochasticOptimisation,
    fit,
)
from vvcv.paper.batches import make_batches

KERNEL = SquaredExponential(1.5)
LEARNING = [
    BlockCoordinateDescent(30, learning_rate=0.03),
    BlockCoordinateDescent.as_published(epochs=30, learning_rate=0.03),
    Alternation(1e-3, learn_b=True, sweeps=5),
    ConvexSequence(1e-3),
]
NAMES = ["Algorithm 1", "as published", "alternation", "convex sequence"]


@pytest.mark.parametrize("selection", LEARNING, ids=NAMES)
def test_a_fixed_b_stays_where_it_is_and_a_given_matrix_is_only_a_start(one_target, related, selection):
    fixed = fit(one_target, KernelVariate(KERNEL, Fixed(related)), selection)
    np.testing.assert_allclose(fixed.coregionalization, related, rtol=1e-12 if selection in LEARNING[2:] else 1e-6)
    learned = fit(one_target, KernelVariate(KERNEL, related), selection)
    assert np.abs(learned.coregionalization - related).max() > 0.1


def test_algorithm_one_with_a_fixed_b_is_algorithm_two(one_target, related):
    first, second = (
        fit(one_target, KernelVariate(KERNEL, Fixed(related)), kind(20))
        for kind in (BlockCoordinateDescent, StochasticOptimisation)
    )
    np.testing.assert_array_equal(first.mean, second.mean)


def test_the_convex_sequence_takes_a_singular_fixed_b(one_target):
    found = fit(one_target, KernelVariate(KERNEL, Fixed(np.ones((2, 2)))), ConvexSequence(1e-3))
    expected = fit(one_target, KernelVariate(KERNEL, np.ones((2, 2))), Exact(1e-3))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9)


@pytest.mark.parametrize("selection", LEARNING, ids=NAMES)
def test_a_diagonal_b_stays_diagonal_and_moves(one_target, selection):
    b = fit(one_target, KernelVariate(KERNEL, Diagonal([1.0, 2.0])), selection).coregionalization
    assert b[0, 1] == b[1, 0] == 0
    assert np.abs(np.diag(b) - [1.0, 2.0]).min() > 0.1


@pytest.mark.parametrize("selection", LEARNING, ids=NAMES)
def test_blocks_of_tasks_share_within_and_not_between(one_target, selection):
    x = one_target[0].points
    values = np.column_stack([np.sin(x[:, 0]), np.sin(x[:, 0]) + 0.1 * x[:, 1], np.cos(x[:, 1])])
    blocks = Blocks([0.5 + 0.5 * np.eye(2), Fixed([[0.7]])])
    b = fit(Tasks.shared(x, -x, values), KernelVariate(KERNEL, blocks), selection).coregionalization
    assert (b[2, :2] == 0).all() and b[2, 2] == pytest.approx(0.7, rel=1e-6)
    assert abs(b[0, 1] - 0.5) > 0.05


@pytest.mark.parametrize(
    "form",
    [LowRank([[1.0], [0.5]], [0.5, 0.5]), Descriptors([0.0, 1.0], SquaredExponential(1.0), nugget=0.1)],
    ids=["low rank", "descriptors"],
)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_other_forms_are_learned_by_algorithm_one_within_their_form(one_target, form, precision):
    settings = BlockCoordinateDescent(60, learning_rate=0.03, precision=precision)
    result = fit(one_target, KernelVariate(KERNEL, form), settings)
    assert result.path.objective[-1] < 0.5 * result.path.objective[0]
    with pytest.raises(ValueError, match="ties them together.*BlockCoordinateDescent"):
        fit(one_target, KernelVariate(KERNEL, form), ConvexSequence())


def test_a_low_rank_b_keeps_its_rank_when_learned():
    x = np.random.default_rng(0).standard_normal((25, 1))
    tasks = Tasks.shared(x, -x, np.sin(x * [1.0, 1.1, 1.2, 2.0]))
    form = LowRank(np.ones((4, 1)), np.full(4, 1e-12))
    b = fit(tasks, KernelVariate(KERNEL, form), BlockCoordinateDescent(40, learning_rate=0.03)).coregionalization
    assert np.linalg.matrix_rank(b, tol=1e-6) == 1 and np.abs(b - 1).max() > 0.05


def test_the_papers_parametrisation_asks_for_the_scores_of_all_tasks(two_targets, related):
    tasks, scores = two_targets
    with pytest.raises(ValueError, match="score of every task at the points of all tasks.*shared"):
        fit(tasks, KernelVariate(KERNEL, related, parametrization="paper"), Exact(1e-3))
    reduced = fit(tasks, KernelVariate(KERNEL, related), Exact(1e-3))
    full = fit(tasks, KernelVariate(KERNEL, related, parametrization="paper", scores=scores), Exact(1e-3))
    np.testing.assert_allclose(full.mean, reduced.mean, atol=1e-7)
    with pytest.raises(ValueError, match='"shared" for one target'):
        KernelVariate(KERNEL, scores="same")


def test_tasks_on_the_same_points_have_one_target_without_saying_so(one_target, related):
    x = one_target[0].points
    tasks = Tasks.shared(x, -x, np.column_stack([np.sin(x[:, 0]), np.cos(x[:, 0])]))
    means = [
        fit(tasks, KernelVariate(KERNEL, related, parametrization=p), Exact(1e-3)).mean for p in ("paper", "reduced")
    ]
    np.testing.assert_allclose(*means, atol=1e-8)


@pytest.mark.parametrize("form", [Full, Fixed])
def test_a_b_given_as_an_object_keeps_all_its_digits(one_target, form):
    b = np.array([[1.0, 0.8], [0.8, 1.2]]) / 3
    result = fit(one_target, KernelVariate(KERNEL, form(b)), Exact(1e-3))
    np.testing.assert_allclose(result.coregionalization, b, rtol=1e-14)


def test_constants_in_single_precision_are_refused_and_others_keep_their_digits(one_target, related):
    assert jnp.asarray(0.1).dtype == jnp.float32  # the caller's own setting
    rough = jnp.asarray(0.7)
    with pytest.raises(ValueError, match="double precision.*NumPy array"):
        fit(one_target, KernelVariate(Custom(lambda x, y: jnp.exp(-rough * jnp.sum((x - y) ** 2)))), Exact(1e-3))
    inside = Custom(lambda x, y: jnp.exp(-jnp.asarray(0.7) * jnp.sum((x - y) ** 2)))
    exact = SquaredExponential(np.sqrt(0.5 / 0.7))
    found, expected = (fit(one_target, KernelVariate(k, related), Exact(1e-3)).mean for k in (inside, exact))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_an_asymmetric_kernel_is_refused(one_target):
    skew = np.array([[1.0, 0.3], [-0.3, 1.0]])
    with pytest.raises(ValueError, match="must be symmetric.*tasks 0 and 1"):
        fit(one_target, KernelVariate(General(lambda x, y: skew * KERNEL(x, y))), Exact(1e-3))
    with pytest.raises(ValueError, match="must be symmetric"):
        fit(one_target, KernelVariate(Custom(lambda x, y: jnp.exp(x[0] - y[0]))), Exact(1e-3))


def test_batch_sizes_may_be_given_task_by_task(one_target):
    batches = make_batches((40, 25), (8, 10))
    assert batches.per_epoch == 5
    task = np.repeat([0, 1], [40, 25])[batches.positions]
    assert ((task == 0).sum(axis=1) == 8).all() and ((task == 1).sum(axis=1) == 10).all()
    assert set(batches.positions.ravel().tolist()) == set(range(65))
    for t in range(2):  # each batch estimates the average over its task
        np.testing.assert_allclose(np.where(task == t, batches.weights, 0).sum(axis=1), 1.0)
    result = fit(one_target, KernelVariate(KERNEL), StochasticOptimisation(30, (8, 10)))
    assert result.path.objective[-1] < 0.7 * result.path.objective[0]
    for wrong in ((8,), (8, 26), (8, 2.5)):
        with pytest.raises(ValueError, match="one integer for each"):
            fit(one_target, KernelVariate(KERNEL), StochasticOptimisation(1, wrong))
    with pytest.raises(ValueError, match="an integer from 1"):
        fit(one_target, KernelVariate(KERNEL), StochasticOptimisation(1, 2.5))


def test_every_part_of_the_paper_comes_from_one_import_and_no_module_hides_behind_a_function():
    import vvcv
    from vvcv import paper

    assert all(getattr(paper, name).__doc__ or name == "Objective" for name in paper.__all__)
    assert callable(paper.fit) and paper.fit is vvcv.fit and paper.Fit is vvcv.Fit
    for name in paper.__all__:
        assert name in paper._MODULE_OF
    words = paper.__doc__
    for name in ("KernelVariate", "Exact", "BlockCoordinateDescent", "MarkovChainVariance", "CrossFit"):
        assert name in words


def test_the_researchers_import_is_light_until_a_descent_is_asked_for():
    import subprocess
    import sys

    code = "import sys; from vvcv.paper import Exact, fit, Split; assert 'optax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_key_and_integer_seeds_are_both_taken(one_target):
    settings = StochasticOptimisation(3)
    first, second = (fit(one_target, KernelVariate(KERNEL), settings, seed=s).mean for s in (1, jax.random.key(1)))
    assert np.abs(first - second).max() < 0.1


def test_a_degree_that_takes_all_rows_is_refused():
    x = np.random.default_rng(1).normal(size=(6, 1))
    tasks = Tasks.shared(x, -x, np.exp(x))
    assert 0 < fit(tasks, KernelVariate(SquaredExponential(1.0), degree=4), Exact(1e-6)).std_error[0] < 1
    for degree in (5, 20):  # rounding alone was left, and made error bars of 4.1 and 45.3, or of zero
        with pytest.raises(ValueError, match=f"degree {degree} takes all 6 rows"):
            fit(tasks, KernelVariate(SquaredExponential(1.0), degree=degree), Exact(1e-6))
