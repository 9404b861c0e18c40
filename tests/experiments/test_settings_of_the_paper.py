"""The settings of appendix E, number by number: rates, epochs, batches, penalties, tuning, task matrices."""

import numpy as np
import pytest

from vvcv.experiments import evidence, lotka_volterra, step, synthetic
from vvcv.experiments.experiment import Cell
from vvcv.paper import BlockCoordinateDescent, StochasticOptimisation

#: Recipe, cell, then rate, epochs, batch (rows of all tasks), lambda, and tuning: epochs, batch, rate.
RECIPES = {
    "step": (step.recipe(), Cell.of(m=40), 3e-4, 400, 10, 1e-5, (15, 10, 0.02)),
    "step, polynomial": (step.recipe(polynomial=True), Cell.of(m=40), 3e-4, 400, 10, 1e-5, None),
    "synthetic": (synthetic.recipe(), Cell.of(variance=1.25), 1e-3, 400, 10, 1e-3, (30, 10, 0.05)),
    "evidence": (evidence.recipe(learn_b=True), Cell.of(samples=20), 1e-2, 400, 20, 1e-3, None),
    "evidence, scalar": (evidence.recipe(learn_b=False), Cell.of(samples=20), 1e-2, 400, 5, 1e-3, None),
    "hares": (lotka_volterra.recipe(), Cell.of(T=5, m=500), 1e-3, 400, 50, 1e-5, (10, 10, 0.01)),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_have_the_numbers_of_the_appendix(name):
    recipe, cell, rate, epochs, batch, penalty, tuning = RECIPES[name]
    chosen = recipe.selection(cell)
    assert (chosen.learning_rate, chosen.epochs, chosen.batch_size) == (rate, epochs, batch)
    assert chosen.regularization == penalty and chosen.penalty == "euclidean"
    found = recipe.tuning and (recipe.tuning.epochs, recipe.tuning.batch_size, recipe.tuning.learning_rate)
    assert found == tuning


def test_all_rows_have_the_authors_optimiser():
    for learn_b, kind in ((False, StochasticOptimisation), (True, BlockCoordinateDescent)):
        chosen = lotka_volterra.recipe(learn_b).selection(Cell.of(T=2, m=500))
        assert type(chosen) is kind and chosen.precision == "float32"
        np.testing.assert_allclose(chosen.rates(3), 1e-3 * np.array([1, 0.99, 0.99**2]))
    assert chosen.shared_state and chosen.b_first and chosen.learning_rate_b == 2e-5
    published = BlockCoordinateDescent.as_published()
    assert (published.decay, published.precision, published.shared_state, published.b_first) == (
        0.99,
        "float32",
        True,
        True,
    )
    assert BlockCoordinateDescent.as_published(decay=0.5).decay == 0.5


def test_task_matrices_are_those_of_the_appendix():
    np.testing.assert_array_equal(step.FIXED_B, [[0.5, 0.01], [0.01, 0.5]])
    hares = lotka_volterra.recipe().coregionalization(Cell.of(T=2, m=500))
    np.testing.assert_allclose(hares, [[5e-4, 5e-5], [5e-5, 5e-4]], rtol=0.11)
    assert step.recipe().coregionalization is None  # B starts at the identity


def test_step_has_a_row_for_the_polynomial_kernel_with_b_fixed():
    assert "vv_polynomial_fixed_B" in step.Step().methods(True)
