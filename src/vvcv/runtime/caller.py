"""Warnings that point at the line of the user's code that called the library, however deep they are given."""

from __future__ import annotations

import sys
import warnings


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside the library from which it was called.

    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     warn_caller("look there", UserWarning)
    >>> str(given[0].message)
    'look there'
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "vvcv":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
