"""A system too large for the machine is refused before it is allocated; 'auto' takes a rung that fits."""

import numpy as np
import pytest

import vvcv
from vvcv.candidates import rungs
from vvcv.estimation import ladder

X = np.random.default_rng(0).normal(size=(60, 2))
TASKS = vvcv.Tasks(
    [vvcv.Task(X[:30], -X[:30], np.cos(X[:30, 0]), name="a"), vvcv.Task(X[30:], -X[30:], np.cos(X[30:, 0]), name="b")]
)


@pytest.mark.parametrize(("room", "method"), [(20, "cf"), (40, "vv")])
def test_a_named_rung_that_does_not_fit_says_what_would(monkeypatch, room, method):
    for module in (rungs, ladder):
        monkeypatch.setattr(module, "largest_system", lambda: room)
    with pytest.raises(ValueError, match=f"room for {room} rows"):
        vvcv.estimate(TASKS, method=method)


def test_auto_takes_a_rung_that_fits(monkeypatch):
    for module in (rungs, ladder):
        monkeypatch.setattr(module, "largest_system", lambda: 20)
    assert set(vvcv.estimate(TASKS).methods) <= {"mc", "zv"}
