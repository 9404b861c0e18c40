"""Each mistake is flagged and named; one data set each, fixed seeds (power over many is a benchmark)."""

from __future__ import annotations

import numpy as np
import pytest

from vvcv.checks import check
from vvcv.data import Task, Tasks

D = 4
SPREAD = np.array([0.2, 1.0, 3.0, 0.6])
FACTOR = SPREAD[:, None] * np.linalg.cholesky(0.6 * np.eye(D) + 0.4)
CENTRE = np.array([1.0, -2.0, 5.0, -0.5])


def gaussian(seed: int, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(seed).normal(size=(n, D)) @ FACTOR.T
    return CENTRE + x, -np.linalg.solve(FACTOR @ FACTOR.T, x.T).T


def test_correct_scores_pass():
    x, s = gaussian(0)
    result = check(Task(x, s, x[:, 0]))
    assert result.ok and result.codes == ("scores",)


def _log_slip(x, s):
    return x, s - np.eye(D)[-1]


def _constrained_points(x, s):
    return np.column_stack([x[:, :-1], np.exp(x[:, -1])]), s


def _constrained_scores(x, s):
    return x, np.column_stack([s[:, :-1], (s[:, -1] - 1) * np.exp(-x[:, -1])])


MISTAKES = {
    "sign": lambda x, s: (x, -s),
    "row-order": lambda x, s: (x, np.random.default_rng(9).permutation(s)),
    "row-order reversed": lambda x, s: (x, s[::-1]),
    "row-order late": lambda x, s: (x, np.roll(s, 1, axis=0)),
    "units": lambda x, s: (x / SPREAD, s),
    "units common": lambda x, s: (x, s / 100),
    "parameter-order": lambda x, s: (x, s[:, [1, 2, 0, 3]]),
    "jacobian": _log_slip,
    "jacobian points": _constrained_points,
    "jacobian scores": _constrained_scores,
    "prior": lambda x, s: (x, -x / 10.0**2),
    "prior flat": lambda x, s: (x, 0 * s),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_mistake_is_named(mistake):
    x, s = MISTAKES[mistake](*gaussian(1))
    result = check(Task(x, s, x[:, 0]))
    assert not result.ok
    assert result.findings[0].severity == "error"
    assert result.findings[0].code == mistake.split()[0]
    assert result.findings[0].task == "task 1"


@pytest.mark.parametrize("n", [40, 400])
def test_scores_of_zero_are_called_so(n):
    x = np.random.default_rng(0).normal(size=(n, 2))
    assert "all scores are zero" in check(Task(x, 0 * x, np.exp(x[:, 0] / 2))).findings[0].message


def test_swapped_chain_and_draw_axes_are_recognised():
    x, s = gaussian(2, 800)
    swapped = s.reshape(4, 200, D).swapaxes(0, 1).reshape(4, 200, D)
    result = check(Task(x.reshape(4, 200, D), swapped, x[:, 0].reshape(4, 200)))
    assert result.findings[0].code == "row-order"
    assert "(draw, chain)" in result.findings[0].message


def test_one_of_two_tasks_is_blamed():
    (x, s), (y, r) = gaussian(3), gaussian(4)
    result = check(Tasks([Task(x, s, x[:, 0], name="good"), Task(y, -r, y[:, 0], name="bad")]))
    assert [finding.task for finding in result if finding.severity == "error"] == ["bad"]


def test_a_mistake_in_many_tasks_is_one_line():
    tasks = [Task(x, -s, x[:, 0], name=f"t{i}") for i in range(4) for x, s in [gaussian(i)]]
    result = check(Tasks(tasks))
    assert [finding.code for finding in result if finding.severity == "error"] == ["sign"]
    assert "all samples" in result.findings[0].message


def test_small_tasks_are_seen_together():
    tasks = [Task(x, s - 0.4 / SPREAD, x[:, 0]) for i in range(8) for x, s in [gaussian(i, 60)]]
    assert check(tasks[0]).ok
    assert not check(tasks).ok


def test_a_constant_coordinate_is_reported_and_does_not_shift_the_others():
    x, s = gaussian(5)
    x = np.insert(x, 1, 3.0, axis=1)
    s = np.insert(s, 1, 0.0, axis=1)
    assert check(Task(x, s, x[:, 0])).codes == ("constant", "scores")
    wrong = check(Task(x, s - np.eye(5)[-1], x[:, 0]))
    assert "coordinate 4" in next(f for f in wrong if f.code == "jacobian").message


def test_findings_print_one_line_each():
    x, s = gaussian(6)
    result = check(Task(x, -s, x[:, 0], name="[b]<i>"))
    lines = str(result).splitlines()
    assert len(lines) == len(result.findings)
    assert lines[0].startswith("error    sign") and "[b]<i>" in lines[0] and "scores = -gradient" in lines[0]
