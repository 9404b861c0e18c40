"""What a check says: findings, each with its severity, what was found, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "note", "warning", "error"]


class AlarmWarning(UserWarning):
    """The data of an estimate raise an alarm: numbers made of them may be wrong."""


#: From harmless to harmful.
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """One thing a check found; `task` is None where all tasks are meant."""

    severity: Severity
    code: str
    message: str
    remedy: str = ""
    task: str | None = None

    @property
    def sentence(self) -> str:
        """Where, what, and the remedy."""
        where = "" if self.task is None else f"task {self.task!r}: "
        return f"{where}{self.message}{' ' + self.remedy if self.remedy else ''}"

    def __str__(self) -> str:
        return f"{self.severity:<8} {self.code:<18} {self.sentence}"


@dataclass(frozen=True)
class Check:
    """All findings, worst first; prints itself with one line for each.

    >>> print(Check((Finding("note", "duplicates", "3 of 10 points repeat others."),)))
    note     duplicates         3 of 10 points repeat others.
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing worse than a note was found."""
        return self.worst in ("ok", "note")

    @property
    def worst(self) -> Severity:
        """The highest severity among the findings."""
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index, default="ok")

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of all findings, in their order."""
        return tuple(finding.code for finding in self.findings)

    @property
    def alarms(self) -> list[str]:
        """A line for each warning and error."""
        return [f"{f.severity}: {f.sentence}" for f in self.findings if f.severity in ("warning", "error")]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)

    __repr__ = __str__


def worst_first(findings: list[Finding]) -> Check:
    """Findings in order of falling severity, otherwise as they came."""
    return Check(tuple(sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity))))


def in_short(names: Sequence[str]) -> str:
    """A few of the names, and how many more there are.

    >>> in_short(["a", "b", "c", "d", "e"])
    "'a', 'b', 'c' and 2 more"
    """
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
