"""Evaluations by compiled code are those of NumPy, for every kernel, form of B, column and part."""

import shutil
import threading
import weakref

import jax
import numpy as np
import pytest
from scipy.linalg import LinAlgError

import vvcv
from vvcv.kernels import (
    Blocks,
    Descriptors,
    Diagonal,
    Fixed,
    Full,
    LowRank,
    Matern,
    Own,
    RationalQuadratic,
    Separable,
    Side,
    SquaredExponential,
)
from vvcv.linear_system import evaluation, native
from vvcv.linear_system.design import Design
from vvcv.linear_system.evaluation import Evaluation
from vvcv.linear_system.model import Model
from vvcv.runtime.precision import float64
from vvcv.stein import SteinKernel, SteinSum
from vvcv.stein.ridge import Ridge

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

SIZES = (13, 9, 22)
RNG = np.random.default_rng(0)
B = RNG.normal(size=(3, 3))
SCALARS = {
    "squared exponential": SquaredExponential([1.1, 1.6, 0.7]),
    "one lengthscale": SquaredExponential(1.3),
    **{f"Matern {nu}": Matern([1.1, 1.6, 0.7], nu=nu) for nu in (1.5, 2.5, 3.5)},
}
OTHER_FORMS = {
    "diagonal": Diagonal([1.0, 0.2, 3.0]),
    "fixed": Fixed(B @ B.T),
    "blocks": Blocks([[[1.0, 0.5], [0.5, 2.0]], [[0.5]]]),
    "low rank": LowRank(B[:, :1], [1.0, 0.5, 0.3]),
    "descriptors": Descriptors([[0.0], [0.4], [1.0]], SquaredExponential(1.0)),
}


def a_design(columns=0, degree=0, tasks=3, parts=False, twins=False):
    rng = np.random.default_rng(1)
    sizes = SIZES if tasks == 3 else (sum(SIZES),)
    x = rng.normal(size=(sum(SIZES), 3))
    if twins:  # the same point but for a rounding
        x[1] = x[0] * (1 + 1e-16)
    values = np.sin(x[:, 0]) + x[:, 1] ** 2
    values = values[:, None] * rng.normal(size=columns) + x[:, :1] if columns else values
    ridge = Ridge.of(x, -x, x, -x, x, -x) if parts else None
    side, multiplicity = Side(x, -x, np.repeat(np.arange(tasks), sizes)), rng.integers(1, 4, size=len(x)).astype(float)
    return Design.build(side, values, multiplicity, tasks, degree, ridge)


def several(form):
    return SteinKernel(Separable(form, SCALARS["squared exponential"]), 1, [0.3, 0.2, 1.4])


OWN = [SteinKernel(Own(Matern(0.9, nu=1.5), t), 1, [0.1, 0.2, 0.3]) for t in (0, 2)]
SHARED_AND_OWN = SteinSum((several(Full(B @ B.T)), *OWN))
ONE = SteinKernel(SCALARS["squared exponential"])
CASES = {
    **{name: (Model(SteinKernel(scalar), 1e-3), a_design(tasks=1)) for name, scalar in SCALARS.items()},
    "several tasks": (Model(several(Full(B @ B.T)), [0.05, 0.2, 1e-3]), a_design()),
    "one weight": (Model(SteinKernel(SquaredExponential([1.0, 2.0, 3.0]), 1, 0.7), 1e-3), a_design(tasks=1)),
    "shared and own": (Model(SHARED_AND_OWN, [0.05, 0.2, 0.1]), a_design()),
    "columns": (Model(SHARED_AND_OWN, [0.05, 0.2, 0.1]), a_design(degree=1)),
    "several values": (Model(ONE, 1e-4), a_design(columns=4, degree=2, tasks=1)),
    "parts": (Model(ONE, 1e-3, np.exp(RNG.normal(size=7))), a_design(tasks=1, parts=True)),
    "twins": (Model(SteinKernel(SCALARS["Matern 1.5"]), 1e-3), a_design(tasks=1, twins=True)),
}


def homes(model, design, scaled):
    by_numpy = evaluation._OnHost(model, design, "reml", scaled)
    return by_numpy, native.NativeLikelihood(model.kernel, model.log_parts.size, design, scaled)


def test_the_library_is_built_where_there_is_a_compiler():
    assert native.serves(ONE, 100) and isinstance(Evaluation(*CASES["twins"])._home, native.NativeLikelihood)


@float64
@pytest.mark.parametrize("scaled", [True, False], ids=["scaled", "as it is"])
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient_are_those_of_numpy(name, scaled):
    model, design = CASES[name]
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(model)]
    expected, found = ((home.at(leaves), home.gradient()) for home in homes(model, design, scaled))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    size = max(np.max(np.abs(slope), initial=0.0) for slope in expected[1])
    for slope, same in zip(expected[1], found[1], strict=True):
        assert np.shape(slope) == np.shape(same)
        np.testing.assert_allclose(same, slope, rtol=1e-9, atol=1e-11 * size)


