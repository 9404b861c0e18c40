"""Tables on disk, column by column: CSV, CmdStan's CSV with its comments, Parquet."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..data import require
from .limits import readable, within

Columns = Mapping[str, np.ndarray]

REMEDY = "Write one header line and as many comma-separated numbers in every row."


def read_csv(file: Path, limit: int) -> Columns:
    """The columns of a CSV file; lines that start with # are comments."""
    import pandas as pd

    within(file.stat().st_size, limit, file.name)
    with readable(file, "a CSV table", REMEDY):
        names = _header(file)
        exact = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}  # 3.x always is
        frame = pd.read_csv(file, comment="#", index_col=False, **exact)  # type: ignore[call-overload]
    require(
        len(set(names)) == len(names),
        f"{file.name!r} has several columns of the name {next((n for n in names if names.count(n) > 1), '')!r}. "
        "Rename them.",
    )
    require(len(frame) > 0, f"{file.name!r} has a header and no rows. Write it again.")
    return {str(name): frame[name].to_numpy() for name in frame.columns}


def write_csv(file: Path, columns: Columns) -> None:
    """A CSV file in which every number keeps all its digits."""
    import pandas as pd

    pd.DataFrame(dict(columns)).to_csv(file, index=False)


def read_parquet(file: Path, limit: int) -> Columns:
    """The columns of a Parquet file."""
    parquet = _parquet()
    with readable(file, "Parquet", "Write it again, or convert the original to CSV."):
        with parquet.ParquetFile(file) as opened:
            within(8 * opened.metadata.num_rows * opened.metadata.num_columns, limit, file.name)
            table = opened.read()
        return {name: np.asarray(table[name].to_numpy()) for name in table.column_names}


def write_parquet(file: Path, columns: Columns) -> None:
    """A Parquet file."""
    parquet = _parquet()
    import pyarrow

    parquet.write_table(pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()}), file)


def _header(file: Path) -> list[str]:
    with file.open(newline="", encoding="utf-8") as lines:
        rows = csv.reader(line for line in lines if not line.startswith("#"))
        return [name.strip() for name in next(rows, [])]


def _parquet():
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'vvcv[files]'.") from error
    return pyarrow.parquet
