"""Arrays that are not in memory give the answer of arrays that are, and bad ones an error that says where."""

import subprocess
import sys

import numpy as np
import pytest
from stored import SOURCES, dask_arrays, memory_maps, named, zarr_arrays

import vvcv
from vvcv.large import look, rows

da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")
delayed = pytest.importorskip("dask").delayed


def numbers(estimate):
    return np.concatenate([estimate.mean, estimate.std_error, estimate.covariance.ravel(), estimate.monte_carlo.mean])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ["sample", "chains"])
def test_arrays_on_disk_give_the_answer_of_arrays_in_memory(small_machine, request, tmp_path, source, kind):
    arrays = request.getfixturevalue(kind)
    expected = vvcv.estimate(vvcv.Tasks.shared(*arrays), "zv", on_alarm="ignore")
    tasks = vvcv.Tasks.shared(*source(named(arrays), tmp_path))
    assert tasks[0].is_lazy and tasks.share_points and (tasks[0].chains is None) is (kind == "sample")
    found = vvcv.estimate(tasks, "zv", on_alarm="ignore")
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-8, atol=1e-14)
    assert found.sizes == expected.sizes and found.tasks is None


def test_a_sample_that_fits_is_read_and_fitted_exactly(sample, tmp_path):
    points, scores, values = (array[:80] for array in sample)
    lazy = vvcv.Task(*memory_maps({"x": points, "s": scores, "f": values[:, 0]}, tmp_path))
    assert not lazy.is_lazy and isinstance(lazy.points, np.ndarray)


def test_inducing_points_serve_dask_arrays(small_machine, sample):
    given = {"kernel": "squared-exponential", "on_alarm": "ignore"}
    expected = vvcv.estimate(vvcv.Tasks.shared(*sample), "inducing", **given)
    found = vvcv.estimate(vvcv.Tasks.shared(*dask_arrays(named(sample), None)), "inducing", **given)
    assert (np.abs(found.mean - expected.mean) < 0.01 * expected.std_error + 1e-10).all()
    assert {words.removesuffix(", cross-fitted") for words in found.kernel} == {
        words.removesuffix(", cross-fitted") for words in expected.kernel
    }


def test_alarms_are_raised_from_some_of_the_rows(small_machine, sample):
    points, scores, values = dask_arrays(named(sample), None)
    with pytest.raises(ValueError, match="the data raise alarms"):
        vvcv.estimate(vvcv.Tasks.shared(points, -scores, values), on_alarm="raise")


def test_flattened_chains_raise_the_alarm_that_chains_do_not(small_machine, chains, monkeypatch):
    monkeypatch.setattr(look, "PILOT_ROWS", 1200)  # every second row: neighbours among those drawn depend as well
    flat = [da.from_array(array.reshape(-1, array.shape[-1]), chunks=(190, -1)) for array in chains]
    assert "chain" in vvcv.estimate(vvcv.Tasks.shared(*flat), "mc", on_alarm="ignore").check.codes
    told = vvcv.estimate(vvcv.Tasks.shared(*dask_arrays(named(chains), None)), "mc", on_alarm="ignore")
    assert "chain" not in told.check.codes
    monkeypatch.setattr(look, "PILOT_ROWS", 60)  # every fortieth
    assert "chain" in vvcv.estimate(vvcv.Tasks.shared(*flat), "mc", on_alarm="ignore").check.codes


@pytest.mark.parametrize("source", [memory_maps, dask_arrays])
def test_chains_that_have_not_mixed_raise_the_alarm_that_they_raise_in_memory(small_machine, chains, tmp_path, source):
    arrays = [array.copy() for array in chains]
    for array in arrays:
        array[3] = array[3, :1]  # a chain that never moved
    tasks = vvcv.Tasks.shared(*source(named(arrays), tmp_path))
    with pytest.warns(vvcv.AlarmWarning, match="chains of task 'task 1' have not mixed"):
        stuck = vvcv.estimate(tasks, "zv").mixing
    assert stuck.poor == vvcv.estimate(vvcv.Tasks.shared(*arrays), "mc", on_alarm="ignore").mixing.poor == [0, 1, 2]
    moving = vvcv.estimate(vvcv.Tasks.shared(*source(named(chains), tmp_path)), "zv").mixing
    assert moving.poor == [] and (moving.r_hat < 1.1).all() and (moving.ess < 1200).all()


