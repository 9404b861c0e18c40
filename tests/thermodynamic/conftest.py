"""One ladder and its evidence, for all tests that only need some."""

from types import SimpleNamespace

import pytest
from gaussian_model import gaussian_ladder

import vvcv


@pytest.fixture(scope="session")
def ladder() -> SimpleNamespace:
    return gaussian_ladder(seed=0)


@pytest.fixture(scope="session")
def result(ladder) -> vvcv.Evidence:
    return vvcv.evidence(ladder)
