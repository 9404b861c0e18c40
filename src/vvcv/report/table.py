"""The table an estimate prints itself as, in the manner of arviz.summary."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

#: Letters of a name beside a picture: half of its width, so that the other half is left to draw in.
LONGEST = 40

#: Digits that every float64 holds: more would show how it is stored.
EXACT = 15


def table(names: Sequence[str], columns: Mapping[str, np.ndarray], remarks: Sequence[str] = ()) -> str:
    """Per task: estimate, standard error, plain average with its own, and the gain in samples."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("task", overflow="fold")  # ends of long names tell them apart
    for name in ("estimate", "std error", "plain average", "std error", "gain", "n"):
        grid.add_column(name, justify="right")
    grid.add_column("method")
    for t, name in enumerate(names):
        estimate = with_error(columns["mean"][t], columns["std_error"][t])
        plain = with_error(columns["monte_carlo_mean"][t], columns["monte_carlo_std_error"][t])
        size, method = str(int(columns["samples"][t])), str(columns["method"][t])
        grid.add_row(escape(printable(name)), *estimate, *plain, gain(float(columns["gain"][t])), size, method)
    return render(grid) + "\n" + "; ".join(remarks)


def printable(name: object) -> str:
    """A name on one line that any terminal can show: control characters are spelled out.

    >>> print(printable("two\\nlines"))
    two\\nlines
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(name))


def shortened(name: object) -> str:
    """A name that leaves room for a picture beside it: its ends, which tell names apart.

    >>> shortened("mu"), len(shortened("very " * 60))
    ('mu', 40)
    """
    text, half = printable(name), LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[1 - half :]}"


def with_error(mean: float, error: float) -> tuple[str, str]:
    """A number and its standard error, both to the digits that the error leaves meaningful (two).

    >>> with_error(123456789.123, 0.02)
    ('123456789.123', '0.02')
    """
    mean, error = float(mean), float(error)
    digits = 8
    if error > 0 and np.isfinite(error):
        last = int(np.floor(np.log10(error))) - 1
        if abs(mean) < 1e8 and 1e-10 < error < 1e8:
            return f"{mean:.{max(-last, 0)}f}", f"{error:.2g}"
        if mean and np.isfinite(mean):
            digits = int(np.clip(np.floor(np.log10(abs(mean))) - last + 1, 2, EXACT))
    return f"{mean:.{digits}g}", f"{error:.2g}"


def gain(factor: float) -> str:
    """The factor by which samples are saved, for people."""
    if not np.isfinite(factor):
        return "-"
    return f"x {factor:,.0f}" if 10 <= factor < 1e7 else f"x {factor:.2g}"


def render(grid: Table) -> str:
    """A table as plain text, wide enough not to wrap."""
    text = io.StringIO()
    # Names such as x:a:b are no emoji.
    Console(file=text, width=200, color_system=None, highlight=False, emoji=False).print(grid)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def simple_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[str] = ()) -> str:
    """Rows of text under a header; the first column and those that hold `words` are left-aligned, numbers right."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(header):
        grid.add_column(name, justify="left" if i == 0 or name in words else "right")
    for row in rows:
        grid.add_row(*(escape(cell) for cell in row))
    return render(grid)
