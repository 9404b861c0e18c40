"""`summary`: the table that people look at after sampling, with means and standard deviations by control variates.

    sd^2 = E[(x - c)^2] - (E[x] - c)^2,   c the plain average; all expectations in one fit

The second term is the square of a Monte Carlo error, so that digits are not lost and the error of sd is, to first
order, that of the first term: d sd = (d E[(x - c)^2] + 2 |E[x] - c| d E[x] + (d E[x])^2) / (2 sd). The last is all
there is where squares do not vary: of two draws, or of a coin that fell as often on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from ..checks.mixing import effective_draws, r_hat
from ..data import Task, Tasks, as_tasks, probability_between, require
from ..data.chains import effective_size
from .diagnosis import Diagnosis, OnAlarm, made_of
from .result import Estimate
from .run import estimate

if TYPE_CHECKING:
    from ..report.frame import Frame
else:  # pandas takes half a second to import
    Frame = Any

#: (package, class) of objects that samplers return -> the function of this library that reads them.
ADAPTERS = {
    ("numpyro", "MCMC"): "from_numpyro",
    ("arviz", "InferenceData"): "from_arviz",
    ("xarray", "DataTree"): "from_arviz",
    ("stan", "Fit"): "from_stan",
    ("cmdstanpy", "CmdStanMCMC"): "from_stan",
}

IntervalKind = Literal["hdi", "eti"]


def summary(
    source: Any,
    var_names: Sequence[str] | str | None = None,
    *,
    kind: IntervalKind = "hdi",
    prob: float = 0.94,
    method: str = "auto",
    on_alarm: OnAlarm = "warn",
    **options: Any,
) -> Frame:
    """Mean, standard deviation, interval and diagnostics of every variable, for tasks or what a sampler returned.

    `mean` and `sd` are by control variates, each with its standard error; `gain` is the factor in samples that the mean
    is worth, `ess_worth` the number of independent draws whose average would be as sure. The interval (`kind` "hdi",
    the shortest, or "eti", equal tails, of probability `prob`), `ess_bulk`, `ess_tail` and `r_hat` are those of
    the draws themselves. `source` is a `Posterior`, `Tasks`, or an object that a `from_...` function reads by itself;
    `method` and `options` are those of `estimate`. The result is a pandas DataFrame that keeps every digit.

    >>> x = np.random.default_rng(0).normal(size=(4, 50, 1))
    >>> table = summary(Tasks.shared(x, -x, 3 + 2 * x, names=["slope"]), method="zv")
    >>> bool(abs(table.loc["slope", "mean"] - 3) < 1e-9), bool(abs(table.loc["slope", "sd"] - 2) < 1e-9)
    (True, True)
    """
    require(kind in ("hdi", "eti"), f"kind must be 'hdi' or 'eti', but is {kind!r}.")
    probability_between(prob, "prob")
    from ..report.frame import frame  # pandas takes half a second

    tasks = _chosen(as_source(source, var_names), var_names)
    centres = [_average(task.values) for task in tasks]
    spread = _prefix("spread of ", tasks.names)
    squares = [
        task.carrying((task.values - c) ** 2, spread + name)
        for task, name, c in zip(tasks, tasks.names, centres, strict=True)
    ]
    named = [task.carrying(task.values, name) for task, name in zip(tasks, tasks.names, strict=True)]
    with made_of(tasks):
        result = estimate(Tasks([*named, *squares]), method, on_alarm=on_alarm, **options)
    diagnosis = Diagnosis(tuple(result.check or ()), result.mixing)
    columns = {**_moments(result, np.array(centres)), **_draws(tasks, kind, prob)}
    order = ("mean", "std_error", "sd", "sd_error", *_ends(kind, prob), "gain", "ess_worth", "ess_bulk", "ess_tail")
    remarks = [f"method {result.method}, {result.seconds:.1f} s", *diagnosis.alarms(tasks)]
    return frame(tasks.names, {name: columns[name] for name in (*order, "r_hat")}, remarks)


def as_source(source: Any, var_names: Sequence[str] | str | None = None, lazy: bool = False) -> Tasks:
    """Tasks as they are, or of an object that a sampler returned those of `var_names`: nothing else of it is touched.

    With `lazy`, rows of tasks may stay where they are.
    """
    many = isinstance(source, list | tuple) and source and isinstance(source[0], Task)
    if isinstance(source, Tasks | Task) or many:
        return as_tasks(source, lazy)
    adapter = getattr(import_module("vvcv"), _adapter(source), None)
    if adapter is None:
        raise ValueError(
            f"Tasks are needed, or what a sampler returned, but this is a {type(source).__module__}."
            f"{type(source).__name__}. Turn it into tasks first by one of the functions vvcv.from_..., such as "
            "vvcv.from_pymc(idata, model) or vvcv.from_blackjax(states), or build vvcv.Tasks."
        )
    return adapter(source, var_names=var_names)


def _adapter(source: Any) -> str:
    """The name of the function that reads an object by itself; states of BlackJAX are known by their fields."""
    found = (ADAPTERS.get((kind.__module__.partition(".")[0], kind.__name__)) for kind in type(source).__mro__)
    states = all(hasattr(source, field) for field in ("position", "logdensity_grad"))
    return next((name for name in found if name), "from_blackjax" if states else "")


def names_of(names: Any, what: str) -> list[str]:
    """One name or several as a list, each once, or a ValueError that says what was given.

    >>> names_of("mu", "var_names"), names_of(["mu", "tau", "mu"], "var_names")
    (['mu'], ['mu', 'tau'])
    """
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    require(
        all(isinstance(name, str) for name in listed),
        f"{what} must be a name or a list of names, as in ['mu', 'tau'], but is {names!r}.",
    )
    return list(dict.fromkeys(listed))


def hdi(draws: Float[np.ndarray, " n"], prob: float) -> tuple[float, float]:
    """The shortest interval that holds the share `prob` of the draws.

    >>> hdi(np.array([0.0, 1.0, 1.1, 1.2, 9.0]), 0.5)
    (1.0, 1.2)
    """
    ordered = np.sort(draws)
    held = int(np.floor(prob * len(ordered)))
    widths = ordered[held:] - ordered[: len(ordered) - held]
    start = int(np.argmin(widths))
    return float(ordered[start]), float(ordered[start + held])


def _chosen(tasks: Tasks, var_names: Sequence[str] | str | None) -> Tasks:
    """The tasks of these names; `theta` stands for theta[0], theta[1], ..., and what is named twice is taken once."""
    if var_names is None:
        return tasks
    if hasattr(tasks, "expect"):
        return tasks.expect(var_names)
    chosen: list[str] = []
    for name in names_of(var_names, "var_names"):
        elements = [each for each in tasks.names if each.startswith(f"{name}[")]
        chosen += [name] if name in tasks.names or not elements else elements
    return Tasks([tasks[name] for name in dict.fromkeys(chosen)])


def _average(values: Float[np.ndarray, " n"]) -> float:
    """The plain average, which lies between the values: of equal ones it is their value, to the last digit."""
    return float(np.clip(np.mean(values), np.min(values), np.max(values)))


def _prefix(words: str, names: Sequence[str]) -> str:
    """What to put before each name so that none of the names is had twice.

    >>> _prefix("spread of ", ["t", "spread of t"])
    'the spread of '
    """
    while any(words + name in names for name in names):
        words = f"the {words}"
    return words


def _moments(result: Estimate, centres: Float[np.ndarray, " T"]) -> dict[str, np.ndarray]:
    count = len(centres)
    mean, error = result.mean[:count], result.std_error[:count]
    square, square_error = result.mean[count:], result.std_error[count:]
    error = np.where((square == 0) & (square_error == 0), 0.0, error)  # of equal values there is rounding only
    shift = mean - centres
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.sqrt(np.maximum(square - shift**2, 0.0))
        moved = 2 * np.abs(shift) * error + error**2
        sd_error = np.where(sd > 0, (square_error + moved) / (2 * sd), np.sqrt(square_error))
        worth = (sd / error) ** 2
    return {
        "mean": mean,
        "std_error": error,
        "sd": sd,
        "sd_error": sd_error,
        "gain": result.gain[:count],
        "ess_worth": worth,
    }


def _draws(tasks: Tasks, kind: IntervalKind, prob: float) -> dict[str, np.ndarray]:
    """What the draws of each task say by themselves."""
    low, high = _ends(kind, prob)
    rows = []
    for task in tasks:
        tails = ((1 - prob) / 2, (1 + prob) / 2)
        ends = hdi(task.values, prob) if kind == "hdi" else tuple(np.quantile(task.values, tails))
        chained = task.chains is not None and task.chains[1] >= 4
        draws = task.values.reshape(task.chains or (1, -1))
        sizes = (effective_draws(draws), _tail_size(draws)) if chained else (task.size, task.size)
        rows.append((*ends, *sizes, r_hat(draws) if chained else np.nan))
    return dict(zip((low, high, "ess_bulk", "ess_tail", "r_hat"), np.array(rows, dtype=float).T, strict=True))


def _tail_size(draws: Float[np.ndarray, "chain draw"]) -> float:
    """The smaller effective size of being below the 5 % and the 95 % quantile, chains cut in halves."""
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    below = ((halves <= q).astype(float).ravel() for q in np.quantile(draws, (0.05, 0.95)))
    return min(effective_size(values, halves.shape) for values in below)


def _ends(kind: IntervalKind, prob: float) -> tuple[str, str]:
    return tuple(f"{kind}_{100 * tail:g}%" for tail in ((1 - prob) / 2, (1 + prob) / 2))  # type: ignore[return-value]
