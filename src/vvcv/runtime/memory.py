"""How large an exact system may be: what a fit needs is known before it is allocated.

Numbers are measured by `benchmarks/trust/memory.py`: arrays of N x N float64 alive at the peak, beside a fixed part.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath

import numpy as np

from .device import device_for

#: What a fit needs however few its rows are, in bytes.
FIXED = 50e6

#: Rows that parameters are tuned on at most (the solution always uses all), and arrays alive while they are: matrix,
#: gradient and tiles of both. An evaluation costs the cube of the rows, and a thousand values know a dozen parameters.
MOST_TUNING_ROWS, TUNING_ARRAYS = 1000, 4.5

#: Arrays alive while the solution of several integrands or tasks is checked by leave-one-out (of one task two will do).
#: Rungs are solved one after the other and keep nothing.
SOLUTION_ARRAYS = 3.0

#: Rows beyond which an exact fit is not worth its time, whatever the memory: it takes minutes on two cores, and grows
#: with the cube of the rows (`benchmarks/time_to_answer.py`).
MOST_ROWS = 12_000

#: Arrays alive on a device (the matrix, in which all is done, products of its parts, and what a factorisation needs),
#: and the most rows there: more entries than a 32-bit number counts are too many for its libraries.
DEVICE_ARRAYS, MOST_DEVICE_ROWS = 3.0, 46_000


def bytes_needed(rows: int) -> float:
    """Peak memory of exact fits of N rows, however many integrands and rungs there are.

    >>> round(bytes_needed(5000) / 1e6)
    686
    """
    return FIXED + TUNING_ARRAYS * 8 * min(rows, MOST_TUNING_ROWS) ** 2 + SOLUTION_ARRAYS * 8 * rows**2


def largest_system() -> int:
    """The most rows that are fitted exactly: in 80 % of the memory of the machine, or of its device, and in minutes."""
    device = device_for(sys.maxsize)
    if device is not None and device.platform != "cpu":
        room = (device.memory_stats() or {}).get("bytes_limit", physical_memory())
        return min(int((0.8 * room / (8 * DEVICE_ARRAYS)) ** 0.5), MOST_DEVICE_ROWS)
    room = 0.8 * physical_memory() - FIXED - TUNING_ARRAYS * 8 * MOST_TUNING_ROWS**2
    return min(int((max(room, 0.0) / (8 * SOLUTION_ARRAYS)) ** 0.5), MOST_ROWS)


def physical_memory() -> float:
    """Bytes of memory of this machine, or of the container or job in it; 8 GB where the system does not tell."""
    try:
        machine = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        machine = 8e9
    return min(machine, granted_memory())


@cache
def granted_memory(root: str = "/") -> float:
    """Bytes beyond which Linux ends this process's control group, or one that it lies in; infinite where none does.

    >>> granted_memory("/no/such/folder")
    inf
    """
    least = np.inf
    for file in _limit_files(Path(root)):
        with suppress(OSError, ValueError):  # there is none, or no limit: "max"
            least = min(least, float(file.read_text()))
    return least


def _limit_files(root: Path) -> Iterator[Path]:
    """Where limits of memory would stand, of version 2 and 1 of control groups, from the group up to the outermost."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for _, kinds, group in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        folder, name = {"": ("", "memory.max"), "memory": ("memory", "memory.limit_in_bytes")}.get(kinds, ("", ""))
        path = PurePosixPath(group)
        for each in (path, *path.parents) if name else ():
            yield root / "sys/fs/cgroup" / folder / str(each).lstrip("/") / name
