"""The compiled search takes the steps of Python's: same points, same memory, same model in the end."""

import ctypes
import shutil
import threading

import jax
import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.optimize import rosen, rosen_der

from vvcv.kernels import Full, Matern, Own, Separable, Side, SquaredExponential
from vvcv.linear_system.design import Design
from vvcv.linear_system.evaluation import Evaluation
from vvcv.linear_system.model import Model
from vvcv.linear_system.native import Compiled
from vvcv.runtime.precision import float64
from vvcv.stein import SteinKernel, SteinSum
from vvcv.tuning import compiled, tune
from vvcv.tuning.descent import REMEMBERED, Box, Memory, minimise
from vvcv.tuning.tune import INFEASIBLE, tune_leaves

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

ANYWHERE = Box(np.full(4, -50.0), np.full(4, 50.0), np.full(4, 2.0**-15))
CORNER = Box(np.array([1.0, -9.0, -9.0, -0.5]), np.array([9.0, -2.0, 9.0, 0.5]), np.full(4, 2.0**-12))
SCALES = 10.0 ** np.arange(4)

FUNCTIONS = {
    "a curved valley": (rosen, rosen_der, ANYWHERE, [-1.2, 1.0, -1.2, 1.0]),
    "many scales": (lambda x: 0.5 * x @ (SCALES * x), lambda x: SCALES * x, ANYWHERE, [1.0, 1.0, 1.0, 1.0]),
    "minima at bounds": (lambda x: x @ x, lambda x: 2 * x, CORNER, [20.0, -5.0, 3.0, 0.1]),
    "nothing beyond a wall": (
        lambda x: x @ x if x[0] > 0.9 else np.nan,
        lambda x: 2 * x,
        ANYWHERE,
        [3.0, 0.3, -2.0, 5.0],
    ),
    "a false slope": (lambda x: x @ x, lambda x: -2 * x, ANYWHERE, [1.0, 1.0, 1.0, 1.0]),
    "a slope that is no number": (lambda x: x @ x, lambda x: np.full(4, np.nan), ANYWHERE, [1.0, 1.0, 1.0, 1.0]),
    "waves": (
        lambda x: np.sum(np.cos(3 * x) + 0.1 * x**2),
        lambda x: -3 * np.sin(3 * x) + 0.2 * x,
        ANYWHERE,
        [0.1, 2.0, -4.0, 9.0],
    ),
}


class OfPython:
    """A function and its gradient as C calls them, and the points they were asked at."""

    def __init__(self, value, slope, entries):
        self.asked, self._factor = [], np.array([2.5])
        numbers = ctypes.POINTER(ctypes.c_double)

        @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, numbers)
        def value_at(_, entry):
            self.asked.append(np.array(entry[:entries]))
            return float(value(self.asked[-1]))

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, numbers)
        def slope_at(_, out):
            np.ctypeslib.as_array(out, (entries,))[:] = slope(self.asked[-1])

        self._in_use = value_at, slope_at
        addresses = (ctypes.cast(call, ctypes.c_void_p).value for call in self._in_use)
        self.compiled = Compiled(*addresses, 0, self._factor.ctypes.data)

    def search(self, start, box, most, gain, memory=None, index=None):
        index = np.arange(len(start)) if index is None else index
        return compiled.search(self.compiled, index, np.array(start), box, most, gain, INFEASIBLE, memory)


def by_python(value, slope, start, box, most, gain, memory=None):
    """The same by `minimise`: the points asked, and where it ends."""
    asked = []

    def function(x):
        asked.append(x.copy())
        there = float(value(x))
        found = np.asarray(slope(x), dtype=float)
        usable = np.isfinite(there) and np.isfinite(found).all()
        return there if np.isfinite(there) else INFEASIBLE, lambda: found if usable else np.zeros_like(x)

    return asked, minimise(function, np.array(start), box, most, gain, memory)


@pytest.mark.parametrize("most", [1, 2, 7, REMEMBERED, 60])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_points_asked_for_are_those_of_python(name, most):
    value, slope, box, start = FUNCTIONS[name]
    expected, _ = by_python(value, slope, start, box, most, 1e-6)
    function = OfPython(value, slope, 4)
    best = function.search(start, box, most, 1e-6)
    assert len(function.asked) == len(expected) == best.evaluations <= most
    np.testing.assert_allclose(function.asked, expected, atol=1e-3)
    values = [value(x) for x in function.asked]
    assert best.value == np.nanmin(values) and best.factor == 2.5
    np.testing.assert_array_equal(best.free, function.asked[int(np.nanargmin(values))])


