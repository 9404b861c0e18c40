"""Why an estimate is what it is: what each method said of each task, what it weighs, and why, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .table import printable, simple_table, with_error

#: The rungs of the ladder in words, from simple to rich: the one list of their names.
RUNGS = {
    "mc": "plain average",
    "zv": "polynomial",
    "cf": "kernel",
    "secf": "kernel + polynomial",
    "vv": "kernel for all tasks together",
    "vv-secf": "kernel for all tasks together + polynomial",
    "inducing": "kernel on inducing points + polynomial",
}

#: A weight from which on a method is said to have been taken alone.
ALONE = 0.95


class Promised(Protocol):
    """What is told of one method for one task."""

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


HEADER = ("method", "estimate", "its error", "the model's own", "on values left out", "weight", "details")


def explain(names: Sequence[str], promises: Sequence[Sequence[Promised]], asked: bool = False) -> str:
    """For every task a sentence on the choice between methods, and a table of them; `asked` where the user chose."""
    return "\n\n".join(
        f"{printable(name)}: {reason(offered, asked)}\n{simple_table(HEADER, rows(offered), words=['details'])}"
        for name, offered in zip(names, promises, strict=True)
    )


def rows(offered: Sequence[Promised]) -> list[list[str]]:
    """One row of words for each method, the heaviest first."""
    return [
        [
            words(p.method),
            *with_error(p.mean, p.std_error),
            f"{p.model_std_error:.2g}",
            f"{p.cross_fitted_std_error:.2g}",
            f"{p.weight:.2f}",
            p.kernel,
        ]
        for p in sorted(offered, key=lambda p: -p.weight)
    ]


def words(method: str) -> str:
    """What a method is called in a sentence."""
    return RUNGS.get(method, method)


def reason(offered: Sequence[Promised], asked: bool = False) -> str:
    """Why these methods were taken for a task."""
    heavy = [p for p in sorted(offered, key=lambda p: -p.weight) if p.weight > 1 - ALONE]
    best = heavy[0]
    plain = next((p for p in offered if p.method == "mc"), None)
    if len(offered) == 1:
        why = "as asked for" if asked else "the only method that these data allow"
        return f"{words(best.method)}, {why}."
    if best.method == "mc" and len(heavy) == 1:
        return "the plain average: no control variate predicts values it has not seen any better."
    gain = (
        f", {plain.std_error / best.std_error:.2g} times less than the plain average"
        if plain and best.std_error
        else ""
    )
    if len(heavy) == 1:
        return (
            f"{words(best.method)}, whose error is {best.std_error:.2g}{gain}, and which predicts values it has not "
            "seen better than the others."
        )
    listed = " and ".join(f"{words(p.method)} ({p.weight:.0%})" for p in heavy)
    return f"{listed}, averaged, because the data do not tell them apart; their disagreement is in the error bar."
