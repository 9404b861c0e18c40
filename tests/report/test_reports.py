"""What people look at: the table, the labelled dataset, the picture."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import vvcv
from vvcv import Task, Tasks
from vvcv.report import with_error

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def estimate():
    values = np.column_stack([np.exp(X[:, 0]), 1e-6 * X[:, 1] ** 2, np.full(20, 3.0)])
    return vvcv.estimate(Tasks.shared(X, -X, values, names=["growth", "[bold] tiny", "constant"]), "zv")


def test_the_table_names_every_column_and_every_task(estimate):
    text = str(estimate)
    header = text.splitlines()[0]
    for column in ("task", "estimate", "std error", "plain average", "gain", "n", "method"):
        assert column in header
    assert header.count("std error") == 2
    for name in ("growth", "[bold] tiny", "constant"):
        assert any(line.startswith(name) for line in text.splitlines())
    assert "method zv" in text and "nan" not in text


def test_the_table_does_not_wrap_long_names_or_many_tasks():
    names = [f"a rather long name of an integrand, number {t}" for t in range(30)]
    text = str(vvcv.estimate(Tasks.shared(X, -X, np.tile(X[:, :1] ** 2, 30), names=names), "mc"))
    assert sum(line.startswith("a rather long name") for line in text.splitlines()) == 30
    assert "\x1b" not in text, "plain text, no colours"


def test_names_are_shown_as_they_are_and_whole():
    """Between colons rich found emoji, and of names longer than the table only the first letters were left."""
    names = ["x:a:b", "group:smile:1", "long " * 60 + "one", "long " * 60 + "two", "two\nlines"]
    found = vvcv.estimate(Tasks.shared(X, -X, np.tile(X[:, :1] ** 2, len(names)), names=names), "mc")
    lines = str(found).splitlines()
    assert lines[1].startswith("x:a:b ") and lines[2].startswith("group:smile:1 ")
    assert sum("one" in line.split() for line in lines) == sum("two" in line.split() for line in lines) == 1
    assert "\ntwo\\nlines: plain average" in found.explain()


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        (1.23456789, 0.00123, ("1.2346", "0.0012")),
        (1234.5, 12.0, ("1234", "12")),
        (0.5, 0.0, ("0.5", "0")),
        (1e20, 1e18, ("1e+20", "1e+18")),
        (3e-20, 1e-22, ("3e-20", "1e-22")),
        (1e9 + 1.5, 0.0075, ("1000000001.5", "0.0075")),
        (-123456789.123, 0.02, ("-123456789.123", "0.02")),
        (1 / 3, 1e-12, ("0.3333333333333", "1e-12")),
        (1 - 1e-16, 6.9e-15, ("1", "6.9e-15")),
        (1e9, np.inf, ("1e+09", "inf")),
        (np.nan, np.nan, ("nan", "nan")),
    ],
)
def test_numbers_are_printed_to_the_digits_their_error_leaves_meaningful(mean, error, expected):
    assert with_error(mean, error) == expected


def test_the_dataset_is_labelled_and_holds_what_the_estimate_holds(estimate):
    data = estimate.to_xarray()
    assert isinstance(data, xr.Dataset) and data.sizes == {"task": 3}
    assert float(data["mean"].sel(task="growth")) == estimate.mean[0]
    np.testing.assert_array_equal(data["std_error"], estimate.std_error)
    np.testing.assert_array_equal(data["monte_carlo_mean"], estimate.monte_carlo.mean)
    np.testing.assert_array_equal(data["samples"], [20, 20, 20])
    assert len(data.to_dataframe()) == 3 and data.attrs["method"] == "zv"
    pairs = estimate.matrices()
    np.testing.assert_array_equal(pairs["task_correlation"], estimate.task_correlation)
    np.testing.assert_allclose(np.diag(pairs["covariance"]), estimate.std_error**2)


def test_the_dataset_survives_a_file(estimate, tmp_path):
    pytest.importorskip("h5netcdf")
    estimate.to_xarray().to_netcdf(tmp_path / "estimate.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "estimate.nc", engine="h5netcdf") as read:
        np.testing.assert_array_equal(read["mean"], estimate.mean)


def test_the_picture_is_saved_with_one_row_per_task(estimate, tmp_path):
    axes = estimate.plot(exact=[np.exp(0.5), 1e-6, 3.0])
    assert [label.get_text() for label in axes.get_yticklabels()] == list(estimate.names)
    axes.figure.savefig(tmp_path / "estimate.png")
    plt.close(axes.figure)
    assert (tmp_path / "estimate.png").read_bytes().startswith(PNG)


def test_exact_answers_are_one_for_each_task_in_order_or_by_name(estimate, tmp_path):
    first, second, third = estimate.names
    axes = [estimate.plot(exact=exact) for exact in ([1.0, np.nan, 3.0], {third: 3.0, first: 1.0})]
    in_order, by_name = ([line for line in each.lines if line.get_label() == "exact"][0].get_xdata() for each in axes)
    np.testing.assert_array_equal(in_order, by_name)
    for each in axes:
        plt.close(each.figure)
    for wrong, message in (
        ([1.0], "one number for each"),
        (1.0, "one number for each"),
        ({"no": 1.0}, r"has \['no'\]"),
    ):
        with pytest.raises(ValueError, match=f"exact must .*{message}"):
            estimate.plot(exact=wrong)
        with pytest.raises(ValueError, match=f"exact must .*{message}"):
            estimate.report(tmp_path / "report.html", exact=wrong)


def test_the_picture_is_drawn_on_given_axes(estimate):
    figure, axes = plt.subplots()
    assert estimate.plot(ax=axes) is axes
    plt.close(figure)


def test_without_matplotlib_a_plot_says_how_to_get_it(estimate, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"vvcv\[plot\]"):
        estimate.plot()


def test_importing_the_library_does_not_import_what_only_some_need():
    import subprocess

    later = {"matplotlib", "pandas", "xarray", "arviz", "typer", "pyarrow", "zarr", "h5netcdf"}
    code = f"import sys, vvcv; sys.exit(bool({later} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_single_task_is_printed_without_remarks_on_other_tasks():
    text = str(vvcv.estimate(Task(X, -X, X[:, 0] ** 2), "zv"))
    assert "tasks" not in text and "task 1" in text
