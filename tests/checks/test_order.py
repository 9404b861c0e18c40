"""Rows that depend on each other in their order are a flattened chain, unless they are sorted or a design."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, qmc

import vvcv
from vvcv.checks import check
from vvcv.data import Task, Tasks
from vvcv.estimation import diagnosis


def chain(seed: int, n: int, d: int, rho: float) -> np.ndarray:
    x = np.random.default_rng([seed, n, d]).normal(size=(n, d))
    for i in range(1, n):
        x[i] = rho * x[i - 1] + np.sqrt(1 - rho**2) * x[i]
    return x


def said(x: np.ndarray, values: np.ndarray | None = None) -> set[str]:
    return {"chain", "sorted", "design"} & set(check(Task(x, -x, x[..., 0] if values is None else values)).codes)


@pytest.mark.parametrize(
    ("n", "d", "rho"), [(200, 1, 0.5), (200, 5, 0.5), (200, 30, 0.5), (100, 1, 0.95), (100, 8, 0.95)]
)
def test_flattened_chains_raise_an_alarm(n, d, rho):
    """Power 99 % or more: two misses in 20 have probability below 2 %."""
    assert sum(said(chain(seed, n, d, rho)) == {"chain"} for seed in range(20)) >= 19


@pytest.mark.parametrize(("n", "d"), [(20, 1), (20, 30), (50, 3), (200, 30), (1000, 4)])
def test_independent_rows_raise_none(n, d):
    """Nominal rate 0.5 %: two alarms in 40 have probability below 2 %."""
    assert sum(said(chain(seed, n, d, 0.0)) != set() for seed in range(40)) <= 1


def test_the_same_rows_as_a_chain_raise_none_and_the_remedy_says_so():
    x = chain(0, 400, 2, 0.8)
    assert said(x[None]) == set()
    assert "(chain, draw, d)" in str(check(Task(x, -x, x[:, 0])))


def test_chains_whose_draws_alternate_and_integrands_that_mix_slowly_are_seen():
    walkers = np.stack([chain(seed, 60, 2, 0.9) for seed in range(16)], axis=1).reshape(-1, 2)
    assert said(walkers) == {"chain"}
    x = np.random.default_rng(0).normal(size=(300, 2))
    assert said(x, chain(1, 300, 1, 0.7)[:, 0]) == {"chain"}


def test_sorted_rows_and_designs_are_notes_of_their_own():
    x = np.random.default_rng(0).normal(size=(100, 2))
    assert said(x[np.argsort(x[:, 1])]) == {"sorted"}
    for sequence in (qmc.Sobol(3, seed=1), qmc.Halton(3, seed=1)):
        assert said(norm.ppf(sequence.random(128))) == {"design"}
    assert check(Task(np.sort(x[:, 0]), -np.sort(x[:, 0]), x[:, 1])).worst == "note"


@pytest.mark.parametrize("n", [20, 24, 30, 32, 39])
def test_designs_of_few_rows_are_told_from_chains_whose_draws_alternate(n):
    """Such a chain is taken for a design in at most 2 %: more than two in 40 have probability below 5 %."""
    for d, seed in ((1, 0), (2, 1), (8, 2)):
        for sequence in (qmc.Sobol(d, seed=seed), qmc.Halton(d, seed=seed)):
            assert said(norm.ppf(sequence.random(64)[:n])) == {"design"}
    found = [said(chain(seed, n, 2, -0.9)) for seed in range(40)]
    assert found.count({"design"}) <= 2 and found.count({"chain"}) >= 25


def test_a_design_without_its_first_point_is_one_still():
    points = norm.ppf(qmc.Sobol(3, seed=4).random(64))
    assert all(said(points[1:n]) == {"design"} for n in (25, 40, 64))


@pytest.mark.parametrize("d", [1, 8])
def test_few_independent_rows_are_no_design(d):
    """Nominal rate below 0.5 %: more than two alarms in 60 have probability below 1 %."""
    assert sum(said(chain(seed, n, d, 0.0)) != set() for seed in range(20) for n in (20, 22, 27)) <= 2


def test_rare_events_and_constants_are_no_chain():
    """One number in a hundred differs: neighbours among so few are chance."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = rng.normal(size=(500, 1))
        assert said(x, (x[:, 0] > 2.3).astype(float)) == set()
    assert said(x, np.ones(500)) == set()


def test_a_long_chain_is_seen_although_the_check_thins_it(monkeypatch):
    monkeypatch.setattr(diagnosis, "MOST_PRODUCTS", 1)
    x = chain(3, 4000, 1, 0.5)
    assert max(diagnosis.thinned(Tasks(Task(x, -x, x[:, 0]))).sizes) == 500
    with pytest.warns(vvcv.AlarmWarning, match="draws of a chain"):
        vvcv.estimate(Task(x, -x, x[:, 0]), "mc")