@float64
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 16, 81, 200])
def test_any_number_of_rows_and_axes_is_served(rows):
    for d in (1, 2, 9):
        x = np.random.default_rng(rows).normal(size=(rows, d))
        design = Design.build(Side(x, -x, np.zeros(rows, int)), np.sin(x[:, 0]), np.ones(rows), 1)
        model = Model(SteinKernel(SquaredExponential(1.5)), 1e-4)
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(model)]
        by_numpy, compiled = homes(model, design, scaled=False)
        np.testing.assert_allclose(compiled.at(leaves)[0], by_numpy.at(leaves)[0], rtol=1e-10, atol=1e-10)
        for slope, same in zip(by_numpy.gradient(), compiled.gradient(), strict=True):
            np.testing.assert_allclose(same, slope, rtol=1e-8, atol=1e-9)


@float64
def test_turned_axes_give_the_same_to_the_last_bit():
    (model, design), turn = CASES["shared and own"], np.array([1.0, -1.0, -1.0])
    side = Side(design.side.points * turn, design.side.scores * turn, design.side.task)
    turned = Design.build(side, design.values, design.multiplicity, 3)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(model)]
    results = []
    for rows in (design, turned):
        home = native.NativeLikelihood(model.kernel, 0, rows, scaled=True)
        results.append((home.at(leaves), home.gradient()))
    assert results[0][0] == results[1][0]
    for slope, same in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_array_equal(slope, same)


def test_what_it_has_the_address_of_is_kept_whatever_others_do_with_the_design():
    model, design = CASES["parts"]
    ridge = design.rows_of_ridge
    home = native.NativeLikelihood(model.kernel, model.log_parts.size, design, scaled=False)
    part = weakref.ref(ridge.matrices)
    del vars(ridge)["matrices"]  # as a thread that makes it a second time
    assert part() is not None
    del home
    assert part() is None


@float64
def test_what_cannot_be_factorised_is_an_error_as_in_numpy():
    x = np.zeros((5, 1))
    design = Design.build(Side(x, -x, np.zeros(5, int)), np.arange(5.0), np.ones(5), 1)
    model = Model(SteinKernel(SquaredExponential(1.0)), 1e-30)
    for home in homes(model, design, scaled=False):
        with pytest.raises(LinAlgError, match="not positive definite"):
            home.at([np.asarray(leaf) for leaf in jax.tree.leaves(model)])


def test_a_task_that_b_has_no_row_for_is_refused_before_any_memory_is_read():
    model = Model(several(Full(np.eye(2))), [0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match="B must have a row for every task"):
        Evaluation(model, a_design())


@float64
def test_a_model_without_all_numbers_is_left_to_numpy():
    rows, three = a_design(tasks=1), a_design()
    for model, design in (
        (Model(several(Full(B @ B.T)), 0.1), three),
        (Model(SteinKernel(SquaredExponential([1.0, 2.0])), 0.1), rows),
        (Model(SteinKernel(SquaredExponential(1.0), 1, [0.1, 0.2]), 0.1), rows),
    ):
        assert native.serves(model.kernel, design.size) and Evaluation(model, design).compiled is None
    leaves = jax.tree.leaves(Model(several(Full(B @ B.T)), 0.1))
    alike = jax.tree.leaves(Model(several(Full(B @ B.T)), [0.1, 0.1, 0.1]))
    by_numpy = Evaluation(Model(several(Full(B @ B.T)), 0.1), three)([np.asarray(leaf) for leaf in leaves])[0]
    assert by_numpy == pytest.approx(Evaluation(Model(several(Full(B @ B.T)), [0.1] * 3), three)(alike)[0], rel=1e-10)


@float64
def test_searches_side_by_side_do_not_disturb_each_other():
    model, design = CASES["columns"]
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(model)]
    expected, found = Evaluation(model, design)(leaves)[0], []

    def search():
        evaluate = Evaluation(model, design)
        found.extend(evaluate([leaf + 0.0 for leaf in leaves])[0] for _ in range(200))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 800


def test_what_it_does_not_know_and_what_is_large_is_left_to_others():
    assert not native.serves(SteinKernel(RationalQuadratic(1.0)), 50)
    assert not native.serves(SteinKernel(SquaredExponential(1.0), 2), 50)
    assert not native.serves(ONE, native.MOST_ROWS + 1)
    assert not any(native.serves(several(form), 50) for form in OTHER_FORMS.values())
    assert native.serves(several(Full(B @ B.T)), 50)


def test_without_it_the_answer_is_the_same(monkeypatch):
    x = np.random.default_rng(3).normal(size=(60, 2))
    task = vvcv.Task(x, -x, np.cos(2 * x[:, 0]) * x[:, 1])
    usual = vvcv.estimate(task, "cf", check=False)
    monkeypatch.setattr(native, "_library", lambda: None)
    assert not native.serves(ONE, 60)
    other = vvcv.estimate(task, "cf", check=False)
    assert other.mean[0] == pytest.approx(usual.mean[0], abs=0.1 * usual.std_error[0])
    assert other.std_error[0] == pytest.approx(usual.std_error[0], rel=0.05)
