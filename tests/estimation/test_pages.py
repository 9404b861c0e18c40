"""The pictures of a page: along which axis a fit is drawn, at which points, and what that axis is called."""

from dataclasses import replace

import numpy as np
import pytest

import vvcv
from vvcv.estimation import pages
from vvcv.estimation.pages import _described, fits_of, leading_direction

X = np.random.default_rng(0).normal(size=(400, 4)) * [1.0, 3.0, 0.5, 1.0] + [0.0, 5.0, 0.0, 0.0]


def test_the_direction_is_that_of_slopes_in_coordinates_scaled_by_their_spread():
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / len(z))).T  # no chance correlations
    points, weights = z * [1.0, 3.0, 0.5, 1.0] + 7.0, np.array([0.0, -0.8, 0.6, 0.0])
    found = leading_direction(points, 10 + 2 * z @ weights)
    np.testing.assert_allclose(found, [0.0, 0.8, -0.6, 0.0], atol=0.1)
    assert np.linalg.norm(found) == pytest.approx(1.0) and found[1] > 0  # the largest entry is positive


def test_the_direction_is_the_leading_eigenvector_of_slopes_and_bends():
    values = X[:, 0] ** 2 + 0.3 * X[:, 2] + 0.2 * X[:, 0] * X[:, 3]
    z, v = (X - X.mean(axis=0)) / X.std(axis=0), values - values.mean()
    slope = (z * v[:, None]).mean(axis=0)
    bend = np.einsum("n,ni,nj->ij", v, z, z) / len(z)
    matrix = np.outer(slope, slope) + bend @ bend
    found = leading_direction(X, values)
    np.testing.assert_allclose(matrix @ found, np.linalg.eigvalsh(matrix)[-1] * found, rtol=1e-8, atol=1e-8)


def test_what_does_not_vary_has_a_direction_all_the_same():
    still = np.column_stack([X[:, 0], np.full(400, 2.0)])
    np.testing.assert_allclose(leading_direction(still, X[:, 0]), [1.0, 0.0], atol=1e-12)
    assert np.isfinite(leading_direction(X, np.full(400, 3.0))).all()


def test_in_one_dimension_the_axis_is_the_point_itself_in_more_the_direction():
    x = X[:, :1]
    (drawn,) = fits_of(vvcv.estimate(vvcv.Task(x, -x, 2 + x[:, 0], name="line"), "zv", check=False))
    assert drawn.name == "line" and drawn.direction == "x"
    step = 2  # 400 points, of which at most 300 are drawn
    np.testing.assert_array_equal(drawn.along, x[::step, 0])
    np.testing.assert_allclose(drawn.fitted, drawn.values, atol=1e-9)  # a line is fitted exactly
    two = X[:, [0, 2]]
    (drawn,) = fits_of(vvcv.estimate(vvcv.Task(two, -two * [1, 4], two[:, 1]), "mc", check=False))
    direction = leading_direction(two, two[:, 1])
    along = ((two - two.mean(axis=0)) / two.std(axis=0) @ direction)[::step]
    np.testing.assert_allclose(drawn.along, along)
    np.testing.assert_allclose(drawn.fitted, np.full(200, two[:, 1].mean()))
    assert drawn.direction == _described(direction)


def test_a_page_draws_the_first_tasks_and_none_of_a_loaded_estimate(monkeypatch):
    monkeypatch.setattr(pages, "MOST_TASKS", 2)
    x = X[:50, :1]
    found = vvcv.estimate(vvcv.Tasks.shared(x, -x, x * [1.0, 2.0, 3.0]), "mc", check=False)
    assert [drawn.name for drawn in fits_of(found)] == list(found.names[:2])
    assert fits_of(replace(found, tasks=None)) == []


def test_a_page_shows_how_alike_tasks_are_only_where_a_fit_has_learned_it(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr("vvcv.estimation.result.html_report", lambda *args, **words: given.append(words) or "page")
    x = X[:50, :1]
    found = vvcv.estimate(vvcv.Tasks.shared(x, -x, x * [1.0, 2.0]), "mc", check=False)
    alike = replace(found, task_correlation=np.array([[1.0, 0.5], [0.5, 1.0]]), method="auto")
    for each in (found, alike):
        each.report(tmp_path / "page.html")
    assert given[0]["correlation"] is None and given[0]["asked"]
    np.testing.assert_array_equal(given[1]["correlation"], alike.task_correlation)
    assert not given[1]["asked"] and (tmp_path / "page.html").read_text() == "page"


@pytest.mark.parametrize(
    ("direction", "words"),
    [
        ([0.6, -0.8], "-0.80 x[1] +0.60 x[0]"),
        ([0.99, 0.05, -0.05, 0.0], "+0.99 x[0]"),
        ([0.5, 0.5, 0.5, 0.5], "+0.50 x[0] +0.50 x[1] +0.50 x[2] ..."),
        ([0.1, 0.995], "+0.99 x[1]"),
    ],
)
def test_a_direction_is_described_by_its_largest_coordinates(direction, words):
    assert _described(np.array(direction)) == words
