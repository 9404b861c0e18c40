"""A file that keeps every run of a model from the moment it is finished, whatever happens to the process.

One line of JSON says what the runs are of, then one line follows for each run, synced to the disk before the next run
starts. A line torn by a kill or a power cut is cut off when the file is opened again: its run was not finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..data import require
from ..data.validation import LARGEST
from ..runtime.disk import append, cut_torn_line, force_to_disk, lock, whole_lines

#: What the first line of every store begins with.
MARK = '{"vvcv runs": 1,'


@dataclass(frozen=True)
class Run:
    """One finished run: the value, or what went wrong, and how the model was written that made it."""

    model: str
    number: int
    x: tuple[float, ...]
    value: float | None
    error: str | None = None
    code: str | None = None


class Store:
    """The finished runs by model and number; with no file they are kept in memory alone."""

    def __init__(self, file: IO[bytes] | None, runs: list[Run]) -> None:
        self._file = file
        self.runs = {(run.model, run.number): run for run in runs}  # the last one counts where one was tried again

    def add(self, run: Run) -> None:
        """Keep a run, and wait until the disk has it."""
        if self._file is not None:
            append(self._file, json.dumps(vars(run)))
        self.runs[run.model, run.number] = run


@contextmanager
def open_store(path: str | os.PathLike[str] | None, settings: dict[str, str]) -> Iterator[Store]:
    """The store at `path`, made if there is none, for runs with these settings and no others; one process at a time.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "runs.jsonl"
    >>> with open_store(path, {"seed": "0"}) as store:
    ...     store.add(Run("cheap", 0, (1.5,), 2.0))
    >>> with open_store(path, {"seed": "0"}) as store:
    ...     store.runs["cheap", 0].value
    2.0
    """
    if path is None:
        yield Store(None, [])
        return
    path = _place(path)
    header = MARK + json.dumps(settings)[1:]
    with path.open("a+b") as file:
        lock(file, f"One process at a time may write to a store, but another is at work in {str(path)!r}. Wait for it.")
        file.seek(0)
        content = file.read()
        _check_header(content, header, path)
        cut_torn_line(file)
        lines = whole_lines(content)
        if not lines:
            append(file, header)
            force_to_disk(path.parent)  # the new file's name must be as durable as its content
        yield Store(file, [_read(line, i + 2, path) for i, line in enumerate(lines[1:])])


def _place(path: str | os.PathLike[str]) -> Path:
    """Where the store is, in a folder that is made if need be; what can be no file is refused."""
    require(isinstance(path, str | os.PathLike), f"store must be the path of a file, or None, but is {path!r}.")
    place = Path(path)
    require(not place.is_dir(), f"store must be a file, but {str(path)!r} is a folder. Name a file in it.")
    require(
        place.is_file() or not place.exists(),
        f"store must be a file, but {str(path)!r} is a device or a pipe. Name a file, or give None to keep nothing.",
    )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"store must be in a folder, but {str(place.parent)!r} cannot be one ({error}).") from None
    return place


def _check_header(content: bytes, header: str, path: Path) -> None:
    """Refuse, before anything is written, a file that is not ours or keeps other runs."""
    first, ended, _ = content.partition(b"\n")
    if not ended and header.encode().startswith(first):  # new, or killed while it was made
        return
    require(
        bool(ended) and first.startswith(MARK.encode()),
        f"store must be a file that keeps runs, or a new one, but {str(path)!r} is another. Choose another path.",
    )
    found, wanted = json.loads(first), json.loads(header)
    for name, value in wanted.items():
        require(
            found.get(name) == value,
            f"The store {str(path)!r} keeps runs with other settings: {name} is {found.get(name)!r} there and "
            f"{value!r} now. Use the settings it was made with, or another path.",
        )


def _read(line: bytes, number: int, path: Path) -> Run:
    try:
        fields = json.loads(line)
        value = None if fields["value"] is None else float(fields["value"])
        run = Run(**{**fields, "x": tuple(float(x) for x in fields["x"]), "value": value})
        texts = (run.model, run.error or "", run.code or "")
        kinds = type(run.number) is int and all(isinstance(text, str) for text in texts)
        require(kinds and (value is None or abs(value) <= LARGEST), "a run has a number, a model and a finite value")
        return run
    except (ValueError, TypeError, KeyError):
        raise ValueError(
            f"Every line of a store is one run, but line {number} of {str(path)!r} cannot be read. Was it edited? "
            "Remove that line: its run will be made again."
        ) from None
