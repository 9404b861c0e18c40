"""The lines of a CSV file before any number is read: its header, and which lines are comments."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from .validation import require

#: How a line that is no row begins.
COMMENT = "#"


def header(file: Path) -> list[str]:
    """The names of the columns, two or more of them."""
    rows = csv.reader((line for _, line, comment in _lines(file) if not comment), skipinitialspace=True)
    names = next((row for row in rows if row), [])
    require(
        len(names) > 1,
        f"{file.name!r} has {f'but one column, {names[0]!r}' if names else 'no header line'}. Separate its columns by "
        "commas, and write numbers with a point: 1.5, not 1,5.",
    )
    return names


def comments(file: Path) -> dict[int, str]:
    """The rows that are comments as a whole, by their numbers.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "runs.csv"
    >>> _ = file.write_text("# made in May" + chr(10) + "a,b" + chr(10) + "1,2" + chr(10))
    >>> header(file), list(comments(file))
    (['a', 'b'], [0])
    """
    return {number: line for number, line, comment in _lines(file) if comment}


def _lines(file: Path) -> Iterator[tuple[int, str, bool]]:
    """Each line with the number of its row and whether it is a comment; what is quoted is of a name."""
    number, quoted = 0, False
    with file.open(newline="", encoding="utf-8-sig") as lines:
        for line in lines:
            comment = not quoted and line.startswith(COMMENT)
            yield number, line, comment
            quoted ^= not comment and line.count('"') % 2 == 1
            number += not quoted
