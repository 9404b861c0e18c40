"""On shared points each task's own parameters start from what suits it, whatever suits all together best."""

from types import SimpleNamespace

import numpy as np
import pytest

from vvcv.candidates.kernel import Options, _suiting, own_parameters
from vvcv.candidates.rungs import KernelFits
from vvcv.data import Prepared, Tasks


def fit(*merits):
    return SimpleNamespace(members=(3, 5), merits=np.array(merits))


class Unsolvable:
    members = (3, 5)

    @property
    def merits(self):
        raise np.linalg.LinAlgError


def test_those_suit_a_task_that_do_not_fall_far_behind_for_it():
    smooth, rough, between = fit(-5.0, -1.0), fit(-1.0, -5.0), fit(-4.5, -4.5)
    assert _suiting([rough, smooth, between], 3) == [smooth, between]
    assert _suiting([rough, smooth, between], 5) == [rough, between]
    assert _suiting([Unsolvable(), rough, smooth], 3) == [smooth]  # a failure is no error of the estimate
    assert _suiting([Unsolvable()], 3) == _suiting([], 3) == own_parameters([], 3, Options()) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_wave_and_a_kink_on_the_same_points_have_families_of_their_own(seed):
    x = np.random.default_rng(seed).normal(size=(80, 2))
    values = np.column_stack([np.sin(x[:, 0]), np.exp(-(x[:, 1] ** 2) / 2), np.abs(x[:, 0])])
    fits = KernelFits(Prepared.of(Tasks.shared(x, -x, values)), Options())
    wave, _, kink = (min(fits.scalar[task], key=lambda fit: fit.found.merit) for task in range(3))
    assert wave.found.family == "squared-exponential" and kink.found.family == "matern-3/2"
    assert wave.found.merit < -10  # what is left of a smooth function has many digits fewer
