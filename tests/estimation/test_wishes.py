"""What a user asks for is what rungs are told: families, orders, time; and names that files and tables can hold."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import vvcv
from vvcv import Task, Tasks
from vvcv.candidates.kernel import Options
from vvcv.data import Prepared
from vvcv.estimation import ladder as module
from vvcv.estimation.control_variate import ControlVariate
from vvcv.estimation.describe import describe
from vvcv.estimation.ladder import Ladder
from vvcv.estimation.netcdf import _label, _plain, _to_dataset, checksum
from vvcv.estimation.run import _best_so_far, _options
from vvcv.estimation.summary import as_source
from vvcv.kernels import SquaredExponential
from vvcv.runtime import threads
from vvcv.runtime.clock import limited, time_left

X = np.random.default_rng(1).normal(size=(20, 1))
TASKS = Tasks.shared(X, -X, np.hstack([X, X**2]), names=["a", "b"])


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (lambda: vvcv.compare(TASKS, None), "methods must be names such as"),
        (lambda: vvcv.estimate(TASKS, check="no"), "check must be True or False, but is 'no'"),
        (lambda: vvcv.estimate(TASKS, check=None), "check must be True or False"),
    ],
)
def test_a_wish_that_is_none_is_refused_by_name(wish, words):
    with pytest.raises(ValueError, match=words):
        wish()


def test_families_are_those_named_and_smooth_enough_for_the_order():
    assert _options(None, "reml", 1).families == ("squared-exponential", "matern-5/2", "matern-3/2")
    assert _options(None, "loo", 2) == Options(("squared-exponential", "matern-5/2"), "loo", 2)
    assert _options("matern-3/2", "reml", 1).families == ("matern-3/2",)
    assert _options(["matern-7/2", "matern-3/2"], "reml", 2).families == ("matern-7/2",)
    own = SquaredExponential(1.0)
    assert _options(own, "reml", 2).families == (own,)
    with pytest.raises(ValueError, match="not smooth enough for order 2"):
        _options("matern-3/2", "reml", 2)
    for wrong in ("cubic", [], ["cubic", "matern-5/2"]):
        with pytest.raises(ValueError, match="must name families"):
            _options(wrong, "reml", 1)


def test_a_rung_leaves_time_to_solve_what_it_has_tuned(monkeypatch):
    waves = Tasks.shared(X, -X, np.hstack([np.sin(3 * X), np.cos(3 * X)]))  # no polynomial tells their means
    ladder, seen = Ladder(Prepared.of(waves), Options()), {}
    monkeypatch.setattr(module, "seconds_to_solve", lambda rows: 40.0)
    monkeypatch.setattr(ladder.fits, "of", lambda method: seen.update(tuning=time_left()) or {})
    monkeypatch.setattr(module, "those_that_work", lambda *a, **k: seen.update(solving=time_left()) or [])
    ladder.candidates("cf")
    assert seen == {"tuning": np.inf, "solving": np.inf}
    with limited(100.0):
        ladder.candidates("cf")
    assert 50 < seen["tuning"] < 61 and 50 < seen["solving"] < 61


def test_only_fits_of_the_task_are_solved_the_most_promising_first_and_those_worth_a_thread_at_once(monkeypatch):
    ladder, asked = Ladder(Prepared.of(TASKS), Options()), []
    monkeypatch.setattr(ladder, "_answers", lambda method, fit, task: [f"{fit.name} of {task}"])

    def at_once_or_not(attempts, required, at_once):
        asked.append((required, at_once))
        return [attempt() for attempt in attempts]

    monkeypatch.setattr(module, "those_that_work", at_once_or_not)
    fits = [
        SimpleNamespace(name=name, members=members, found=SimpleNamespace(merit=merit))
        for name, members, merit in (("good", (0, 1), -1.0), ("other", (1,), -9.0), ("best", (0,), -2.0))
    ]
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 20)
    assert ladder._solved("cf", fits, 0) == ["best of 0", "good of 0"]
    monkeypatch.setattr(threads, "SMALL_SYSTEM", 19)  # too large
    ladder._solved("cf", fits, 0)
    monkeypatch.setattr(threads, "SMALL_SYSTEM", 20)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 21)  # too small
    ladder._solved("cf", fits, 0)
    assert asked == [(False, True), (False, False), (False, False)]


def test_a_stopped_fit_has_the_rungs_that_are_done_if_all_were_asked_for():
    ladder = Ladder(Prepared.of(TASKS), Options())
    assert _best_so_far(ladder, ("auto",), 0.0) is None  # nothing is done
    ladder._finished = [ladder.candidates("mc")]
    assert _best_so_far(ladder, ("zv",), 0.0) is None
    found = _best_so_far(ladder, ("auto",), 0.0)["auto"]
    np.testing.assert_allclose(found.mean, [X.mean(), np.mean(X**2)])


@pytest.mark.parametrize(
    ("level", "degree", "parts", "words"),
    [
        (0, 0, 0, "matern-5/2, all axes alike, scaled axes"),
        (1, 2, 0, "matern-5/2, a weight for each axis, scaled axes + polynomial of degree 2"),
        (2, 0, 3, "matern-5/2, a weight and lengthscale for each axis, scaled axes + polynomials and curves"),
    ],
)
def test_a_fit_in_words(level, degree, parts, words):
    found = SimpleNamespace(
        level=level, family="matern-5/2", system="scaled", model=SimpleNamespace(log_parts=np.zeros(parts))
    )
    assert describe(SimpleNamespace(found=found, degree=degree)) == words
    found.family = SquaredExponential(1.0)
    assert describe(SimpleNamespace(found=found, degree=degree)).startswith("SquaredExponential, ")


def test_files_hold_any_name_and_a_checksum_of_everything_else():
    assert _label("a\0b") == "a\N{REPLACEMENT CHARACTER}b" and _label("\udc80") == "?"
    assert _plain(np.float64(2.0)) == 2.0 and _plain(np.arange(2)) == [0, 1] and _plain("x") == "x"
    data = xr.Dataset({"x": ("i", [1.0, 2.0]), "words": ("i", ["a", "b"])}, attrs={"version": 1})
    same = checksum(data.assign_attrs(checksum="any"))
    assert checksum(data) == same
    changed = [
        data.assign_attrs(version=2),
        data.assign(x=("i", [1.0, 3.0])),
        data.assign(words=("i", ["a", "c"])),
        data.rename(x="y"),
        data.assign(x=("i", np.array([1.0, 2.0], dtype="f4"))),
    ]
    assert len({same, *map(checksum, changed)}) == 6
    found = vvcv.estimate(TASKS, "mc", check=False)
    stored = _to_dataset(found)
    assert stored.attrs["format"] == "vvcv estimate" and stored.attrs["version"] == 1
    np.testing.assert_array_equal(stored["field estimate.mean"].values, found.mean)
    correlation = np.corrcoef(X[:, 0], X[:, 0] ** 2)[0, 1]
    assert stored["field estimate.error_correlation"].values[0, 1] == pytest.approx(correlation)
    loaded = replace(found, tasks=None, error_correlation=np.eye(2))
    np.testing.assert_array_equal(_to_dataset(loaded)["field estimate.error_correlation"].values, np.eye(2))


def test_a_variate_is_called_by_name_or_place_counted_from_either_end():
    answers = [SimpleNamespace(variate=lambda x, s, k=k: k * x[:, 0] + s[:, -1]) for k in (1.0, 10.0)]
    variate = ControlVariate(("a", "b"), answers, 2)
    x, s = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 0.5], [0.0, 0.25]])
    for task, expected in (("b", [10.5, 30.25]), (1, [10.5, 30.25]), (-1, [10.5, 30.25]), (-2, [1.5, 3.25])):
        np.testing.assert_allclose(variate(x, s, task), expected)
    np.testing.assert_allclose(variate(x, s), [1.5, 3.25])
    np.testing.assert_allclose(variate(x[0], s[0], "b"), [10.5])
    for task in (2, -3, "c", 0.5):
        with pytest.raises(ValueError, match="There is no task"):
            variate(x, s, task)
    for wrong in ((x[:, :1], s[:, :1]), (x, s[:1]), (x[None], s[None])):
        with pytest.raises(ValueError, match=r"must have shape \(k, 2\)"):
            variate(*wrong)


def test_a_single_task_may_be_given_alone_or_in_a_list():
    task = Task(X, -X, X[:, 0] ** 2, name="square")
    for given in (task, [task], Tasks([task])):
        found = vvcv.compare(given, ["mc", "zv"], check=False)
        assert list(found) == ["mc", "zv"] and found["zv"].mean[0] == pytest.approx(1.0)


def test_a_summary_takes_tasks_one_task_or_a_list_of_them():
    task = Task(X, -X, X[:, 0], name="x")
    for given in (task, [task], (task,), Tasks([task])):
        assert as_source(given).names == ("x",)
    for wrong in ([], [1.0], None):
        with pytest.raises(ValueError, match="Tasks are needed"):
            as_source(wrong)


@pytest.mark.parametrize(
    ("option", "wrong", "rule"),
    [
        ("kernel", 3, "kernel must name families"),
        ("kernel", [["matern-5/2"]], "kernel must name families"),
        ("kernel", np.eye(2), "kernel must name families"),
        ("device", 3, "device must be None, 'cpu', 'gpu' or a JAX device"),
        ("device", ["cpu"], "device must be None, 'cpu', 'gpu' or a JAX device"),
        ("seconds", "1", "seconds must be a positive time"),
    ],
)
def test_options_of_a_wrong_kind_are_refused_in_words(option, wrong, rule):
    x = np.linspace(-1, 1, 9)
    with pytest.raises(ValueError, match=rule):
        vvcv.estimate(vvcv.Task(x, -x, x**2), "zv", **{option: wrong})


@pytest.mark.parametrize("wrong", ["a", None, [0.5, 0.9], 1.0])
def test_levels_and_probabilities_that_are_none_are_refused_in_words(wrong):
    x = np.linspace(-1, 1, 9)
    tasks = vvcv.Tasks([vvcv.Task(x, -x, x**2, name="square")])
    with pytest.raises(ValueError, match="level is a probability strictly between 0 and 1"):
        vvcv.estimate(tasks, "zv").interval(wrong)
    with pytest.raises(ValueError, match="prob is a probability strictly between 0 and 1"):
        vvcv.quantile(tasks, "square", wrong)
    if wrong != 1.0:
        with pytest.raises(ValueError, match="below must be a number"):
            vvcv.probability(tasks, "square", below=wrong)


def test_misspelt_options_of_a_functional_are_refused_even_where_none_is_needed():
    x = np.linspace(-1, 1, 9)
    with pytest.raises(TypeError, match="methd"):
        vvcv.functional(vvcv.estimate(vvcv.Task(x, -x, x, name="a"), "mc", check=False), lambda m: m["a"], methd="cf")
