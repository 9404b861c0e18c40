"""One path and its evidence, for all tests that only need some."""

from types import SimpleNamespace

import pytest
from gaussian_model import gaussian_path

import vvcv


@pytest.fixture(scope="session")
def path() -> SimpleNamespace:
    return gaussian_path(seed=0)


@pytest.fixture(scope="session")
def result(path) -> vvcv.Evidence:
    return vvcv.evidence(path)
