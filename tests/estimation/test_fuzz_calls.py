"""Whatever containers, samples and names arrive: all public calls answer with finite numbers or a ValueError."""

import gc
import os
import tempfile
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from answers import answered, quietly
from hypothesis import given, settings
from hypothesis import strategies as st

import vvcv
from vvcv import Task, Tasks

EXAMPLES = int(os.environ.get("VVCV_FUZZ_EXAMPLES", "25"))
ORDINARY = st.floats(-1e3, 1e3, width=32)
MAGNITUDES = st.sampled_from([1.0, 1e-150, 1e-30, 1e30, 1e149])

#: How arrays of numbers may arrive; all but the last few hold exactly the numbers.
CONTAINERS = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist()),
    "big-endian": lambda a: a.astype(">f8"),
    "column-major": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "reversed": lambda a: a[::-1][::-1],
    "read-only": lambda a: np.lib.stride_tricks.as_strided(a, writeable=False),
    "masked": lambda a: np.ma.masked_array(a, mask=np.zeros(a.shape, bool)),
    "pandas": lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a),
    "xarray": xr.DataArray,
    "objects": lambda a: a.astype(object),
    "text": lambda a: a.astype(str),
    "complex": lambda a: a.astype(complex),
    "dates": lambda a: a.astype("datetime64[s]"),
    "missing": lambda a: np.ma.masked_array(a, mask=np.arange(a.size).reshape(a.shape) == 0),
    "dictionary": lambda a: {"values": a},
    "nothing": lambda a: None,
    "one number": lambda a: float(a.flat[0]),
    "a function": lambda a: a.mean,
}
FAITHFUL = list(CONTAINERS)[:10]


@given(st.data(), st.integers(2, 9), st.integers(1, 3), st.sampled_from(sorted(CONTAINERS)))
def test_any_container_is_read_right_or_refused(data, n, d, kind):
    x, f = data.draw(hnp.arrays(float, (n, d), elements=ORDINARY)), data.draw(hnp.arrays(float, n, elements=ORDINARY))
    convert = CONTAINERS[kind]
    task = quietly(lambda: Task(convert(x), convert(-x), convert(f)))
    if kind in FAITHFUL:
        np.testing.assert_array_equal(task.points, x)
        np.testing.assert_array_equal(task.values, f)
    elif task is not None:
        answered(lambda: vvcv.estimate(task, "zv", on_alarm="ignore"))


@given(st.data(), st.integers(1, 3), st.integers(1, 8), st.integers(1, 2), st.integers(1, 3))
def test_any_chains_and_integrands_are_answered(data, chains, draws, d, count):
    x = data.draw(hnp.arrays(float, (chains, draws, d), elements=ORDINARY))
    s = data.draw(hnp.arrays(float, (chains, draws, d), elements=ORDINARY))
    f = data.draw(hnp.arrays(float, (chains, draws, count), elements=ORDINARY))
    answered(lambda: vvcv.estimate(Tasks.shared(x, s, f), "zv", on_alarm="ignore"))


@given(st.data(), st.integers(1, 30), st.integers(1, 4), MAGNITUDES, MAGNITUDES, st.booleans())
def test_a_check_of_anything_prints_itself(data, n, d, unit, factor, repeated):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    x = rng.normal(size=(n, d)) * unit
    x = x[rng.integers(n, size=n)] if repeated else x
    tasks = quietly(lambda: Task(x, -np.clip(x / unit * factor, -1e149, 1e149), rng.standard_t(1, size=n) * unit))
    if tasks is not None:
        found = quietly(lambda: vvcv.check(tasks))
        assert found is None or (str(found) and "nan" not in str(found))


@settings(max_examples=max(EXAMPLES // 5, 5))
@given(st.lists(st.text(max_size=8), min_size=1, max_size=4, unique=True), st.integers(0, 10_000))
def test_any_names_survive_the_table_the_page_and_the_file(names, seed):
    x = np.random.default_rng(seed).normal(size=(12, 1))
    estimate = answered(lambda: vvcv.estimate(Tasks.shared(x, -x, np.tile(x, len(names)), names=names), "zv"))
    str(estimate).encode()
    with tempfile.TemporaryDirectory() as folder:
        quietly(lambda: estimate.save(Path(folder) / "e.nc"))
        loaded = quietly(lambda: vvcv.load(Path(folder) / "e.nc"))
        assert loaded.names == tuple(names) and str(loaded) == str(estimate)


@given(st.sampled_from(["cf", "secf", "vv", "vv-secf", "auto"]), st.integers(0, 10_000), st.integers(1, 3), st.data())
def test_every_rung_is_finite_on_small_samples_of_any_magnitude(method, seed, d, data):
    rng = np.random.default_rng(seed)
    tasks = []
    for n in data.draw(st.lists(st.integers(2, 12), min_size=1, max_size=3)):
        unit, scale = data.draw(MAGNITUDES), data.draw(MAGNITUDES)
        x = rng.standard_t(3, size=(n, d)) * unit
        x = x[rng.integers(n, size=n)] if data.draw(st.booleans()) else x
        f = data.draw(st.sampled_from([np.sin, np.round, np.ones_like, np.exp]))(x[:, 0] / unit) * scale
        tasks.append(quietly(lambda x=x, f=f, unit=unit: Task(x, np.clip(-x / unit / unit, -1e149, 1e149), f)))
    if all(task is not None for task in tasks):
        answered(lambda: vvcv.estimate(tasks, method, on_alarm="ignore"))


@pytest.mark.hypothesis  # `make fuzz` runs it too, over more calls
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
def test_memory_stays_flat_over_many_calls():
    """Growth over the second half of the calls stays below 10 MB."""
    rng = np.random.default_rng(0)

    def calls(count):
        for _ in range(count):
            x = rng.normal(size=(int(rng.integers(2, 60)), int(rng.integers(1, 4))))
            str(vvcv.estimate(Task(x, -x, rng.normal(size=len(x))), "zv" if len(x) > 9 else "auto", on_alarm="ignore"))
        gc.collect()
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    half = max(EXAMPLES // 2, 50)
    assert -calls(half) + calls(half) < 10
