"""The derivative of each criterion in every parameter of a model, kernel, B, axes and noise, by finite differences."""

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.linalg import LinAlgError

from vvcv.kernels import Full, Matern, Own, Separable, Side, SquaredExponential
from vvcv.linear_system.design import Design
from vvcv.linear_system.evaluation import Evaluation, criterion_and_gradient
from vvcv.linear_system.model import Model
from vvcv.linear_system.solution import solve
from vvcv.stein import SteinKernel, SteinSum
from vvcv.tuning.parameters import Parameters
from vvcv.tuning.tune import tune

SIZES = (13, 9)
B = np.array([[1.0, 0.6], [0.6, 2.0]])


def a_design(degree=0, columns=0, tasks=2):
    rng = np.random.default_rng(0)
    sizes = SIZES if tasks == 2 else (sum(SIZES),)
    task = np.repeat(np.arange(tasks), sizes)
    x = rng.normal(size=(sum(sizes), 2))
    values = np.sin(x[:, 0]) + x[:, 1] ** 2 + 0.1 * rng.normal(size=sum(sizes)) + task
    values = values[:, None] + rng.normal(size=(1, columns)) * x[:, :1] if columns else values
    return Design.build(Side(x, -x, task), values, rng.integers(1, 4, size=len(x)).astype(float), tasks, degree)


SCALAR = SteinKernel(SquaredExponential([1.1, 1.6]), 1, [0.3, 0.2])
SEPARABLE = SteinKernel(Separable(Full(B), SquaredExponential([1.1, 1.6])), 1, [0.3, 0.2])
SHARED_AND_OWN = SteinSum(
    (SEPARABLE, *(SteinKernel(Own(Matern([0.9, 0.7], nu=2.5), t), 1, [0.1, 0.2]) for t in range(2)))
)
CASES = {
    "scalar": (Model(SCALAR, 0.05), a_design(tasks=1)),
    "scalar with polynomial columns": (Model(SCALAR, 0.05), a_design(degree=2, tasks=1)),
    "pooled values": (Model(SCALAR, 0.05), a_design(columns=3, tasks=1)),
    "separable": (Model(SEPARABLE, [0.05, 0.2]), a_design()),
    "shared and own": (Model(SHARED_AND_OWN, [0.05, 0.2]), a_design()),
    "shared and own with polynomial columns": (Model(SHARED_AND_OWN, [0.05, 0.2]), a_design(degree=1)),
}


@pytest.mark.parametrize("criterion", ["reml", "loo"])
@pytest.mark.parametrize("name", CASES)
def test_gradient_equals_finite_differences_in_every_parameter(name, criterion):
    model, design = CASES[name]
    value, gradient = criterion_and_gradient(model, design, criterion)
    with jax.enable_x64(True):
        flat, rebuild = ravel_pytree(model)
        flat, slope = np.asarray(flat), np.asarray(ravel_pytree(gradient)[0])
        steps = 1e-5 * np.eye(flat.size)
        expected = [
            (criterion_and_gradient(rebuild(flat + s), design, criterion)[0]
             - criterion_and_gradient(rebuild(flat - s), design, criterion)[0]) / 2e-5
            for s in steps
        ]  # fmt: skip
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    system = solve(model, design)
    same = system.restricted_likelihood() if criterion == "reml" else system.leave_one_out_likelihood()
    assert value == pytest.approx(same, rel=1e-12)


def test_noise_is_relative_to_the_kernel_and_shrinks_with_multiplicity():
    model, design = CASES["separable"]
    w = design.gram.upper(model.kernel)
    covariance = np.triu(w) + np.triu(w, 1).T
    for task, relative in enumerate([0.05, 0.2]):
        rows = design.rows(task)
        weight = design.multiplicity[rows].mean() / design.multiplicity[rows]
        covariance[rows, rows] += relative * np.mean(np.diag(w)[rows]) * weight
    inverse = np.linalg.inv(covariance)
    a = design.columns
    beta = np.linalg.solve(a.T @ inverse @ a, a.T @ inverse @ design.values)
    np.testing.assert_allclose(solve(model, design).coefficients, beta, rtol=1e-10)


def test_free_parameters_and_models_are_two_ways_to_write_one_thing():
    model, _ = CASES["shared and own"]
    parameters = Parameters(model)
    free = parameters.free(model)
    assert parameters.count == free.size == sum(np.size(leaf) for leaf in jax.tree.leaves(model))
    np.testing.assert_array_equal(parameters.free(parameters.model(free)), free)
    assert (parameters.box.low < parameters.box.high).all()


def test_the_gradient_in_tied_parameters_is_the_sum_over_the_tied_entries():
    model, design = CASES["scalar"]
    parameters = Parameters(model, tied={"log_lengthscale", "log_axes"})
    assert parameters.count == 3
    free = parameters.free(model)
    slope = parameters.gradient(criterion_and_gradient(parameters.model(free), design)[1])
    for i in range(3):
        step = 1e-5 * np.eye(3)[i]
        ahead, behind = (criterion_and_gradient(parameters.model(free + s), design)[0] for s in (step, -step))
        assert slope[i] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-6)


def test_tuning_ends_no_worse_than_it_started_and_within_bounds():
    model, design = CASES["scalar"]
    tuned = tune(lambda m: criterion_and_gradient(m, design), model)
    assert tuned.value < criterion_and_gradient(model, design)[0]
    parameters = Parameters(model)
    free = parameters.free(tuned.model)
    assert ((free >= parameters.box.low - 1e-12) & (free <= parameters.box.high + 1e-12)).all()


def test_tuning_an_objective_that_never_factorises_has_a_named_failure():
    def hopeless(_):
        raise LinAlgError("no")

    with pytest.raises(LinAlgError, match="starting values"):
        tune(hopeless, CASES["scalar"][0])


@pytest.mark.parametrize("name", CASES)
def test_the_likeliest_multiple_of_a_model_stands_for_it(name):
    model, design = CASES[name]
    leaves, structure = jax.tree.flatten(model)
    evaluation = Evaluation(model, design, scaled=True)
    value, gradient, factor = evaluation(leaves)
    gradient = [np.array(leaf) for leaf in gradient()]
    parameters = Parameters(model)
    multiplied = parameters.multiplied(parameters.free(model), factor)
    assert value == pytest.approx(criterion_and_gradient(multiplied, design)[0], rel=1e-10)
    assert value <= criterion_and_gradient(model, design)[0]
    again, _, one = evaluation(jax.tree.leaves(multiplied))
    assert (again, one) == (pytest.approx(value, rel=1e-10), pytest.approx(1.0, rel=1e-8))
    free, slope = parameters.free(model), parameters.slope(gradient)
    steps = 1e-5 * np.eye(free.size)
    expected = [
        (evaluation(parameters.leaves(free + s))[0] - evaluation(parameters.leaves(free - s))[0]) / 2e-5 for s in steps
    ]
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_an_evaluation_leaves_nothing_behind_for_the_next(criterion):
    model, design = CASES["shared and own"]
    evaluation, leaves = Evaluation(model, design, criterion), jax.tree.leaves(model)
    value, gradient, _ = evaluation(leaves)
    first = gradient()
    evaluation([leaf + 0.3 for leaf in leaves])  # whose gradient nobody asks for
    evaluation([leaf + 0.2 for leaf in leaves])[1]()
    again, gradient, _ = evaluation(leaves)
    assert value == again
    for one, other in zip(first, gradient(), strict=True):
        np.testing.assert_array_equal(one, other)
