"""Files that outlive a kill, a power cut or a full disk: whole replacement, synced lines, one writer at a time."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

#: How often a folder is removed that is there again, and the seconds between: threads end their last file in less.
TRIES, BETWEEN_TRIES = 40, 0.05


def place_for(path: Path) -> Path:
    """Where a file or folder is going to be written, or an OSError that says why it cannot be."""
    if path.exists() and not (path.is_file() or path.is_dir()):  # another file would take the place of a device
        raise OSError(f"{str(path)!r} is a device or a pipe, but a file is to be written. Choose another name.")
    path = path.resolve()  # a link keeps pointing where it did
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} to write {path.name!r} in. Make it first.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{str(path.parent)!r} does not let {path.name!r} be written. Choose another folder.")
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file or folder beside `path` that takes its place when the block ends well, and else vanishes."""
    path = place_for(path)
    temporary, old = (path.with_name(f".vvcv-{secrets.token_hex(8)}.tmp") for _ in range(2))
    try:
        yield temporary
        if path.is_dir() and not temporary.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a folder, but a file is to be written. Choose another name.")
        force_to_disk(temporary)
        if path.is_dir():  # what a folder holds cannot be replaced at once
            os.replace(path, old)
        os.replace(temporary, path)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        _remove(temporary)
    force_to_disk(path.parent)  # the new name must survive a crash, too


def _remove(temporary: Path) -> None:
    """Remove a file or folder, in which threads of who wrote it (zarr's) may be at work for a moment still."""
    for _ in range(TRIES):
        if not temporary.is_dir():
            temporary.unlink(missing_ok=True)
            return
        shutil.rmtree(temporary, ignore_errors=True)
        time.sleep(BETWEEN_TRIES)


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file as a whole: readers, and a kill, see the old content or the new.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.md"
    >>> write_whole(path, "| a |")
    >>> path.read_text()
    '| a |'
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def append(file: IO[bytes], *lines: str) -> None:
    """Write lines and wait until the disk has them."""
    file.write("".join(line + "\n" for line in lines).encode())
    file.flush()
    os.fsync(file.fileno())


def whole_lines(content: bytes) -> list[bytes]:
    """The lines that have an end: what follows the last one was torn by a kill, or is nothing.

    >>> whole_lines(b"first" + bytes([10]) + b"sec")
    [b'first']
    """
    return content.split(b"\n")[:-1]


def cut_torn_line(file: IO[bytes]) -> None:
    """Cut off a last line without an end."""
    file.seek(0)
    content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        file.truncate(whole)
        os.fsync(file.fileno())


def lock(file: IO, refusal: str) -> None:
    """Keep other processes out while the file is open, or raise `refusal`; the lock of a killed process is gone."""
    try:
        import fcntl
    except ImportError:  # not on Windows: there the user must see to it
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ValueError(refusal) from None


def force_to_disk(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder where the system can promise that."""
    if path.is_dir() and os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
