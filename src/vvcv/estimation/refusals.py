"""What is said where a rung cannot serve a task: the rule, what was found, what to do."""

from __future__ import annotations

from ..runtime.memory import bytes_needed


def too_many_rows(method: str, task: str, rows: int, room: int) -> str:
    """An exact fit of more rows than there is room for.

    >>> too_many_rows("cf", "a", 100_000, 12_000)[:60]
    "method 'cf' must factorise a matrix of 100000 rows for task "
    """
    return (
        f"method {method!r} must factorise a matrix of {rows} rows for task {task!r}, which takes "
        f"{bytes_needed(rows) / 1e9:.0f} GB, and time like its cube; there is room for {room} rows."
        " Thin the sample, or use method 'inducing' or 'auto'."
    )