def test_what_was_learnt_goes_in_and_comes_out():
    value, slope, box, start = FUNCTIONS["a curved valley"]
    function, ours, pythons = OfPython(value, slope, 4), Memory(), Memory()
    for _ in range(3):
        expected, end = by_python(value, slope, start, box, 15, 0.0, pythons)
        function.asked.clear()
        start = function.search(start, box, 15, 0.0, ours).free
        np.testing.assert_allclose(function.asked, expected, atol=1e-3)
        np.testing.assert_allclose(start, end, atol=1e-3)
    both = np.zeros((2, 2, REMEMBERED, 4))
    assert ours.read(*both[0]) == pythons.read(*both[1]) == REMEMBERED
    np.testing.assert_allclose(both[0], both[1], atol=1e-2)


def test_entries_that_are_tied_move_together():
    index, aim = np.array([0, 0, 1, 0]), np.array([1.0, 2.0, -3.0, 3.0])
    function = OfPython(lambda e: np.sum((e - aim) ** 2), lambda e: 2 * (e - aim), 4)
    box = Box(np.full(2, -9.0), np.full(2, 9.0), np.full(2, 2.0**-12))
    best = function.search([0.0, 0.0], box, 30, 1e-12, index=index)
    np.testing.assert_allclose(best.free, [2.0, -3.0], atol=1e-3)
    assert all(entry[0] == entry[1] == entry[3] for entry in function.asked)


def test_where_nothing_can_be_evaluated_nothing_is_found():
    best = OfPython(lambda x: np.nan, lambda x: x, 4).search([1.0] * 4, ANYWHERE, 30, 1e-6)
    assert best.value == np.inf and best.evaluations == 1


def two_tasks():
    """Models of one and of two tasks on the same rows, with polynomial columns beside the second."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 3))
    y, task = np.sin(x[:, 0]) + 0.1 * x[:, 1] ** 2, np.repeat([0, 1], 30)
    one = Design.build(Side(x, -x, np.zeros(60, int)), y, np.ones(60), 1)
    two = Design.build(Side(x, -x, task), y * (1 + task), np.ones(60), 2, 1)
    shared = SteinKernel(Separable(Full(np.eye(2)), SquaredExponential(np.ones(3))), 1, np.ones(3))
    own = SteinKernel(Own(Matern(1.5, nu=2.5), 1), 1, [0.1, 0.1, 0.1])
    return {
        "one task": (Model(SteinKernel(SquaredExponential(np.ones(3)), axes=np.ones(3)), 1e-4), one),
        "two tasks": (Model(SteinSum((shared, own)), [1e-4, 1e-3]), two),
    }


@float64
@pytest.mark.parametrize("tied", [(), ("log_lengthscale",)], ids=["free", "tied"])
@pytest.mark.parametrize("name", ["one task", "two tasks"])
def test_a_model_is_tuned_as_by_python(name, tied, monkeypatch):
    model, design = two_tasks()[name]
    ours = tune_leaves(Evaluation(model, design, scaled=True), model, tied, 12)
    monkeypatch.setattr(compiled, "available", lambda: False)
    expected = tune_leaves(Evaluation(model, design, scaled=True), model, tied, 12)
    assert ours.value == pytest.approx(expected.value, abs=1e-6 * abs(expected.value))
    assert ours.free == expected.free and jax.tree.structure(ours.model) == jax.tree.structure(expected.model)
    for leaf, same in zip(jax.tree.leaves(expected.model), jax.tree.leaves(ours.model), strict=True):
        np.testing.assert_allclose(same, leaf, atol=0.02)


@float64
def test_a_model_that_cannot_be_factorised_anywhere_is_an_error():
    x = np.zeros((5, 1))
    design = Design.build(Side(x, -x, np.zeros(5, int)), np.arange(5.0), np.ones(5), 1)
    model = Model(SteinKernel(SquaredExponential(1.0)), 1e-30)
    with pytest.raises(LinAlgError, match="could not be factorised anywhere"):
        tune_leaves(Evaluation(model, design), model, noise_floor=1e-30, max_evaluations=1)


@float64
def test_a_search_that_is_to_stop_looks_at_its_start_alone(monkeypatch):
    model, design = two_tasks()["one task"]
    begun = Evaluation(model, design)([np.asarray(leaf) for leaf in jax.tree.leaves(model)])[0]
    monkeypatch.setattr(tune, "stop_requested", lambda: True)
    assert tune_leaves(Evaluation(model, design), model).value == pytest.approx(begun, rel=1e-2)


@float64
def test_searches_side_by_side_find_the_same():
    model, design = two_tasks()["two tasks"]
    found = [tune_leaves(Evaluation(model, design), model, max_evaluations=30).value]

    def search():
        with jax.enable_x64(True):
            found.append(tune_leaves(Evaluation(model, design), model, max_evaluations=30).value)

    threads = [threading.Thread(target=search) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 7 and len(set(found)) == 1
