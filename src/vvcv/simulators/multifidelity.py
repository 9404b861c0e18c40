"""Run models of several costs and estimate the mean of each from the runs of all.

Every model runs at points of its own. Models that ran at the same points could not tell one another anything about
the inputs between them (without noise, the estimate at shared points does not depend on the task matrix B at all);
at different points a cheap model shows the dear one what the function looks like where it was not run.
"""

from __future__ import annotations

import inspect
import math
import os
import reprlib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from textwrap import shorten
from typing import Any

import numpy as np

from ..data import Task, Tasks, require
from ..data.validation import LARGEST
from ..estimation import Estimate, estimate
from ..estimation.run import check_options
from ..inputs import Inputs
from ..inputs.tables import warn_of_failures
from ..runtime.caller import warn_caller
from ..runtime.progress import progress_bar
from .store import Run, Store, open_store
from .written import is_otherwise, written

Model = Callable[..., Any]
Path = str | os.PathLike[str]

#: Letters of a failure that messages show: a solver may raise all that it has printed, and the store has it whole.
LONGEST_REASON = 300


def multifidelity(
    models: Mapping[str, Model],
    inputs: Inputs,
    runs: Mapping[str, int],
    *,
    store: Path | None,
    seed: int = 0,
    design: str = "random",
    retry: bool = False,
    **options: Any,
) -> Estimate:
    """Run each model so many times under uncertain inputs, and estimate the mean of every model.

    A model is called as `model(**x)`, one run at a time, with a number for each input by its name, and returns one
    number. The first run of each comes first: one that gives anything but a number ends the call, before time is spent.
    Every finished run is kept in the file `store` at once: called again after a crash or a kill, this goes on where it
    stopped, and with more `runs` it adds to them (not in a Latin hypercube, whose points all depend on their number). A
    run that raises or gives no finite number is kept as failed, left out with a warning, and made again only with
    `retry=True`. `design` is "random", "latin-hypercube" or "sobol"; `options` go to `vvcv.estimate`. `store=None`
    keeps nothing.

    >>> from vvcv import inputs
    >>> given = inputs.independent(a=inputs.uniform(0, 1), b=inputs.exponential(2))
    >>> models = {"cheap": lambda a, b: a + 0.9 * b, "dear": lambda a, b: a + b + a * b / 50}
    >>> est = multifidelity(models, given, runs={"cheap": 60, "dear": 12}, store=None, method="secf")
    >>> bool(abs(est.mean[1] - 2.52) < 0.05)
    True
    """
    check_options(**options)  # not after hours of runs
    settings: dict[str, Any] = {"store": store, "seed": seed, "design": design, "retry": retry}
    return estimate(run_models(models, inputs, runs, **settings), **options)


def run_models(
    models: Mapping[str, Model],
    inputs: Inputs,
    runs: Mapping[str, int],
    *,
    store: Path | None,
    seed: int = 0,
    design: str = "random",
    retry: bool = False,
) -> Tasks:
    """The runs of `multifidelity` as tasks, without the estimate; runs that the store has are not made again.

    >>> from vvcv import inputs
    >>> given = inputs.independent(a=inputs.uniform(0, 1))
    >>> run_models({"square": lambda a: a**2}, given, {"square": 8}, store=None)
    Tasks(T=1, d=1, n=[8])
    """
    _check_arguments(models, inputs, runs, seed)
    settings = {"inputs": repr(inputs), "seed": str(int(seed)), "design": design}
    points = {name: _points(inputs, runs[name], seed, design, name) for name in models}
    with open_store(store, settings) as kept:
        _check_points(kept, inputs, points)
        _warn_of_other_code(models, points, kept)
        _run_missing(models, inputs, points, kept, retry)
        return Tasks([_task(name, inputs, runs[name], kept) for name in models])


def _run_missing(
    models: Mapping[str, Model], inputs: Inputs, points: Mapping[str, np.ndarray], kept: Store, retry: bool
) -> None:
    todo = [(name, i) for name in models for i in range(len(points[name])) if _is_missing(kept, name, i, retry)]
    first, codes = set(dict(reversed(todo)).items()), {name: written(model) for name, model in models.items()}
    todo.sort(key=lambda run: run not in first)  # what is wrong with one model is found before hours of the others
    with progress_bar("running models", len(todo)) as step:
        for name, i in todo:
            x = tuple(float(value) for value in points[name][i])
            run, returned = _run(models[name], name, i, dict(zip(inputs.names, x, strict=True)))
            kept.add(replace(run, code=codes[name]))
            require(
                run.value is not None or returned is None or _has_succeeded(kept, name),
                f"A model must return one number, but {name!r} returned {returned}. Mend the model, then retry=True; "
                "finished runs are in the store, if there is one.",
            )
            step(1, name)


def _run(model: Model, name: str, number: int, x: dict[str, float]) -> tuple[Run, str | None]:
    """One run, and what the model returned if it is no number; a model that always does has a mistake in its code.

    Whatever the model raises is its failure, not ours, and so is its leaving by `sys.exit`, as the main functions of
    programs do. Ctrl-C is the user's, and ends everything.
    """
    place = tuple(x.values())
    try:
        result = model(**x)
    except (Exception, SystemExit) as error:
        return Run(name, number, place, None, f"{type(error).__name__}: {_words(error)}"), None
    try:
        # NumPy makes a zero of a masked number, as readers of netCDF give it for one that is missing.
        value = math.nan if np.ma.is_masked(result) else _number(result)
    except Exception:
        returned = f"{' '.join(reprlib.repr(result).split())}, a {type(result).__name__}"
        return Run(name, number, place, None, f"no number but {returned}"), returned
    good = abs(value) <= LARGEST  # a larger one would be refused with all runs, and nan is none
    return (Run(name, number, place, value) if good else Run(name, number, place, None, f"value {value}")), None


