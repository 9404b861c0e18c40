"""docs/scaling.md runs, and what it says was measured is what was recorded."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("dask.array")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scaling.md").read_text()
RECORD = json.loads((ROOT / "benchmarks" / "scale.json").read_text())


def test_the_example_of_the_page_gives_the_exact_means():
    names: dict = {}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1), names)
    np.testing.assert_allclose(names["est"].mean, np.exp(1 / 18), atol=4e-5)
    assert (names["est"].gain > 1000).all()


def test_the_table_of_the_page_is_the_record():
    rows = re.findall(r"^\| ([\d,]+) \| `(\w+)` \| ([\d.]+) s \| ([\d.]+) GB \|", PAGE, re.MULTILINE)
    assert rows
    for count, method, seconds, memory in rows:
        found = RECORD[f"zarr, {method}, rows {count.replace(',', '')}"]
        assert float(seconds) == pytest.approx(found["processor_seconds"], rel=0.02)
        assert float(memory) == pytest.approx(found["peak_gigabytes"], rel=0.02)
