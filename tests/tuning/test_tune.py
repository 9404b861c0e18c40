"""The free numbers of a model, and the search over them: ties, bounds, steps back, the best point seen."""

import equinox as eqx
import numpy as np
import pytest
from scipy.linalg import LinAlgError

from vvcv.kernels import Full, Separable, SquaredExponential
from vvcv.linear_system.model import Model
from vvcv.stein import SteinKernel
from vvcv.tuning.parameters import BOUNDS, FINE_GRID, GRID, Parameters
from vvcv.tuning.tune import tune


def a_model(lengthscales=(1.0, 2.0), axes=(3.0, 4.0), noise=1e-3):
    return Model(SteinKernel(SquaredExponential(np.array(lengthscales)), axes=np.array(axes)), noise=noise)


def quadratic(goal):
    """Half the squared distance of all leaves from those of `goal`, and its gradient."""
    free = Parameters(goal)

    def objective(model):
        step = free.free(model) - free.free(goal)
        return 0.5 * float(step @ step), free.model(step)

    return objective


def on_grid(model):
    """The nearest model that a search can end at."""
    parameters = Parameters(model)
    return parameters.model(parameters.box.nearest(parameters.free(model)))


def test_a_model_is_its_free_vector_and_back():
    model = a_model()
    parameters = Parameters(model)
    assert parameters.count == 5
    np.testing.assert_allclose(np.sort(parameters.free(model)), np.sort(np.log([1, 2, 3, 4, 1e-3])))
    assert eqx.tree_equal(parameters.model(parameters.free(model)), model)


def test_tied_entries_are_averaged_and_their_gradients_add_up():
    model = a_model()
    tied = Parameters(model, {"log_lengthscale"})
    place = tied.names.index("log_lengthscale")
    assert tied.count == 4
    np.testing.assert_allclose(tied.free(model)[place], np.log(2) / 2)
    np.testing.assert_allclose(tied.gradient(model)[place], np.log(2))
    np.testing.assert_allclose(tied.model(tied.free(model)).kernel.kernel.log_lengthscale, np.full(2, np.log(2) / 2))


def test_every_number_has_the_bounds_of_its_kind_and_noise_its_floor():
    parameters = Parameters(a_model(), {"log_lengthscale"}, noise_floor=1e-5)
    expected = {"log_lengthscale": BOUNDS["log_lengthscale"], "log_axes": BOUNDS["log_axes"]}
    expected["log_noise"] = (np.log(1e-5), 2.0)
    counts = {"log_lengthscale": 1, "log_axes": 2, "log_noise": 1}
    rows = [expected[name] for name in parameters.names for _ in range(counts.get(name, 0))]
    np.testing.assert_allclose(np.column_stack([parameters.box.low, parameters.box.high]), rows)
    assert (parameters.box.grid == GRID).all()


def test_factors_of_task_matrices_lie_on_a_finer_grid():
    scalar = a_model()
    kernel = SteinKernel(Separable(Full(np.eye(2)), scalar.kernel.kernel), axes=np.ones(2))
    parameters = Parameters(Model(kernel, np.full(2, 1e-3)))
    fine = [parameters.box.grid[i] == FINE_GRID for i in range(parameters.count)]
    assert sum(fine) == 3 and FINE_GRID < GRID / 100


def test_the_search_ends_at_the_minimum():
    goal = on_grid(a_model((0.5, 3.0), (1.0, 2.0), 1e-2))
    found = tune(quadratic(goal), a_model())
    assert found.free == 5 and found.value < 1e-6
    np.testing.assert_allclose(np.exp(found.model.kernel.kernel.log_lengthscale), [0.5, 3.0], rtol=1e-2)


def test_tied_numbers_move_together_to_the_best_that_they_can_share():
    found = tune(quadratic(a_model((1.0, 4.0))), a_model((1.0, 1.0)), tied={"log_lengthscale"})
    np.testing.assert_allclose(np.exp(found.model.kernel.kernel.log_lengthscale), [2.0, 2.0], rtol=1e-2)


def test_a_start_out_of_bounds_is_moved_inside_and_the_noise_stays_above_its_floor():
    found = tune(quadratic(a_model(noise=1e-9)), a_model(noise=1e-12), noise_floor=1e-4)
    np.testing.assert_allclose(np.exp(found.model.log_noise), 1e-4)


def test_a_search_steps_back_from_where_the_matrix_cannot_be_factorised_or_numbers_overflow():
    goal = a_model((4.0, 4.0))
    inside = quadratic(goal)

    def objective(model):
        length = float(np.exp(model.kernel.kernel.log_lengthscale[0]))
        if length > 3:
            raise LinAlgError("not positive definite")
        value, gradient = inside(model)
        return (np.nan, gradient) if length > 2.5 else (value, gradient)

    found = tune(objective, a_model((1.0, 1.0)))
    assert 1.0 < float(np.exp(found.model.kernel.kernel.log_lengthscale[0])) <= 2.5
    assert found.value < inside(a_model((1.0, 1.0)))[0]


def test_a_start_that_cannot_be_factorised_is_an_error():
    def never(model):
        raise LinAlgError("not positive definite")

    with pytest.raises(LinAlgError, match="near the starting values"):
        tune(never, a_model())


def test_the_best_point_is_kept_where_evaluations_run_out():
    goal, seen = a_model((0.1, 30.0)), []
    objective = quadratic(goal)

    def noted(model):
        value, gradient = objective(model)
        seen.append(value)
        return value, gradient

    found = tune(noted, a_model(), max_evaluations=2)
    assert len(seen) <= 4 and found.value == min(seen)
