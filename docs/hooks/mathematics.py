"""A hook of MkDocs: formulas become MathML when the site is built, so that the reader's browser needs no script."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

#: What pymdownx.arithmatex leaves: \( ... \) in a span, \[ ... \] in a div.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(html: str, **_: Any) -> str:
    """The page with every formula as MathML."""
    return FORMULA.sub(_mathml, html)


def _mathml(found: re.Match[str]) -> str:
    tag, bracket, formula = found.groups()
    display = "block" if bracket == "[" else "inline"
    return f'<{tag} class="formula">{convert(unescape(formula), display=display)}</{tag}>'
