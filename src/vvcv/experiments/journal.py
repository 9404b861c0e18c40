"""An append-only file of finished replications, safe against a kill at any moment.

One line of JSON for each replication, written and synced before the next one starts. A line torn by a kill is cut off
when the file is opened again; its replication is the only work lost.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


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
        text = "".join(json.dumps(record) + "\n" for record in records)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        self.records |= {_key(record): record for record in records}


def mend(path: Path) -> None:
    """Cut off a last line without an end."""
    if not path.is_file():
        return
    with path.open("r+b") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
            os.fsync(file.fileno())


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file as a whole: readers, and a kill, see the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    with draft.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Keep a second run out of the folder; the system lets go of the lock when a process is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"One run at a time may write to a folder, but another is at work in {str(folder)!r}. "
                "Wait for it, or choose another --out."
            ) from None
        yield


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line end is torn, or nothing
    return [json.loads(line) for line in lines]


def _key(record: dict[str, Any]) -> tuple[str, int]:
    return record["cell"], record["replication"]
