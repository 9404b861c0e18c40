"""Starting models: of unit variance, with the B, the noise and the parts they are asked to have."""

from dataclasses import replace

import numpy as np
import pytest

from vvcv.kernels import Custom, Matern, Side, SquaredExponential
from vvcv.linear_system.design import Design
from vvcv.linear_system.evaluation import criterion_and_gradient
from vvcv.stein import PARTS, Ridge, diagonal, task_matrix
from vvcv.tuning.starts import (
    START_NOISE,
    change_family,
    in_other_units,
    on_tasks,
    one_function,
    scalar_model,
    separable_model,
    shared_and_own,
    with_parts,
    without_noise,
)


@pytest.fixture
def design():
    x = np.random.default_rng(0).normal(size=(12, 2))
    task = np.repeat([0, 1], 6)
    return Design(Side(x, -x, task), np.sin(x[:, 0]), np.ones(12), np.eye(2)[task], 2)


def variance(model, design):
    return float(np.mean(diagonal(model.kernel, design.side)))


@pytest.mark.parametrize("family", ["squared-exponential", "matern-5/2", "matern-3/2", SquaredExponential(0.7)])
def test_a_scalar_model_starts_with_the_variance_of_standardised_values(design, family):
    model = scalar_model(family, design, 1.5)
    np.testing.assert_allclose(variance(model, design), 1.0)
    np.testing.assert_allclose(np.exp(model.log_noise), [START_NOISE] * 2)


def test_a_separable_model_starts_with_the_given_relation_of_tasks(design):
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    model = separable_model("squared-exponential", design, 1.5, covariance, noise=1e-4)
    np.testing.assert_allclose(task_matrix(model.kernel.kernel.coregionalization), covariance)
    np.testing.assert_allclose(variance(model, design), 1.0)
    np.testing.assert_allclose(np.exp(model.log_noise), [1e-4] * 2)


def test_tasks_taken_for_one_function_keep_their_variances_and_signs():
    covariance = np.array([[4.0, -1.0, 0.5], [-1.0, 1.0, -0.2], [0.5, -0.2, 9.0]])
    one = one_function(covariance)
    np.testing.assert_allclose(np.diag(one), [4.0, 1.0, 9.0])
    np.testing.assert_allclose(one, np.outer([2, -1, 3], [2, -1, 3]), rtol=1e-5)


def test_one_tasks_kernel_serves_all_with_the_noise_of_each(design):
    own = [scalar_model("squared-exponential", design, 1.0, noise) for noise in (1e-3, 1e-2)]
    model = on_tasks(own[0], np.eye(2), own)
    np.testing.assert_allclose(np.exp(model.log_noise), [1e-3, 1e-3, 1e-2, 1e-2])
    np.testing.assert_allclose(model.kernel.kernel.kernel.log_lengthscale, own[0].kernel.kernel.log_lengthscale)


def test_shared_and_own_parts_make_up_the_variance_that_each_had(design):
    shared = separable_model("squared-exponential", design, 1.0, np.eye(2))
    own = [scalar_model("squared-exponential", design, 2.0) for _ in range(2)]
    model = shared_and_own(shared, dict(enumerate(own)), 0.7)
    expected = 0.7 * diagonal(shared.kernel, design.side) + 0.3 * diagonal(own[0].kernel, design.side)
    np.testing.assert_allclose(diagonal(model.kernel, design.side), expected)
    assert [term.kernel.task for term in model.kernel.terms[1:]] == [0, 1]
    alone = shared_and_own(shared, {1: own[1]}, 0.7)
    assert [term.kernel.task for term in alone.kernel.terms[1:]] == [1]


def test_parts_share_the_variance_or_are_small_beside_it(design):
    design = replace(design, ridge=Ridge.of(*3 * (design.side.points, design.side.scores)))
    model = scalar_model("squared-exponential", design, 1.0)
    alike, small = with_parts(model, design), with_parts(model, design, small=True)
    np.testing.assert_allclose(np.exp(alike.log_parts), 1 / (len(PARTS) + 1))
    np.testing.assert_allclose(variance(alike, design), 1 / (len(PARTS) + 1))
    np.testing.assert_allclose(np.exp(small.log_parts), 1e-3)
    np.testing.assert_allclose(variance(small, design), 1.0)


def test_another_family_keeps_the_lengthscales_and_a_users_kernel_has_none(design):
    model = separable_model("squared-exponential", design, 1.5, np.eye(2))
    rough = change_family(model, "matern-3/2").kernel.kernel.kernel
    assert isinstance(rough, Matern) and rough.nu == 1.5
    np.testing.assert_allclose(np.exp(rough.log_lengthscale), [1.5, 1.5])
    assert change_family(model, Custom(lambda x, y: x @ y)) is model


def test_noise_can_be_set_back_to_where_a_search_starts(design):
    model = without_noise(scalar_model("squared-exponential", design, 1.0, noise=0.3))
    np.testing.assert_allclose(np.exp(model.log_noise), [START_NOISE] * 2)


@pytest.mark.parametrize("family", ["squared-exponential", "matern-5/2"])
def test_a_model_in_other_units_says_the_same(design, family):
    model, unit = scalar_model(family, design, 1.5), np.array([3.0, 0.2])
    side = Side(design.side.points * unit, design.side.scores / unit, design.side.task)
    there = Design(side, design.values, design.multiplicity, design.columns, 2)
    known, _ = criterion_and_gradient(model, design)
    assert criterion_and_gradient(in_other_units(model, unit), there)[0] == pytest.approx(known, rel=1e-9)
    assert abs(criterion_and_gradient(model, there)[0] - known) > 0.1
