"""How large an exact system may be: what a fit needs is known before it is allocated.

Numbers are measured by `benchmarks/trust/memory.py`: arrays of N x N float64 alive at the peak, beside a fixed part.
"""

from __future__ import annotations

import os
import sys

from .device import device_for

#: Compiled programs and the library's own needs, in bytes.
FIXED = 200e6

#: Rows that parameters are tuned on at most (the solution always uses all), and arrays alive while they are: matrix,
#: gradient and tiles of both. An evaluation costs the cube of the rows, and a thousand values know a dozen parameters.
MOST_TUNING_ROWS, TUNING_ARRAYS = 1000, 4.5

#: Arrays alive while a solution is checked by leave-one-out, and those that every rung solved before it keeps.
SOLUTION_ARRAYS, KEPT_ARRAYS = 5.0, 4.0

#: Rungs of the ladder that solve a system of all rows, tasks taken as one function among them.
MOST_RUNGS = 5


#: Arrays alive on a device (the matrix, in which all is done, products of its parts, and what a factorisation needs),
#: and the most rows there: more entries than a 32-bit number counts are too many for its libraries.
DEVICE_ARRAYS, MOST_DEVICE_ROWS = 3.0, 46_000


def bytes_needed(rows: int, rungs: int = 1) -> float:
    """Peak memory of exact fits of N rows by some rungs of the ladder, one after the other.

    >>> round(bytes_needed(5000) / 1e6)
    1236
    """
    tuning = TUNING_ARRAYS * 8 * min(rows, MOST_TUNING_ROWS) ** 2
    return FIXED + tuning + _solution_arrays(rungs) * 8 * rows**2


def largest_system() -> int:
    """The most rows that the whole ladder can fit exactly in 80 % of the memory of the machine, or of its device."""
    device = device_for(sys.maxsize)
    if device is not None and device.platform != "cpu":
        room = (device.memory_stats() or {}).get("bytes_limit", physical_memory())
        return min(int((0.8 * room / (8 * DEVICE_ARRAYS)) ** 0.5), MOST_DEVICE_ROWS)
    room = 0.8 * physical_memory() - FIXED - TUNING_ARRAYS * 8 * MOST_TUNING_ROWS**2
    return int((max(room, 0.0) / (8 * _solution_arrays(MOST_RUNGS))) ** 0.5)


def _solution_arrays(rungs: int) -> float:
    return SOLUTION_ARRAYS + KEPT_ARRAYS * (rungs - 1)


def physical_memory() -> float:
    """Bytes of memory of this machine; 8 GB where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 8e9
