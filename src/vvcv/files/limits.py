"""What is too large to read, and what cannot be read, in one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..data import require


def within(size: int, limit: int, name: str) -> None:
    """Refuse content of more than `limit` bytes."""
    require(
        size <= limit,
        f"{name!r} holds {size / 1e9:.3g} GB of numbers, but at most {limit / 1e9:.3g} GB are read. Thin the draws, "
        "or raise the limit (--max-gb).",
    )


@contextmanager
def readable(file: Path, kind: str, remedy: str) -> Iterator[None]:
    """Turn whatever a reader raises about a broken file into one sentence; errors of ours pass."""
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # libraries raise many kinds for broken files
        if isinstance(error, ValueError) and str(error).startswith(repr(file.name)):
            raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(f"{file.name!r} cannot be read as {kind} ({reason}). {remedy}") from None
