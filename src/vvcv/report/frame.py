"""A pandas table of estimates that keeps every digit and prints only those that mean something."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .table import gain, with_error

#: Columns whose digits are those that the error in another column leaves meaningful.
ERRORS = {"mean": "std_error", "plain_mean": "plain_std_error", "sd": "sd_error"}

#: Columns printed in ways of their own.
WORDS = {"gain": gain, "r_hat": "{:.2f}".format}
WHOLE = ("ess_worth", "ess_bulk", "ess_tail", "n")


class Frame(pd.DataFrame):
    """A `pandas.DataFrame` with one row per expectation; `attrs["remarks"]` are printed under it."""

    @property
    def _constructor(self) -> Any:
        return Frame

    def __repr__(self) -> str:
        shown = pd.DataFrame({name: _column(self, str(name)) for name in self.columns}, index=self.index)
        lines = shown.to_string(max_rows=None).splitlines()
        return "\n".join([*lines, *self.attrs.get("remarks", ())])

    __str__ = __repr__


def frame(names: Any, columns: dict[str, np.ndarray], remarks: list[str]) -> Frame:
    """A table with a row for each name.

    >>> print(frame(["a"], {"mean": np.array([1.23456]), "std_error": np.array([0.012])}, []))
        mean std_error
    a  1.235     0.012
    """
    table = Frame(columns, index=pd.Index(list(names), dtype=object))
    table.attrs["remarks"] = remarks
    return table


def _column(table: Frame, name: str) -> list[str]:
    values = table[name].tolist()
    if name in WORDS:
        return [WORDS[name](value) for value in values]
    if name in WHOLE:
        return [f"{value:,.0f}" if abs(value) < 1e7 else f"{value:.2g}" for value in values]
    if name in ERRORS and ERRORS[name] in table.columns:
        return [with_error(value, error)[0] for value, error in zip(values, table[ERRORS[name]], strict=True)]
    if name in ERRORS.values():
        return [f"{value:.2g}" for value in values]
    return [f"{value:.3g}" if isinstance(value, float) else str(value) for value in values]
