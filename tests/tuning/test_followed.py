"""The best look is followed, and one more: in another coordinate system where systems differ."""

from types import SimpleNamespace

import numpy as np
import pytest

from vvcv.tuning.followed import worth_following


def designs(correlation, n=100):
    rng = np.random.default_rng(3)
    z = rng.normal(size=(n, 2))
    z[:, 1] = correlation * z[:, 0] + np.sqrt(1 - correlation**2) * z[:, 1]
    return {"scaled": SimpleNamespace(side=SimpleNamespace(points=z))}


LOOKS = [SimpleNamespace(system=system) for system in ("scaled", "scaled", "whitened")]


@pytest.mark.parametrize(("correlation", "second"), [(0.0, 1), (0.2, 1), (0.8, 2), (-0.8, 2)])
def test_the_second_look_is_in_another_system_where_axes_are_clearly_correlated(correlation, second):
    assert worth_following(LOOKS, designs(correlation)) == [LOOKS[0], LOOKS[second]]


def test_one_system_or_one_look_is_enough():
    assert worth_following(LOOKS[:2], designs(0.8)) == LOOKS[:2]
    assert worth_following(LOOKS[:1], designs(0.8)) == LOOKS[:1]


def test_an_axis_that_does_not_vary_is_correlated_with_none():
    given = designs(0.0)
    given["scaled"].side.points[:, 1] = 1.0
    assert worth_following(LOOKS, given) == LOOKS[:2]


def test_axes_as_they_are_are_followed_beside_those_turned_by_chance():
    turned = [SimpleNamespace(system=system) for system in ("whitened", "whitened", "scaled")]
    assert worth_following(turned, designs(0.0)) == [turned[0], turned[2]]
