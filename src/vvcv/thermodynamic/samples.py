"""What is known of a path of power posteriors, checked at the door.

pi_t(x) ~ p(y | x)^t p(x),   grad log pi_t = t grad log p(y | x) + grad log p(x),   0 = t_1 < ... < t_w = 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Task, Tasks, finite_array, require

#: What a sampler's output must offer, as attributes or as keys, and the other names each may have.
FIELDS: dict[str, tuple[str, ...]] = {
    "log_likelihoods": ("log_likelihoods", "log_likelihood"),
    "temperatures": ("temperatures",),
    "points": ("points",),
    "scores_likelihood": ("scores_likelihood",),
    "scores_prior": ("scores_prior",),
}

#: Relative difference up to which temperatures are one: a number stored in single precision is off by a tenth of this,
#: and what quadrature loses between two temperatures is told by their difference.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class PathSamples:
    """Draws from every power posterior, in the order of the temperatures; sample sizes may differ."""

    temperatures: Float[np.ndarray, " w"]
    log_likelihoods: tuple[Float[np.ndarray, " n"], ...]
    points: tuple[Float[np.ndarray, "n d"], ...]
    scores_likelihood: tuple[Float[np.ndarray, "n d"], ...]
    scores_prior: tuple[Float[np.ndarray, "n d"], ...]

    @classmethod
    def of(cls, log_likelihoods: Any, temperatures: Any, points: Any, scores_likelihood: Any, scores_prior: Any):
        """From one array per quantity, first axis the temperatures; from one list of arrays each; or from long columns.

        Long columns have a row for each draw, `temperatures` among them.
        """
        path = finite_array(temperatures, "temperatures")
        require(path.ndim == 1, f"temperatures must be a vector, but have shape {path.shape}. Pass one per sample.")
        given = {
            "log_likelihoods": log_likelihoods,
            "points": points,
            "scores_likelihood": scores_likelihood,
            "scores_prior": scores_prior,
        }
        parts = {name: _by_temperature(value, name) for name, value in given.items()}
        if all(np.ndim(part) == 0 for part in parts["log_likelihoods"]):
            path, parts = _from_long(path, parts)
        for name, samples in parts.items():
            require(
                len(samples) == len(path),
                f"{name} must have one entry per temperature, but has {len(samples)} for {len(path)} temperatures. "
                "Put the temperatures on the first axis.",
            )
        order = np.argsort(path, kind="stable")
        _check_path(path[order])
        rows = [_one_temperature(float(path[i]), *(samples[i] for samples in parts.values())) for i in order]
        _check_dimensions(rows)
        columns = tuple(zip(*rows, strict=True))
        return cls(path[order], columns[0], columns[1], columns[2], columns[3])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sample size at every temperature."""
        return tuple(len(values) for values in self.log_likelihoods)

    def tasks(self, values: Sequence[Float[np.ndarray, " n"]]) -> Tasks:
        """One integrand per temperature as tasks, each with the scores of its own power posterior."""
        names = [f"t={t!r}" for t in self.temperatures.tolist()]
        scores = [
            t * like + prior
            for t, like, prior in zip(self.temperatures, self.scores_likelihood, self.scores_prior, strict=True)
        ]
        rows = zip(self.points, scores, values, names, strict=True)
        return Tasks([Task(x, s, f, name=name) for x, s, f, name in rows])


def fields_of(output: Any, temperatures: Any = None) -> dict[str, Any]:
    """The arguments of `evidence` from a sampler's output: a mapping or an object with these names."""
    get = output.get if isinstance(output, Mapping) else lambda name: getattr(output, name, None)
    found = {field: next((v for v in map(get, names) if v is not None), None) for field, names in FIELDS.items()}
    found["temperatures"] = found["temperatures"] if temperatures is None else temperatures
    missing = [field for field, value in found.items() if value is None]
    require(
        not missing,
        f"Evidence needs {', '.join(FIELDS)}, but {', '.join(missing)} are missing. Pass them by name, or a sampler's "
        "output that has them as attributes or keys.",
    )
    return found


def _by_temperature(value: Any, name: str) -> list[Any]:
    require(
        not isinstance(value, Mapping),
        f"{name} must be an array whose first axis is the temperatures, or a list with one array for each, but is a "
        "mapping, whose order need not be theirs. Pass [samples[t] for t in temperatures].",
    )
    try:  # a table would go through its columns, not its rows
        return list(np.asarray(value) if hasattr(value, "columns") else value)
    except TypeError:
        raise ValueError(
            f"{name} must be an array whose first axis is the temperatures, or a list with one array for each, but is "
            f"a {type(value).__name__}."
        ) from None


def _from_long(path: np.ndarray, parts: dict[str, list[Any]]) -> tuple[np.ndarray, dict[str, list[Any]]]:
    for name, rows in parts.items():
        require(
            len(rows) == len(path),
            f"Columns with one row per draw must be of one length, but {name} has {len(rows)} rows and temperatures "
            f"{len(path)}. Arrays by temperature have log_likelihoods of shape (temperatures, draws).",
        )
    _check_positive(parts["log_likelihoods"], "the samples")
    distinct = np.unique(path)
    arrays = {name: finite_array(rows, name) for name, rows in parts.items()}
    return distinct, {name: [array[path == t] for t in distinct] for name, array in arrays.items()}


def _one_temperature(t: float, values: Any, points: Any, likelihood: Any, prior: Any) -> tuple[np.ndarray, ...]:
    """The sample of one temperature as (n,), (n, d), (n, d), (n, d); Task knows the shapes and the messages."""
    label = f"the sample at t = {t:g}"
    _check_positive(values, label)
    first = Task(points, likelihood, values, name=label)
    second = Task(points, prior, values, name=label)
    require(
        first.size >= 2,
        f"Every temperature needs at least two draws, but t = {t:g} has {first.size}. Draw more, or drop it.",
    )
    return first.values, first.points, first.scores, second.scores


def _check_positive(log_likelihoods: Any, where: str) -> None:
    """A draw of likelihood zero is no broken row: without it the evidence would be that of another prior."""
    try:
        impossible = int(np.isneginf(np.asarray(log_likelihoods, dtype=float)).sum())
    except (TypeError, ValueError):
        return  # whatever else is wrong with them is said where they are read
    require(
        impossible == 0,
        f"Likelihoods must be positive at every draw, but {impossible} of {where} have a logarithm of -inf. Do not "
        "remove these draws, the evidence would be too large: restrict the prior to where the likelihood is positive, "
        "and add the logarithm of that region's prior probability to the answer.",
    )


def _check_path(path: np.ndarray) -> None:
    require(
        len(path) >= 3 and bool((np.diff(path) > SAME * path[1:]).all()),
        f"temperatures must be at least three different numbers, but are {path.tolist()}. Merge the draws of "
        f"equal ones, which those within a relative {SAME:g} are, too: no draw can tell them apart. Some thirty "
        "temperatures, such as (i / 30)**5, serve most models.",
    )
    require(
        abs(path[0]) <= 1e-12 and abs(path[-1] - 1) <= 1e-12,
        f"temperatures must run from 0 (the prior) to 1 (the posterior), but run from {path[0]:g} to {path[-1]:g}. "
        "The integral over the path is the evidence only then: add draws from the missing ends. (An improper prior "
        "cannot be drawn from, and has no evidence.)",
    )


def _check_dimensions(rows: list[tuple[np.ndarray, ...]]) -> None:
    dimensions = sorted({points.shape[1] for _, points, _, _ in rows})
    require(
        len(dimensions) == 1,
        f"All samples must have points of one dimension, but found {dimensions}: draw the same parameters.",
    )