def test_chains_on_disk_that_have_not_mixed_raise_the_alarm(small_machine, monkeypatch):
    monkeypatch.setattr("vvcv.large.look.PILOT_ROWS", 2000)
    z = np.random.default_rng(0).normal(size=(4, 3000, 2))
    stuck = z + 3.0 * np.array([1, 0, 0, 0])[:, None, None] * np.array([0, 1])
    for draws, mixed in ((z, True), (stuck, False)):
        found, kept = (
            vvcv.estimate(vvcv.Tasks.shared(array, -array, array), "zv", on_alarm="ignore").mixing
            for array in (da.from_array(draws, chunks=(1, 700, 2)), draws)
        )
        assert (found.poor == []) is mixed and (kept.poor == []) is mixed
        np.testing.assert_allclose(found.r_hat, kept.r_hat, rtol=0.05)
    assert found.ess[0] > 1000 > 20 > found.ess[1]


def test_chains_too_short_for_halves_are_judged_by_their_effective_draws(small_machine, sample):
    tasks = vvcv.Tasks.shared(*(da.from_array(array.reshape(600, 4, -1), chunks=(100, 4, -1)) for array in sample))
    found = vvcv.estimate(tasks, "mc").mixing
    assert np.isnan(found.r_hat).all() and found.poor == []


def test_a_number_that_is_none_is_named_by_chunk_and_row(small_machine, sample):
    points, scores, values = (array.copy() for array in sample)
    scores[1234, 1] = np.nan
    lazy = [da.from_array(array, chunks=(500, -1)) for array in (points, scores, values)]
    with pytest.raises(ValueError, match=r"scores must be finite.*chunk 2 \(rows 1000 to 1499\) 1 entries.*row 1234"):
        vvcv.estimate(vvcv.Tasks.shared(*lazy), "zv")


@pytest.mark.parametrize("points", [np.asarray, lambda array: da.from_array(array, chunks=(500, -1))])
def test_masked_entries_are_missing_ones(small_machine, sample, tmp_path, points):
    masked = np.ma.masked_array(sample[2], copy=True)
    masked[1234] = np.ma.masked
    values = da.from_array(masked, chunks=(500, -1)) if points is not np.asarray else masked
    scores = memory_maps({"scores": sample[1]}, tmp_path)[0]  # in memory or not, beside an array that is not
    with pytest.raises(ValueError, match=r"values of task 'task 1' must be finite, not masked.*nan at row 1234"):
        vvcv.estimate(vvcv.Tasks.shared(points(sample[0]), scores, values), "zv")


@pytest.mark.parametrize("kind", [complex, str])
def test_columns_that_are_no_real_numbers_are_refused_unread(small_machine, sample, kind):
    points, scores, values = (da.from_array(array, chunks=(500, -1)) for array in sample)
    with pytest.raises(ValueError, match="values must be real numbers"):
        vvcv.Tasks.shared(points, scores, values.astype(kind))


def test_values_whose_squares_vanish_are_refused(small_machine, sample):
    points, scores, values = (da.from_array(array, chunks=(500, -1)) for array in sample)
    with pytest.raises(ValueError, match="values of task 'task 1' must not all be below 1e-152"):
        vvcv.estimate(vvcv.Tasks.shared(points, scores, 1e-200 * values), "zv")


def test_a_file_that_was_closed_too_early_is_named(small_machine, sample, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "draws.h5", "w") as file:
        for name, array in named(sample).items():
            file[name] = array
        tasks = vvcv.Tasks.shared(file["points"], file["scores"], file["values"])
    with pytest.raises(ValueError, match="points could not be: .* Keep the file open"):
        vvcv.estimate(tasks, "zv")


def test_a_chunk_that_cannot_be_read_is_named(small_machine, sample, tmp_path):
    stored = zarr_arrays(named(sample), tmp_path)
    damaged = tmp_path / "draws.zarr" / "scores" / "c" / "20" / "0"
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"scores in chunk 0 \(rows 0 to 2399\) could not be: .*Keep the file open"):
        vvcv.estimate(vvcv.Tasks.shared(*stored), "zv")


def test_chunks_of_unequal_columns_are_named(small_machine, sample):
    points, scores, values = (da.from_array(array, chunks=(600, -1)) for array in sample)
    narrow = da.from_delayed(delayed(sample[0][1800:, :1]), (600, 2), float)
    crooked = da.concatenate([points[:1800], narrow])
    with pytest.raises(ValueError, match=r"points in chunk 3 \(rows 1800 to 2399\) have shape \(600, 1\) where"):
        vvcv.estimate(vvcv.Tasks.shared(crooked, scores, values), "zv")


def test_chunks_that_a_filter_has_emptied_are_passed_over(small_machine, sample):
    kept = np.arange(len(sample[0])) // 400 != 2
    filtered = [array[da.from_array(kept, chunks=400)] for array in dask_arrays(named(sample), None)]
    tasks = vvcv.Tasks.shared(*(array.rechunk({1: -1}).compute_chunk_sizes() for array in filtered))
    assert 0 in tasks[0].points.source.chunks[0]
    expected = vvcv.estimate(vvcv.Tasks.shared(*(array[kept] for array in sample)), "zv")
    np.testing.assert_allclose(numbers(vvcv.estimate(tasks, "zv")), numbers(expected), rtol=1e-8, atol=1e-14)


