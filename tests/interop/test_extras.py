"""Optional packages: none is imported before it is needed, and a missing one is named."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import vvcv
from vvcv.interop.extras import EXTRAS


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


def test_inference_data_name_the_extra_they_need(monkeypatch):
    x = np.random.default_rng(0).normal(size=(20, 1))
    est = vvcv.estimate(vvcv.Tasks.shared(x, -x, x**2), "zv")
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"vvcv\[arviz\]"):
        est.to_inference_data()


def test_importing_vvcv_imports_no_sampler_and_no_arviz():
    program = f"import sys, vvcv; print([name for name in {sorted(EXTRAS)} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_all_public_names_are_there():
    for name in vvcv.__all__:
        assert getattr(vvcv, name) is not None
