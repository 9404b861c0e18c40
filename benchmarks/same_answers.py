"""Did a change that should change nothing change an answer? All methods on ten problems, and `fit` with each selection.

    PYTHONPATH=CHECKOUT/src python benchmarks/same_answers.py write FILE      (once for each of two checkouts)
    python benchmarks/same_answers.py compare FILE FILE [--out benchmarks/same_answers.json]

Means and standard errors of both are compared to the last bit, on one machine with one thread. Names are looked for
wherever a checkout keeps them, so that it may have been taken apart and put together in other rooms.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

METHODS = ("mc", "zv", "cf", "secf", "vv", "vv-secf", "auto")
RELATED = np.array([[1.0, 0.6], [0.6, 1.0]])


def problems() -> dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """Ten data sets: points, scores and values of each task."""
    rng, found = np.random.default_rng(7), {}

    def add(name: str, *tasks: tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]) -> None:
        found[name] = [(x, s, f(x)) for x, s, f in tasks]

    def normal(n: int, d: int, mean: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        x = mean + rng.normal(size=(n, d))
        return x, mean - x

    add("wave", (*normal(30, 1), lambda x: np.sin(2 * x[:, 0])))
    add("kink", (*normal(30, 1), lambda x: np.abs(x[:, 0] - 0.3)))
    add("growth, 3-d", (*normal(40, 3), lambda x: np.exp(x @ [0.5, -0.3, 0.2])))
    add("ridge, 8-d", (*normal(40, 8), lambda x: np.tanh(x.sum(axis=1) / 3)))
    x, s = normal(30, 2)
    add("shared points", *((x, s, f) for f in (lambda x: x[:, 0] ** 2, lambda x: np.cos(x.sum(axis=1)))))
    add("two targets", *((*normal(20, 1, m), lambda x: np.exp(x[:, 0] / 2)) for m in (0.0, 0.5)))
    add("cheap and dear", *((*normal(n, 2), lambda x: np.exp(x[:, 0] / 3) * x[:, 1]) for n in (40, 12)))
    y = rng.logistic(size=(30, 1))
    add("logistic", (y, -np.tanh(y / 2), lambda x: x[:, 0] ** 2))
    add("noise", (*normal(30, 1), lambda x: x[:, 0] + rng.normal(size=len(x))))
    add("few points", (*normal(6, 1), lambda x: x[:, 0] ** 3))
    return found


def answers() -> Iterator[tuple[str, list[str]]]:
    """Every answer under a name of its own, its numbers as exact text."""
    import vvcv

    sets = {name: vvcv.Tasks([vvcv.Task(*task) for task in tasks]) for name, tasks in problems().items()}
    for name, tasks in sets.items():
        for method in METHODS:
            yield f"{name}: {method}", _numbers(lambda t=tasks, m=method: vvcv.estimate(t, m))
    pair, variate = sets["two targets"], _named("KernelVariate")(_named("SquaredExponential")(1.0), RELATED)
    for label, choose in _selections().items():
        yield f"fit: {label}", _numbers(lambda c=choose: vvcv.fit(pair, variate, c()))
    for label in ("Split", "CrossFit"):
        exact, estimator = _named("Exact")(1e-2), _named(label)()
        yield f"fit: {label}", _numbers(lambda e=exact, by=estimator: vvcv.fit(pair, variate, e, estimator=by))
    yield "fit: RestrictedLikelihood", _numbers(lambda: vvcv.fit(pair, "vv"))


def _selections() -> dict[str, Callable[[], Any]]:
    return {
        "Exact": lambda: _named("Exact")(1e-3),
        "Alternation": lambda: _named("Alternation")(1e-2),
        "Alternation with B": lambda: _named("Alternation")(1e-2, learn_b=True),
        "ConvexSequence": lambda: _named("ConvexSequence")(1e-2),
        "StochasticOptimisation": lambda: _named("StochasticOptimisation")(20),
        "BlockCoordinateDescent": lambda: _named("BlockCoordinateDescent")(20),
    }


def _numbers(answer: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = answer()
        except ValueError as error:  # a refusal is an answer too
            return [f"refused: {type(error).__name__}"]
    return [float(x).hex() for x in np.concatenate([np.ravel(found.mean), np.ravel(found.std_error)])]


def _named(name: str) -> Any:
    """A public thing of the library, wherever it is."""
    import vvcv

    for module in pkgutil.walk_packages(vvcv.__path__, "vvcv."):
        if not any(part in module.name for part in ("interop", "cli", "command", "experiments", "large")):
            found = getattr(importlib.import_module(module.name), name, None)
            if found is not None:
                return found
    raise LookupError(f"This checkout has no {name}.")


def compare(one: Path, other: Path, out: Path | None) -> int:
    """Print what differs and record how much does; 1 if anything does."""
    first, second = (json.loads(path.read_text()) for path in (one, other))
    differ = [name for name in first | second if first.get(name) != second.get(name)]
    found = {"between": [one.stem, other.stem], "answers": len(first), "equal": len(first) - len(differ)}
    print(json.dumps(found | {"differ": differ}, indent=1))
    if out:
        before = json.loads(out.read_text()) if out.is_file() else []
        out.write_text(json.dumps([*before, found | {"differ": differ}], indent=1) + "\n")
    return int(bool(differ))


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("write", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    if given.step == "compare":
        return compare(*given.files, given.out)
    given.files[0].write_text(json.dumps(dict(answers()), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    sys.exit(main())