def test_shapes_that_do_not_fit_are_found_without_reading(small_machine, sample):
    points, scores, values = (da.from_array(array, chunks=(600, -1)) for array in sample)
    with pytest.raises(ValueError, match="scores must have the shape of the points"):
        vvcv.Task(points, scores[:-1], values[:, 0])
    with pytest.raises(ValueError, match=r"shape \(2400, 'T'\).*\(2399, 3\)"):
        vvcv.Tasks.shared(points, scores, values[:-1])
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        vvcv.Task(points[points[:, 0] > 0], scores, values[:, 0])
    with pytest.raises(ValueError, match="Only `estimate` reads rows block by block"):
        vvcv.check(vvcv.Tasks.shared(points, scores, values))


def test_importing_the_library_imports_no_dask():
    code = "import sys, vvcv; sys.exit(bool({'dask', 'distributed', 'zarr'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(("source", "room"), [(memory_maps, 10_000), (memory_maps, 100), (dask_arrays, 100)])
@pytest.mark.parametrize("empty", [np.s_[:, 300:], np.s_[2:], np.s_[3, 500:]])
def test_files_that_were_not_filled_are_refused(source, room, empty, tmp_path, monkeypatch):
    """Zeros were taken for draws; of arrays that fit into memory a memory map alone is known to be a file."""
    monkeypatch.setattr("vvcv.data.lazy.largest_system", lambda: room)
    x = np.random.default_rng(0).normal(size=(4, 600, 2))
    x[empty] = 0.0
    points, scores, values = source({"points": x, "scores": -x, "values": x[..., :1] ** 2}, tmp_path)
    with pytest.raises(ValueError, match="the last rows are zero"):
        vvcv.estimate(vvcv.Tasks.shared(points, scores, values), method="zv")


def test_a_chain_that_starts_at_zero_is_none_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("vvcv.data.lazy.largest_system", lambda: 100)
    x = np.random.default_rng(0).normal(size=(2, 600, 2))
    x[:, :5] = 0.0
    points, scores, values = memory_maps({"points": x, "scores": -x, "values": x[..., :1] ** 2}, tmp_path)
    assert np.isfinite(vvcv.estimate(vvcv.Tasks.shared(points, scores, values), method="zv").mean).all()


@pytest.mark.parametrize("unknown", [0, 1, 2])
def test_rows_that_are_not_counted_are_refused_wherever_they_are(small_machine, sample, unknown):
    arrays = [da.from_array(array, chunks=(600, -1)) for array in sample]
    arrays[unknown] = arrays[unknown][arrays[0][:, 0] > 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        vvcv.Tasks.shared(*arrays)
    arrays[2] = arrays[2][:, 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        vvcv.Task(*arrays)


def unreadable(block, block_info=None):
    if block_info[0]["array-location"][0][0] == 1400:
        raise FileNotFoundError("no such chunk")
    return block


def test_a_chunk_that_dask_cannot_read_is_named(small_machine, sample):
    points, scores, values = (da.from_array(array, chunks=(200, -1)) for array in sample)
    broken = vvcv.Tasks.shared(points, scores.map_blocks(unreadable, dtype=float), values)
    with pytest.raises(ValueError, match=r"scores in chunk 7 \(rows 1400 to 1599\) could not be: no such chunk"):
        vvcv.estimate(broken, "zv", check=False)


def test_an_error_of_another_kind_stays_what_it_is(small_machine, sample):
    points, scores, values = (da.from_array(array, chunks=(200, -1)) for array in sample)
    wrong = vvcv.Tasks.shared(points, scores.map_blocks(lambda block: block + "x", dtype=float), values)
    with pytest.raises(TypeError):
        vvcv.estimate(wrong, "zv", check=False)


@pytest.mark.parametrize("kind", ["sample", "chains"])
def test_small_chunks_are_put_together(small_machine, request, monkeypatch, kind):
    arrays = request.getfixturevalue(kind)
    chunks = (1,) * (arrays[0].ndim - 2) + (3, -1)
    tasks = vvcv.Tasks.shared(*(da.from_array(array, chunks=chunks) for array in arrays))
    monkeypatch.setattr(rows, "LEAST_BLOCK", 1000)
    blocks = rows.Rows.of(list(tasks), tasks.names)
    assert len(blocks.places) == (3 if kind == "sample" else 2)
    found, expected = (vvcv.estimate(each, "zv", check=False) for each in (tasks, vvcv.Tasks.shared(*arrays)))
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-8, atol=1e-14)


def test_neighbours_are_put_together_until_they_are_enough():
    assert rows._together((1, 1, 0, 1, 5, 1), 2) == (2, 6, 1)
    assert rows._together((0, 3, 0, 2), 1) == (3, 2)
