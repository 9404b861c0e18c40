"""Tables in Markdown: our numbers with standard errors, the published ones beside them, and how far they are apart.

    z = (ours - published) / sqrt(se_ours^2 + se_published^2)

Where the paper gives no standard error, that of our replications of the same method stands in for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .experiment import Cell, Published
from .our_methods import NOTE, RUNGS
from .results import Results

#: Rows of the paper should lie within this many combined standard errors of the published numbers.
LIMIT = 3.0

#: Fewer replications than this have no standard error worth a comparison.
FEWEST = 5


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    text[1] = "|" + "---|" * len(header)
    return "\n".join(text)


def error_table(results: Results) -> str:
    """Mean error of every method and cell with its standard error, beside the published number and z."""
    experiment = results.experiment
    rows = []
    for method, about in results.methods.items():
        for cell in results.cells:
            errors = results.errors(method, cell)
            if not len(errors):
                continue
            mean, std_error = mean_and_error(errors)
            published = experiment.published(cell, method)
            rows.append(
                [
                    about.label,
                    str(cell),
                    f"{mean:.3g}",
                    f"{std_error:.2g}",
                    f"{np.median(errors):.3g}",
                    *_published(published, deviation(results, method, cell)),
                    str(len(errors)),
                    f"{results.seconds(method, cell):.3g}",
                ]
            )
    header = ["method", "cell", "error", "(se)", "median", "published", "(se)", "z", "replications", "seconds each"]
    return "\n".join([*preamble(results), markdown(header, rows), *remarks(results)]) + "\n"


def preamble(results: Results) -> list[str]:
    """Title, metric and the command that made the numbers."""
    return [f"# {results.experiment.title}", "", f"Error: {results.experiment.metric}. {command(results)}", ""]


def command(results: Results) -> str:
    """The command line that gives these replications again."""
    s = results.settings
    mode = "--quick" if s["quick"] else "--full"
    return f"Made by `vvcv reproduce {s['experiment']} {mode} --replications {s['replications']} --seed {s['seed']}`."


def remarks(results: Results) -> list[str]:
    """Which of text and program the numbers follow, and rows further than `LIMIT` from the published number."""
    lines = [*results.experiment.notes]
    if set(RUNGS[1:]) & set(results.methods):
        lines.append(NOTE)
    lines += [
        f"{results.methods[method].label} at {cell} lies {z:+.1f} combined standard errors from the published number."
        for method in results.methods
        for cell in results.cells
        if (z := deviation(results, method, cell)) is not None and abs(z) > LIMIT
    ]
    return ["", *(f"- {line}" for line in lines)]


def deviation(results: Results, method: str, cell: Cell) -> float | None:
    """z of one entry of the table, None where nothing was published."""
    published, errors = results.experiment.published(cell, method), results.errors(method, cell)
    if published is None or len(errors) < FEWEST:
        return None
    return _z(*mean_and_error(errors), published)


def mean_and_error(errors: np.ndarray) -> tuple[float, float]:
    """Mean over replications and its standard error (nan for a single one)."""
    spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else float("nan")
    return float(np.mean(errors)), spread / np.sqrt(len(errors))


def _published(published: Published | None, z: float | None) -> list[str]:
    if published is None:
        return ["", "", ""]
    given = "" if published.std_error is None else f"{published.std_error:.2g}"
    return [f"{published.value:.3g}", given, "" if z is None else f"{z:+.1f}"]


def _z(mean: float, std_error: float, published: Published) -> float:
    other = std_error if published.std_error is None else published.std_error
    return (mean - published.value) / float(np.hypot(std_error, other))
