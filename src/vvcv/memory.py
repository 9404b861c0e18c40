"""How large an exact system may be: what a factorisation needs is known before it is allocated."""

from __future__ import annotations

import os

#: Arrays of N x N float64 alive at the peak of an exact solution with its gradient (measured in `benchmarks/speed.py`).
ARRAYS = 4.5


def bytes_needed(rows: int, method: str = "cf") -> float:
    """Memory of an exact fit with N rows.

    >>> bytes_needed(1000)
    36000000.0
    """
    return ARRAYS * 8 * rows**2


def largest_system() -> int:
    """The most rows whose exact fit takes at most 80 % of the machine's memory."""
    return int((0.8 * physical_memory() / (8 * ARRAYS)) ** 0.5)


def physical_memory() -> float:
    """Bytes of memory of this machine; 8 GB where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 8e9
