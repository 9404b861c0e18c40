"""Threads of the linear algebra: many for large matrices, one for small ones, where handing out work costs more."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from threadpoolctl import threadpool_limits

#: Rows up to which a Cholesky factorisation is faster on one thread.
SMALL_SYSTEM = 800


def one_thread() -> AbstractContextManager:
    """A context in which BLAS uses one thread: where a search runs, which magnifies what several round differently.

    >>> with one_thread():
    ...     pass
    """
    return threadpool_limits(limits=1, user_api="blas")


def threads_for(rows: int) -> AbstractContextManager:
    """A context in which BLAS uses one thread if the system is small, and whatever the user has set otherwise."""
    return one_thread() if rows <= SMALL_SYSTEM else nullcontext()
