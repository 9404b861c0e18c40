"""Why an estimate is what it is: what each rung promised for each task, what it weighs, and why, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .table import simple_table, with_error

RUNGS = {
    "mc": "plain average",
    "zv": "polynomial",
    "cf": "kernel",
    "secf": "kernel + polynomial",
    "vv": "kernel for all tasks together",
    "vv-secf": "kernel for all tasks together + polynomial",
}

#: A weight from which on a rung is said to have been taken alone.
ALONE = 0.95


class Promised(Protocol):
    """What is told of one rung for one task."""

    @property
    def method(self) -> str: ...
    @property
    def kernel(self) -> str: ...
    @property
    def mean(self) -> float: ...
    @property
    def std_error(self) -> float: ...
    @property
    def model_std_error(self) -> float: ...
    @property
    def cross_fitted_std_error(self) -> float: ...
    @property
    def weight(self) -> float: ...


def explain(names: Sequence[str], promises: Sequence[Sequence[Promised]]) -> str:
    """For every task a table of the rungs and a sentence on the choice between them."""
    return "\n\n".join(_task(name, offered) for name, offered in zip(names, promises, strict=True))


def _task(name: str, offered: Sequence[Promised]) -> str:
    rows = [
        [
            RUNGS.get(p.method, p.method),
            *with_error(p.mean, p.std_error),
            f"{p.model_std_error:.2g}",
            f"{p.cross_fitted_std_error:.2g}",
            f"{p.weight:.2f}",
            p.kernel,
        ]
        for p in sorted(offered, key=lambda p: -p.weight)
    ]
    header = ["rung", "estimate", "promised error", "the model's", "cross-fitted", "weight", "chosen"]
    table = simple_table(header, rows, words=["chosen"])
    return f"{name}: {_reason(offered)}\n{table}"


def _reason(offered: Sequence[Promised]) -> str:
    heavy = [p for p in sorted(offered, key=lambda p: -p.weight) if p.weight > 1 - ALONE]
    best = heavy[0]
    plain = next((p for p in offered if p.method == "mc"), None)
    if len(offered) == 1:
        return f"{RUNGS.get(best.method, best.method)}, the only rung that these data allow."
    if best.method == "mc" and len(heavy) == 1:
        return "the plain average: no control variate predicts values it has not seen any better."
    gain = (
        f", {plain.std_error / best.std_error:.2g} times less than the plain average"
        if plain and best.std_error
        else ""
    )
    if len(heavy) == 1:
        return (
            f"{RUNGS.get(best.method, best.method)}, which promises an error of {best.std_error:.2g}{gain}, and "
            "predicts values it has not seen better than the others."
        )
    listed = " and ".join(f"{RUNGS.get(p.method, p.method)} ({p.weight:.0%})" for p in heavy)
    return f"{listed}, averaged, because the data do not tell them apart; their disagreement is in the error bar."
