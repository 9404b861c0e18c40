"""An estimate as one HTML page that needs no other file: table, pictures, what was chosen and why, checks, citation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Protocol

import numpy as np

from .explanation import HEADER, Promised, reason, rows, words
from .pictures import Fitted, fit_of, gains, intervals, likeness
from .style import SCRIPT, STYLE, policy
from .table import gain, printable, shortened, with_error

#: A picture of more tasks than this is longer than anyone scrolls.
MOST_ROWS = 60

#: Methods that are shown for each task, the heaviest first.
MOST_CHOICES = 8

#: Tasks up to which the choice of each is shown unfolded.
UNFOLDED = 4

CITATION = (
    "Z. Sun, A. Barp, F.-X. Briol: Vector-valued control variates. Proceedings of the 40th International Conference on "
    "Machine Learning (2023). Computed by vvcv {version}."
)


class Finding(Protocol):
    """What a check found: how bad, and a sentence."""

    @property
    def severity(self) -> str:
        """ok, note, warning or error."""

    @property
    def sentence(self) -> str:
        """Where, what, and the remedy."""


def html_report(
    names: Sequence[str],
    columns: Mapping[str, np.ndarray],
    *,
    remarks: Sequence[str] = (),
    alarms: Sequence[str] = (),
    findings: Iterable[Finding] = (),
    exact: Any = None,
    promises: Sequence[Sequence[Promised]] = (),
    asked: bool = False,
    correlation: np.ndarray | None = None,
    fits: Sequence[Fitted] = (),
    version: str = "",
) -> str:
    """The page as text. Names and messages are escaped; the only thing on it that runs sorts the table."""
    quiet = [f for f in findings if f.severity not in ("warning", "error")]
    parts = [
        "<h1>Estimates</h1>",
        _paragraph("; ".join(remarks), "remark"),
        *(_paragraph(alarm, alarm.partition(":")[0]) for alarm in alarms),
        _table(names, columns),
        _pictures(names, columns, exact, correlation, fits),
        _choices(names, promises, asked),
        "<h2>Checks</h2>" if quiet else "",
        *(_paragraph(finding.sentence, finding.severity) for finding in quiet),
        "<h2>How to cite</h2>",
        _paragraph(CITATION.format(version=version).strip(), "text"),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Estimates by control variates</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n{body}\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _table(names: Sequence[str], columns: Mapping[str, np.ndarray]) -> str:
    header = ("task", "estimate", "std error", "plain average", "std error", "gain", "n", "method", "details")
    lines = []
    for t, name in enumerate(names):
        number = {key: float(columns[key][t]) for key in ("mean", "std_error", "gain", "samples")}
        plain = float(columns["monte_carlo_mean"][t]), float(columns["monte_carlo_std_error"][t])
        shown = (*with_error(number["mean"], number["std_error"]), *with_error(*plain), gain(number["gain"]))
        exactly = (number["mean"], number["std_error"], *plain, number["gain"], number["samples"])
        cells = zip((*shown, str(int(number["samples"]))), exactly, strict=True)
        texts = (words(str(columns["method"][t])), str(columns["kernel"][t]))
        lines.append(
            f"<tr><td{'' if shortened(name) == printable(name) else ' class=long'}>{_text(name)}</td>"
            + "".join(f'<td data-value="{value!r}">{_text(text)}</td>' for text, value in cells)
            + "".join(f'<td class="text">{_text(text)}</td>' for text in texts)
            + "</tr>"
        )
    head = "".join(
        f'<th scope="col"{" class=text" if h in ("method", "details") else ""}><button type="button">{h}</button></th>'
        for h in header
    )
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Table of estimates">'
        f'<table class="sortable">\n<thead><tr>{head}</tr></thead>\n<tbody>\n' + "\n".join(lines) + "\n</tbody>\n"
        "</table></div>\n" + _paragraph("A click on the head of a column sorts the table by it.", "note")
    )


def _pictures(
    names: Sequence[str],
    columns: Mapping[str, np.ndarray],
    exact: Any,
    correlation: np.ndarray | None,
    fits: Sequence[Fitted],
) -> str:
    shown = slice(0, MOST_ROWS)
    part = {name: column[shown] for name, column in columns.items()}
    more = f" The first {MOST_ROWS} of {len(names)} tasks." if len(names) > MOST_ROWS else ""
    try:
        drawn = [
            "<h2>Intervals against plain averaging</h2>",
            _figure(intervals(names[shown], part, None if exact is None else np.asarray(exact)[shown]), more),
            "<h2>Gain of each task</h2>",
            _figure(gains(names[shown], part["gain"]), more),
        ]
        if correlation is not None:
            caption = "How alike the tasks are, as the joint fit learned it: what they can learn from each other."
            drawn += ["<h2>How alike the tasks are</h2>", _figure(likeness(names, correlation), caption, "map")]
        if fits:
            drawn.append("<h2>Values, fits, and what is left</h2>")
            drawn += [_figure(fit_of(fit), _along(fit)) for fit in fits]
        if 0 < len(fits) < len(names):
            drawn.append(_paragraph(f"Fits of {len(fits)} of {len(names)} tasks are shown.", "note"))
    except ImportError as error:
        return _paragraph(f"No picture: {error}", "note")
    return "\n".join(drawn)


def _choices(names: Sequence[str], promises: Sequence[Sequence[Promised]], asked: bool) -> str:
    """One task after another: a sentence on the choice, and the methods in a table that unfolds."""
    blocks = []
    for name, offered in zip(names, promises, strict=False):
        head = "".join(f'<th scope="col"{" class=text" if h == "details" else ""}>{_text(h)}</th>' for h in HEADER)
        lines = "".join(map(_choice, rows(offered)[:MOST_CHOICES]))
        unfolded = " open" if len(promises) <= UNFOLDED else ""
        blocks.append(
            f"<details{unfolded}><summary><strong>{_text(name)}</strong>: {_text(reason(offered, asked))}</summary>"
            f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div></details>'
        )
    return "\n".join(["<h2>What was chosen, and why</h2>", *blocks]) if blocks else ""


def _choice(row: Sequence[str]) -> str:
    *numbers, details = row
    return "<tr>" + "".join(f"<td>{_text(n)}</td>" for n in numbers) + f'<td class="text">{_text(details)}</td></tr>'


def _along(fit: Fitted) -> str:
    scaled = "" if fit.one_dimensional else ", the direction that tells most, coordinates scaled by their spread"
    return f"{printable(fit.name)}, along {fit.direction}{scaled}"


def _figure(drawn: str, caption: str = "", kind: str = "chart") -> str:
    below = f"<figcaption>{_text(caption.strip())}</figcaption>" if caption.strip() else ""
    return f'<figure class="{kind}">{drawn}{below}</figure>'


def _paragraph(text: str, kind: str) -> str:
    return f'<p class="{kind}">{_text(text)}</p>' if text else ""


def _text(text: object) -> str:
    return escape(printable(text))
