"""An append-only file of finished replications, safe against a kill at any moment.

One line of JSON for each replication, written and synced before the next one starts. A line torn by a kill is cut off
when the file is opened again; its replication is the only work lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..runtime.disk import append, cut_torn_line, lock, whole_lines


class Journal:
    """The finished replications of one method: `records[(cell, replication)]`.

    >>> import tempfile
    >>> journal = Journal(Path(tempfile.mkdtemp()) / "mc.jsonl")
    >>> journal.append([{"cell": "m=40", "replication": 0, "answer": [0.5], "seconds": 0.1}])
    >>> Journal(journal.path).records["m=40", 0]["answer"]
    [0.5]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = {_key(record): record for record in _read(path)}

    def append(self, records: Iterable[dict[str, Any]]) -> None:
        """Write records and wait until the disk has them."""
        records = list(records)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            append(file, *(json.dumps(record) for record in records))
        self.records |= {_key(record): record for record in records}


def mend(path: Path) -> None:
    """Cut off a last line without an end."""
    if path.is_file():
        with path.open("r+b") as file:
            cut_torn_line(file)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Keep a second run out of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        lock(
            file,
            f"One run at a time may write to a folder, but another is at work in {str(folder)!r}. Wait for it, or "
            "choose another --out.",
        )
        yield


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in whole_lines(path.read_bytes())] if path.is_file() else []


def _key(record: dict[str, Any]) -> tuple[str, int]:
    return record["cell"], record["replication"]
