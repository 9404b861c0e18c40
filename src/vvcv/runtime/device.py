"""Where a linear system is solved: by LAPACK on the host, or by JAX on a device.

Where JAX's default device is a GPU, systems large enough that it pays go there; `placed` says otherwise for a block of
code, and keeps everything small on the host meanwhile, where it is quicker.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias

import jax

#: Rows from which systems go to a device: where it is merely there, when one fit pays for compilation; where it was
#: asked for, when it is quicker once its programs are compiled.
FEWEST_ROWS, FEWEST_IF_NAMED = 4000, 600

#: What a user may say: nothing (JAX's default device), a kind of device, or a device of JAX's own.
Device: TypeAlias = str | jax.Device | None


class _Home(NamedTuple):
    device: jax.Device | None
    fewest_rows: int


_CURRENT: ContextVar[_Home | None] = ContextVar("home of linear systems", default=None)


def device_for(rows: int) -> jax.Device | None:
    """The device that solves a system of so many rows; None is the host.

    >>> with placed("cpu"):
    ...     device_for(5000) is None
    True
    """
    device, fewest = _CURRENT.get() or _Home(_default(), FEWEST_ROWS)
    return device if rows >= fewest else None


@contextmanager
def placed(device: Device = None, fewest_rows: int | None = None) -> Iterator[None]:
    """A block whose linear systems of so many rows or more are solved on a device, "cpu" being LAPACK on the host.

    A device of JAX's own is taken as it is, one of the CPU too. None keeps what a block around this one has said.
    """
    if device is None and _CURRENT.get() is not None:
        yield
        return
    if fewest_rows is None:
        fewest_rows = FEWEST_ROWS if device is None else FEWEST_IF_NAMED
    token = _CURRENT.set(_Home(_default() if device is None else _named(device), fewest_rows))
    try:
        with small_work_on_the_host():
            yield
    finally:
        _CURRENT.reset(token)


def _default() -> jax.Device | None:
    chosen: Device = getattr(jax.config, "jax_default_device", None)
    device = jax.local_devices()[0] if chosen is None else _named(chosen)
    return None if device is None or device.platform != "gpu" else device


def _named(device: str | jax.Device) -> jax.Device | None:
    if isinstance(device, jax.Device):
        return device
    if device == "cpu":
        return None
    try:
        return jax.local_devices(backend=str(device))[0]
    except RuntimeError:
        present = sorted({each.platform for each in jax.local_devices()} | {"cpu"})
        raise ValueError(
            f"device must be None, 'cpu', 'gpu' or a JAX device, and be there, but is {device!r} where JAX sees "
            f"{present}. Leave it out to take what there is, or install JAX for that device."
        ) from None


def small_work_on_the_host():
    """JAX's default device is the CPU: what is small, or called from the host step by step, is slow elsewhere."""
    try:
        return jax.default_device(jax.local_devices(backend="cpu")[0])
    except RuntimeError:  # a JAX that was told to see no CPU
        return nullcontext()
