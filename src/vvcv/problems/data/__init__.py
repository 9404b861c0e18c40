"""Readers of the files that ship with the problems: observations, exact moments, published and reference numbers.

Every file states its own source: a `source` entry in the JSON files, comment lines in the CSV file.
"""

import json
from importlib.resources import files
from typing import Any

import numpy as np
from jaxtyping import Float

Column = Float[np.ndarray, "rows"]
Points = Float[np.ndarray, "n d"]


def read_text(name: str) -> str:
    """The content of a text file."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def read_json(name: str) -> dict[str, Any]:
    """The content of a JSON file."""
    return json.loads(read_text(name))


def read_columns(name: str) -> dict[str, Column]:
    """The columns of a CSV file by the names in its header; lines that begin with # are comments."""
    header, *rows = [line.split(",") for line in read_text(name).splitlines() if line and not line.startswith("#")]
    return dict(zip(header, np.array(rows, dtype=np.float64).T, strict=True))


def read_points(name: str) -> Points:
    """The array `points` of a NumPy archive."""
    with files(__name__).joinpath(name).open("rb") as file, np.load(file) as archive:
        return archive["points"]
