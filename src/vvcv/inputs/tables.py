"""Tables of runs that were made elsewhere: CSV, Parquet, pandas, or a dict of columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import require
from ..runtime.caller import warn_caller


class Runs(NamedTuple):
    """Where a model ran and what it gave."""

    x: Float[np.ndarray, "n d"]
    values: Float[np.ndarray, " n"]
    name: str


def read_runs(table: Any, inputs: Sequence[str], value: Any, fidelity: str | None) -> Iterator[Runs]:
    """The finished runs of each model and each value, in the table's order."""
    table = _as_table(table, fidelity)
    require(isinstance(value, Iterable), f"value must name a column, or be a list of names, but is {value!r}.")
    values = [value] if isinstance(value, str) else list(value)
    wanted = [*inputs, *values, *([] if fidelity is None else [fidelity])]
    missing = [name for name in wanted if name not in table.columns]
    require(
        not missing and len(values) > 0,
        f"The table must have columns {wanted}, but {missing} are missing; it has {[str(c) for c in table.columns]}.",
    )
    repeated = [name for name in wanted if list(table.columns).count(name) > 1]
    require(not repeated, f"Every column must have a name of its own, but several are named {repeated}. Rename them.")
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
    if not good.all():
        warn_of_failures(int((~good).sum()), len(values), name, f"column {column!r} is missing or not finite")
    return Runs(np.column_stack([_numbers(rows, given) for given in inputs])[good], values[good], name)


def _numbers(rows: Any, column: str) -> Float[np.ndarray, " n"]:
    try:
        odd = {"c": "they are complex", "M": "they are dates", "m": "they are spans of time, whose unit is not said"}
        kind = rows[column].dtype.kind  # of which pandas would make real parts, and nanoseconds
        require(kind not in odd, odd.get(kind, ""))
        return rows[column].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Column {column!r} must hold numbers, but cannot be read ({error}).") from None


def _as_table(table: Any, fidelity: str | None) -> Any:
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping):
        return pd.DataFrame({name: np.ravel(column) for name, column in table.items()})
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
        raise ValueError(
            f"{file.name!r} must be a table of runs, but cannot be read ({error}). Write it in UTF-8, with one header "
            "line and as many comma-separated numbers in every row."
        ) from None


def _read_csv(file: Path, fidelity: str | None) -> Any:
    """A CSV file with its columns under the names they have there; those of models are text: 1 and 01 are two."""
    import pandas as pd

    options: dict[str, Any] = {"index_col": False, "skipinitialspace": True}
    header = pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0].tolist()
    table = pd.read_csv(file, converters={} if fidelity is None else {fidelity: str.strip}, **options)
    table.columns = pd.Index(header)  # pandas makes two names of one that is there twice
    return table