def _words(error: BaseException) -> str:
    """What an exception says; some of compiled solvers cannot say it."""
    try:
        return str(error)
    except Exception as other:
        return f"which cannot be shown ({type(other).__name__})"


def _number(result: Any) -> float:
    """The one number that a model returned; of a span of time it is unknown in which unit.

    >>> _number(np.array([2.5]))
    2.5
    """
    found = np.asarray(result)
    found = np.asarray(found.item()) if found.dtype == object else found
    if found.dtype.kind in "mM":  # NumPy makes a number of those in nanoseconds alone
        raise TypeError("Dates and spans of time are no numbers.")
    return float(found.item())


def _has_succeeded(kept: Store, name: str) -> bool:
    return any(run.value is not None for run in kept.runs.values() if run.model == name)


def _task(name: str, inputs: Inputs, n: int, kept: Store) -> Task:
    found = [kept.runs[name, i] for i in range(n)]
    failed = [run for run in found if run.value is None]
    reason = shorten(failed[0].error or "", LONGEST_REASON, placeholder=" ...") if failed else ""
    if failed:
        warn_of_failures(len(failed), len(found), name, f"first: run {failed[0].number}, {reason}")
    good = [run for run in found if run.value is not None]
    require(
        len(good) >= 2,
        f"At least two runs of {name!r} must succeed, but {len(good)} of {len(found)} did"
        f"{f'; the first failure is {reason}' if failed else ''}. Mend the model, then retry=True.",
    )
    return inputs.task([run.x for run in good], [run.value for run in good], name)


def _points(inputs: Inputs, n: int, seed: int, design: str, name: str) -> np.ndarray:
    """A model's own points: they depend on its name, so that another model may be added to the same store."""
    return inputs.rows(inputs.sample(n, seed=[seed, zlib.crc32(name.encode())], design=design))


def _warn_of_other_code(models: Mapping[str, Model], points: Mapping[str, np.ndarray], kept: Store) -> None:
    """Say which values were made by code that is another now: a store knows a model by its name alone."""
    for name, model in models.items():
        now, n = written(model), len(points[name])
        done = [run for run in kept.runs.values() if run.model == name and run.number < n and run.value is not None]
        others = sum(is_otherwise(run.code, now) for run in done)
        if others:
            warn_caller(
                f"{others} of {len(done)} runs of {name!r} in the store were made by other code than the model has now "
                "and are used as they are. If its values are others now, give it another name, or the store another "
                "path: it runs again.",
                RuntimeWarning,
            )


def _is_missing(kept: Store, name: str, number: int, retry: bool) -> bool:
    run = kept.runs.get((name, number))
    return run is None or (retry and run.value is None)


def _check_arguments(models: Mapping[str, Model], inputs: Inputs, runs: Mapping[str, int], seed: int) -> None:
    require(
        isinstance(inputs, Inputs),
        f"inputs must come from vvcv.inputs, such as inputs.independent(a=inputs.normal(0, 1)), not {type(inputs)}.",
    )
    require(
        isinstance(models, Mapping) and isinstance(runs, Mapping),
        f"models and runs are dicts by name, as in {{'cheap': function}} and {{'cheap': 100}}, not {type(models)} and "
        f"{type(runs)}.",
    )
    require(
        len(models) > 0 and set(models) == set(runs),
        f"models and runs must have the same names, but they are {list(models)} and {list(runs)}.",
    )
    natural = isinstance(seed, int | np.integer) and seed >= 0
    require(natural, f"seed must be a whole number of at least 0, but is {seed!r}.")
    for name, n in runs.items():
        text = isinstance(name, str) and name.encode("utf-8", "replace").decode() == name
        require(text, f"Models are named by strings, but {name!a} is none that can be written. Rename it.")
        whole = isinstance(n, int | np.integer) and n >= 2
        require(whole, f"runs of {name!r} must be a whole number of at least 2, but is {n!r}.")
        require(callable(models[name]), f"The model {name!r} must be a function, but is a {type(models[name])}.")
        _check_call(models[name], name, inputs.names)


def _check_call(model: Model, name: str, inputs: tuple[str, ...]) -> None:
    """Refuse a model that cannot be called with the inputs, where Python can tell."""
    try:
        signature = inspect.signature(model)
    except (TypeError, ValueError):  # compiled functions may have none
        return
    try:
        signature.bind(**dict.fromkeys(inputs))
    except TypeError as error:
        raise ValueError(
            f"The model {name!r} is called with the inputs {list(inputs)} by name, but cannot be: {error}. Rename its "
            "arguments or the inputs, or let it take **x."
        ) from None


def _check_points(kept: Store, inputs: Inputs, points: Mapping[str, np.ndarray]) -> None:
    for (name, number), run in kept.runs.items():
        if name in points and number < len(points[name]):
            require(  # not to the last digit: another version of SciPy may round a quantile otherwise
                len(run.x) == len(inputs.names) and np.allclose(run.x, points[name][number], rtol=1e-8, atol=0),
                f"The store keeps run {number} of {name!r} at {dict(zip(inputs.names, run.x, strict=False))}, but "
                "these settings put it elsewhere: the inputs' draws, or the number of runs of a Latin hypercube, have "
                "changed. Use the settings it was made with, or another path.",
            )
