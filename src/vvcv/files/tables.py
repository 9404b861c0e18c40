"""Tables on disk, column by column: CSV, CmdStan's CSV with its comments, Parquet."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ..data import csv_lines, require
from ..data.validation import repeated
from .limits import readable, within

Columns = Mapping[str, np.ndarray]

#: The column that says which task a row belongs to.
TASK = "task"

REMEDY = "Write it in UTF-8, with one header line and as many comma-separated numbers in every row."


def read_csv(file: Path, limit: int) -> Columns:
    """The columns of a CSV file that have a name; lines that start with # are comments, labels of tasks are text."""
    import pandas as pd

    within(file.stat().st_size, limit, file.name)
    with readable(file, "a CSV table", REMEDY), warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # that rows are longer than the header, and were cut
        names, remarks = csv_lines.header(file), csv_lines.comments(file)
        exact = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}  # 3.x always is
        frame = pd.read_csv(  # type: ignore[call-overload]
            file,
            skiprows=list(remarks),
            index_col=False,
            skipinitialspace=True,
            dtype={name: str for name in names if name == TASK},
            keep_default_na=False,  # NA may be the name of a task
            na_values={name: [""] for name in names if name != TASK},
            **exact,
        )
        frame.columns = names
        frame = frame.iloc[_warm_up(remarks.values()) :]
    twice = repeated(name for name in names if name)
    require(not twice, f"{file.name!r} has several columns of the name {twice[:1]}. Rename them.")
    return {name: frame[name].to_numpy() for name in names if name}  # pandas and R put numbers of rows under no name


def write_csv(file: Path, columns: Columns) -> None:
    """A CSV file in which every number keeps all its digits, and text is quoted."""
    import pandas as pd

    pd.DataFrame(dict(columns)).to_csv(file, index=False, quoting=csv.QUOTE_NONNUMERIC)


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


def _warm_up(comments: Iterable[str]) -> int:
    """Rows at the top that CmdStan made while it adapted, if it says that it has kept them: they are no draws.

    >>> _warm_up(["#     num_warmup = 1000 (Default)", "#     save_warmup = true", "#     thin = 3"])
    334
    """
    said = {match[1]: match[2] for line in comments if (match := re.match(r"#\s*(\w+) = (\w+)", line))}
    if said.get("save_warmup") not in ("1", "true"):
        return 0
    return -(-int(said.get("num_warmup", 0)) // int(said.get("thin", 1)))


def _parquet():
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'vvcv[files]'.") from error
    return pyarrow.parquet
