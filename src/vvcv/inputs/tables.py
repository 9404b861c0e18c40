"""Tables of runs that were made elsewhere: CSV, Parquet, pandas, or a dict of columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import csv_lines, require
from ..data.validation import repeated
from ..runtime.caller import warn_caller


class Runs(NamedTuple):
    """Where a model ran and what it gave."""

    x: Float[np.ndarray, "n d"]
    values: Float[np.ndarray, " n"]
    name: str


def read_runs(table: Any, inputs: Sequence[str], value: Any, fidelity: str | None) -> Iterator[Runs]:
    """The finished runs of each model and each value, in the table's order."""
    table = _as_table(table, fidelity).reset_index(drop=True)
    require(isinstance(value, Iterable), f"value must name a column, or be a list of names, but is {value!r}.")
    values = [value] if isinstance(value, str) else list(value)
    wanted = [*inputs, *values, *([] if fidelity is None else [fidelity])]
    missing = [name for name in wanted if name not in table.columns]
    require(
        not missing and len(values) > 0,
        f"The table must have columns {wanted}, but {missing} are missing; it has {[str(c) for c in table.columns]}.",
    )
    twice = repeated(column for column in table.columns if column in wanted)
    require(not twice, f"Every column must have a name of its own, but several are named {twice}. Rename them.")
    require(len(table) > 0, "The table must have rows, one for each run, but it is empty.")
    unknown = 0 if fidelity is None else int((table[fidelity].isna() | (table[fidelity] == "")).sum())
    require(
        unknown == 0,
        f"Every run must say of which model it is, but {unknown} have no {fidelity!r}. Remove or name them.",
    )
    groups = [("", table)] if fidelity is None else table.groupby(fidelity, sort=False)
    for label, rows in groups:
        for column in values:
            parts = [str(label)] if fidelity is not None else []
            parts += [column] if len(values) > 1 or fidelity is None else []
            yield _finished(rows, inputs, column, " ".join(parts))


def warn_of_failures(failed: int, of: int, name: str, reason: str) -> None:
    """Say which runs are left out, and what that does to the answer."""
    warn_caller(
        f"{failed} of {of} runs of {name!r} failed and are left out ({reason}). If they fail where the inputs are "
        "special, the average of those that are left is biased, and a control variate has to guess there.",
        RuntimeWarning,
    )


def _finished(rows: Any, inputs: Sequence[str], column: str, name: str) -> Runs:
    values = _numbers(rows, column)
    good = np.isfinite(values)
    require(bool(good.any()), f"At least one run of {name!r} must have a value, but none of {len(values)} has.")
    rows, columns = rows[good], [_numbers(rows, given)[good] for given in inputs]
    for given, column_of_input in zip(inputs, columns, strict=True):
        lost = np.flatnonzero(~np.isfinite(column_of_input))
        if lost.size:
            raise ValueError(
                f"Every run with a value must say where it was made, but input {given!r} of {lost.size} runs is not "
                f"there or not finite, the first {_place(rows, lost[0])}. Fill the cells, or remove these runs."
            )
    if not good.all():
        warn_of_failures(int((~good).sum()), len(values), name, f"column {column!r} is missing or not finite")
    return Runs(np.column_stack(columns), values[good], name)


def _numbers(rows: Any, column: str) -> Float[np.ndarray, " n"]:
    odd = {"c": "they are complex", "M": "they are dates", "m": "they are spans of time, whose unit is not said"}
    kind = rows[column].dtype.kind  # of which pandas would make real parts, and nanoseconds
    require(kind not in odd, f"Column {column!r} must hold numbers, but {odd.get(kind, '')}. Write real numbers.")
    try:
        return rows[column].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        entries, missing = rows[column].tolist(), rows[column].isna().tolist()
        text = [i for i, entry in enumerate(entries) if not (missing[i] or _is_number(entry))]
        raise ValueError(
            f"Column {column!r} must hold numbers, but of {len(entries)} entries {len(text)} are none; the first is "
            f"{entries[text[0]]!r}, {_place(rows, text[0])}. Leave empty the value of a run that failed; remove rows "
            "that are no runs."
        ) from None


def _is_number(entry: Any) -> bool:
    try:
        float(entry)
    except (TypeError, ValueError):
        return False
    return True


def _place(rows: Any, position: Any) -> str:
    """Where a row of some stands in the table, whose index counts from 0."""
    return f"in row {rows.index[position] + 1} below the header"


def _as_table(table: Any, fidelity: str | None) -> Any:
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping):
        columns = {name: np.ravel(column) for name, column in table.items()}
        sizes = {name: column.size for name, column in columns.items()}
        require(len(set(sizes.values())) < 2, f"Columns of runs must have one entry for each run, but have {sizes}.")
        return pd.DataFrame(columns)
    require(
        isinstance(table, str | Path),
        f"A table is a path, a pandas table or a dict of columns, but a {type(table).__name__} was given.",
    )
    file = Path(table)
    require(file.is_file(), f"The table must be an existing file, but there is no {str(file)!r}. Check the path.")
    kind = file.suffix.lower()
    require(kind in (".csv", ".parquet"), f"A table's file must end in .csv or .parquet, but is {file.name!r}.")
    try:
        with warnings.catch_warnings():
            # Of rows that are longer than the header, and were cut.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return _read_csv(file, fidelity) if kind == ".csv" else pd.read_parquet(file)
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'vvcv[files]'.") from None
    except Exception as error:  # a broken file raises many kinds
        if str(error).startswith(repr(file.name)):
            raise
        raise ValueError(
            f"{file.name!r} must be a table of runs, but cannot be read ({error}). Write it in UTF-8, with one header "
            "line and as many comma-separated numbers in every row."
        ) from None


def _read_csv(file: Path, fidelity: str | None) -> Any:
    """A CSV file with its columns under the names they have there; those of models are text: 1 and 01 are two.

    Lines that start with # are comments, as in tables of tasks.
    """
    import pandas as pd

    header = csv_lines.header(file)
    options: dict[str, Any] = {"index_col": False, "skipinitialspace": True, "skiprows": list(csv_lines.comments(file))}
    table = pd.read_csv(file, converters={name: str.strip for name in header if name.strip() == fidelity}, **options)
    table.columns = pd.Index([name.strip() for name in header])  # pandas makes two names of one that is there twice
    return table
