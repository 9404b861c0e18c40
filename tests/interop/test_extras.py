"""Optional packages: none is imported before it is needed, and a missing one is named."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import vvcv
from vvcv.files import write_tasks
from vvcv.interop.extras import EXTRAS
from vvcv.problems import nuts, stan


@pytest.mark.parametrize(
    ("call", "package", "message"),
    [
        (vvcv.from_numpyro, "numpyro", 'from_numpyro needs NumPyro: pip install "vvcv[numpyro]"'),
        (vvcv.from_pymc, "pymc", 'from_pymc needs PyMC: pip install "vvcv[pymc]"'),
    ],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, call, package, message):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(ImportError) as error:
        call(object())
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("matplotlib", "plot", lambda est, folder: est.plot()),
        ("h5netcdf", "io", lambda est, folder: est.save(folder / "est.nc")),
        ("pyarrow", "files", lambda est, folder: write(folder, "a.parquet")),
        ("zarr", "files", lambda est, folder: write(folder, "a.zarr")),
        ("h5netcdf", "io", lambda est, folder: write(folder, "a.nc")),
        ("arviz", "arviz", lambda est, folder: est.to_inference_data()),
        ("blackjax", "blackjax", lambda est, folder: nuts._import_blackjax()),
        ("stan", "stan", lambda est, folder: stan._import_stan()),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_needs_an_extra_names_it(monkeypatch, tmp_path, package, extra, call):
    x = np.random.default_rng(0).normal(size=(20, 1))
    est = vvcv.estimate(vvcv.Tasks.shared(x, -x, x**2), "mc", check=False)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"vvcv\[{extra}\]"):
        call(est, tmp_path)


def write(folder, name):
    x = np.zeros((3, 1))
    write_tasks(folder / name, vvcv.Tasks.shared(x, x, x))


def test_every_extra_is_named_by_what_needs_it():
    root = Path(__file__).parents[2]
    extras = set(tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    named = {extra for _, extra in EXTRAS.values()}
    for path in (root / "src").rglob("*.py"):
        named |= set(re.findall(r"pip install ['\"]vvcv\[(\w+)\]", path.read_text()))
    bundles = {"all", "experiments", "test", "docs", "dev"}
    # A comparison leaves MBAR out without pymbar; whoever has a Dask array has Dask.
    assert extras - bundles - named == {"evidence", "dask"}


def test_importing_vvcv_imports_no_sampler_and_no_arviz():
    program = f"import sys, vvcv; print([name for name in {sorted(EXTRAS)} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_all_public_names_are_there():
    for name in vvcv.__all__:
        assert getattr(vvcv, name) is not None
