"""Rows shared among several devices give the sums of one."""

import os
import subprocess
import sys

PROGRAM = """
import jax, numpy as np
from vvcv.large import devices
assert jax.local_device_count() == 3 and not devices.on_host()
rng = np.random.default_rng(0)
raw, values, upper = rng.normal(size=(1001, 7)), rng.normal(size=(1001, 2)), np.triu(rng.normal(size=(7, 7)))
gram, cross = devices.gram_and_cross(raw, upper, values)
columns = raw @ upper
np.testing.assert_allclose(gram, columns.T @ columns, rtol=1e-12, atol=1e-11)
np.testing.assert_allclose(cross, columns.T @ values, rtol=1e-12, atol=1e-11)
by_rows, _ = devices._shardings()
assert len(jax.device_put(raw[:999], by_rows).addressable_shards) == 3
"""


def test_rows_are_shared_among_devices():
    settings = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    subprocess.run([sys.executable, "-c", PROGRAM], env=settings, check=True)
