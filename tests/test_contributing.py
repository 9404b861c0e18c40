"""What CONTRIBUTING.md and docs/architecture.md show works, and names only files that exist."""

import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from vvcv import Tasks
from vvcv.experiments.errors import ErrorsByCell
from vvcv.experiments.experiment import Cell
from vvcv.experiments.our_methods import our_methods
from vvcv.experiments.runner import replicate
from vvcv.kernels import Kernel, Side
from vvcv.kernels.base import positive
from vvcv.stein import SteinKernel, gram

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def shown(name):
    """The class of that name in a block of code of CONTRIBUTING.md."""
    blocks = re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.DOTALL)
    names = {"np": np, "jnp": jnp, "Array": Array, "Float": Float, "Kernel": Kernel, "positive": positive}
    names |= {"Tasks": Tasks, "ErrorsByCell": ErrorsByCell, "Cell": Cell, "our_methods": our_methods}
    exec(next(block for block in blocks if f"class {name}(" in block), names)
    return names[name]


def test_the_kernel_of_the_page_has_a_stein_kernel_of_mean_zero():
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    x, task = nodes[:, None], np.zeros(40, int)
    k = gram(SteinKernel(shown("Cosine")(1.5)), Side(x, -x, task), Side(x[:3], -x[:3], task[:3]))
    np.testing.assert_allclose(weights @ k / weights.sum(), 0.0, atol=1e-9)


def test_the_experiment_of_the_page_runs():
    found = replicate(shown("Square")(), 0, quick=True)
    errors = {method: error for _, method, _, error in found}
    assert errors["zv"] < 1e-9 and str(found[0][0]) == "n=10"


@pytest.mark.parametrize("page", [CONTRIBUTING, ARCHITECTURE], ids=["contributing", "architecture"])
def test_files_and_names_on_the_page_exist(page):
    files = set(re.findall(r"`([a-z_/]+\.py)`", page))
    assert len(files) > 5
    assert [f for f in files if not any((ROOT / folder / f).is_file() for folder in (".", "src/vvcv"))] == []


def test_a_stranger_finds_where_to_change_what():
    rows = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", ARCHITECTURE, re.MULTILINE))
    source = ROOT / "src" / "vvcv"
    assert (
        "def noise_floor" in (source / "tuning" / "parameters.py").read_text()
        and "noise_floor" in rows["the noise floor"]
    )
    assert "def first_order" in (source / "kernels" / "radial_stein.py").read_text()
    assert "kernels/radial_stein.py" in rows["a kernel's closed form"]
    assert "def combine" in (source / "estimation" / "weights.py").read_text()
    assert "estimation/weights.py" in rows["how rungs are weighed"]
    assert "def make_batches" in (source / "paper" / "batches.py").read_text()
    assert "paper/batches.py" in rows["Algorithm 1's batches"] and "checks/" in rows["the text of an alarm"]
