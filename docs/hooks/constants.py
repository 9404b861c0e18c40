"""The constants that steer choices, read from the code: value, what it decides, and the reason, from the comment above.

A hook of MkDocs: a line `<!-- constants: ROOM ... -->` of a page becomes a table of the rooms' constants. A comment
says what its constants decide and then, after the first colon, semicolon or full stop, or in brackets, why:

    #: Weights below this are left out: they would cost an evaluation of the variate and change nothing.
    NEGLIGIBLE = 1e-4
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "vvcv"
MARK = re.compile(r"<!-- constants: ([\w ]+) -->")

#: What a comment's constants decide, and the reason.
PARTS = (re.compile(r"(.*?)[:;.] (.*)"), re.compile(r"(.*?) (\(.*)"))


class Constants(NamedTuple):
    """The names on the left of one assignment, their value, its file, and the comment above it."""

    path: str
    names: tuple[str, ...]
    value: str
    comment: str

    @property
    def decides(self) -> str:
        """What they decide: the first part of the comment."""
        return self._parts[0]

    @property
    def reason(self) -> str:
        """Why they are what they are: the rest."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[str, str]:
        found = next((match for part in PARTS if (match := part.fullmatch(self.comment))), None)
        return (found[1], found[2]) if found else (self.comment, "")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its tables of constants."""
    return MARK.sub(lambda found: table(found[1].split()), markdown)


def table(rooms: list[str]) -> str:
    """A row for each assignment of a constant in these rooms."""
    rows = ["| constant | decides | because |", "|---|---|---|"]
    for room in rooms:
        for found in constants_of(room):
            named = ", ".join(f"`{name}`" for name in found.names)
            why = found.reason[:1].upper() + found.reason[1:]
            cells = (f"{named} = {found.value}<br>`{found.path}`", found.decides, why)
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def constants_of(room: str) -> Iterator[Constants]:
    """Numbers with names in capitals at the top of the room's files, in the order of the files."""
    for path in sorted((SOURCE / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines, comment, last = text.splitlines(), "", 0
        for node in ast.parse(text).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            if node.lineno > last + 1:  # one that follows another at once shares its comment
                comment = _comment_above(lines, node.lineno)
            names = _names(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            last = node.end_lineno or node.lineno
            if _is_numeric(node.value) and names and all(name.isupper() and name[0] != "_" for name in names):
                value = lines[node.lineno - 1].partition(" = ")[2] if node.lineno == last else ast.unparse(node.value)
                yield Constants(str(path.relative_to(SOURCE)), names, value.partition("  #")[0], comment)


def _names(target: ast.expr) -> tuple[str, ...]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return tuple(part.id for part in parts if isinstance(part, ast.Name))


def _is_numeric(value: ast.expr | None) -> bool:
    """Whether numbers are what is named: not text, functions, or parts of another constant."""
    if isinstance(value, ast.Dict):
        return all(map(_is_numeric, value.values))
    if isinstance(value, ast.Tuple):
        return all(map(_is_numeric, value.elts))
    if isinstance(value, ast.BinOp):
        return _is_numeric(value.left) or _is_numeric(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_numeric(value.operand)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _comment_above(lines: list[str], line: int) -> str:
    above = []
    for text in reversed(lines[: line - 1]):
        if not text.startswith("#"):
            break
        above.append(text.lstrip("#: "))
    return " ".join(reversed(above))
