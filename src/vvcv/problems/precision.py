"""Run a JAX computation in float64 on the CPU without touching JAX's global settings.

Differential equations at the accuracy of the paper's Appendix E (E.5, E.6) need float64; a library must not decide that
for the whole program, and these small sequential solves are slower on an accelerator than on a CPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def double_precision() -> Iterator[None]:
    """Context (or decorator) inside which JAX works in float64 on the CPU."""
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        yield
