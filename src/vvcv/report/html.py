"""An estimate as one HTML page that needs no other file: table, picture, and what the checks found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Protocol

import numpy as np

from .plot import svg_of_estimate
from .table import gain, printable, with_error

#: A picture of more tasks than this is longer than anyone scrolls.
MOST_ROWS = 60

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child, .text { text-align: left; }
.wide, pre { overflow-x: auto; }
pre { font-size: .8rem; }
td { white-space: nowrap; }
td.text { white-space: normal; min-width: 4rem; }
.error, .warning { border-left: .3rem solid #c62828; background: #fdecea; padding: .4rem .8rem; margin: .5rem 0; }
.warning { border-color: #ef8f00; background: #fff6e5; }
.note, .ok, .remark { color: #555; }
svg { max-width: 100%; height: auto; }
"""


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
    remarks: Sequence[str] = (),
    alarms: Sequence[str] = (),
    findings: Iterable[Finding] = (),
    exact: Any = None,
    explanation: str = "",
) -> str:
    """The page as text; names and messages are escaped, and there is nothing on it that runs."""
    quiet = [f for f in findings if f.severity not in ("warning", "error")]
    parts = [
        *(_paragraph(alarm, alarm.partition(":")[0]) for alarm in alarms),
        _table(names, columns),
        _paragraph("; ".join(remarks), "remark"),
        *map(_explained, explanation.split("\n\n") if explanation else []),
        _picture(names, columns, exact),
        "<h2>Checks</h2>" if quiet else "",
        *(_paragraph(finding.sentence, finding.severity) for finding in quiet),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>vvcv estimate</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>Estimates</h1>\n{body}\n"
        "</body>\n</html>\n"
    )


def _table(names: Sequence[str], columns: Mapping[str, np.ndarray]) -> str:
    header = ("task", "estimate", "std error", "plain average", "std error", "gain", "n", "rung", "kernel")
    rows = []
    for t, name in enumerate(names):
        estimate = with_error(columns["mean"][t], columns["std_error"][t])
        plain = with_error(columns["monte_carlo_mean"][t], columns["monte_carlo_std_error"][t])
        numbers = (*estimate, *plain, gain(float(columns["gain"][t])), str(int(columns["samples"][t])))
        words = (str(columns["rung"][t]), str(columns["kernel"][t]))
        rows.append(
            f"<tr><td>{_text(name)}</td>"
            + "".join(f"<td>{_text(number)}</td>" for number in numbers)
            + "".join(f'<td class="text">{_text(word)}</td>' for word in words)
            + "</tr>"
        )
    head = "".join(f'<th class="text">{h}</th>' if h in ("rung", "kernel") else f"<th>{h}</th>" for h in header)
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + ("\n</tbody>\n</table></div>")
    )


def _picture(names: Sequence[str], columns: Mapping[str, np.ndarray], exact: Any) -> str:
    shown = slice(0, MOST_ROWS)
    part = {name: column[shown] for name, column in columns.items()}
    try:
        drawn = svg_of_estimate(names[shown], part, None if exact is None else np.asarray(exact)[shown])
    except ImportError as error:
        return _paragraph(f"No picture: {error}", "note")
    more = f"The first {MOST_ROWS} of {len(names)} tasks." if len(names) > MOST_ROWS else ""
    return f"<figure>{drawn}</figure>" + (_paragraph(more, "note") if more else "")


def _explained(block: str) -> str:
    """One task's choice: a sentence that wraps, and the rungs in columns."""
    sentence, _, rungs = block.partition("\n")
    return _paragraph(sentence, "remark") + f"\n<pre>{_text(rungs, lines=True)}</pre>"


def _paragraph(text: str, kind: str) -> str:
    return f'<p class="{kind}">{_text(text)}</p>'


def _text(text: object, lines: bool = False) -> str:
    whole = "\n".join(map(printable, str(text).splitlines())) if lines else printable(text)
    return escape(whole)
