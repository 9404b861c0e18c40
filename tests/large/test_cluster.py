"""A Dask cluster of processes gives the local answer, also if a worker is killed; one that is gone is named."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import vvcv
from vvcv.candidates.kernel import Options
from vvcv.large import passes
from vvcv.large.fits import LargeFits
from vvcv.large.rows import Rows
from vvcv.runtime.clock import limited
from vvcv.tuning.attempts import TooLateError

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:distributed", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def slow(block, block_id=None):
    time.sleep(0.05)
    return block


def lazy(arrays, pause=False):
    points, scores, values = (da.from_array(array, chunks=(200, -1)) for array in arrays)
    return vvcv.Tasks.shared(points.map_blocks(slow, dtype=float) if pause else points, scores, values)


def estimated(tasks):
    estimate = vvcv.estimate(tasks, "zv", check=False)
    return np.concatenate([estimate.mean, estimate.std_error, estimate.covariance.ravel()])


def test_a_cluster_gives_the_local_answer_with_a_bar(small_machine, sample, client, monkeypatch):
    steps = []

    class Bar:
        def __init__(self, what, total):
            self.what, self.total = what, total

        def __enter__(self):
            return lambda: steps.append((self.what, self.total))

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(passes, "progress_bar", Bar)
    found = estimated(lazy(sample))
    assert steps.count(("looking at all rows", 2)) == 2 and steps.count(("summing over all rows", 2)) == 2
    np.testing.assert_allclose(found, estimated(vvcv.Tasks.shared(*sample)), rtol=1e-10, atol=1e-14)


def test_a_worker_killed_in_mid_run_changes_nothing(small_machine, sample, client):
    client.wait_for_workers(2)
    expected = estimated(vvcv.Tasks.shared(*sample))
    victim = min(client.run(os.getpid).values())
    killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
    killer.start()
    found = estimated(lazy(sample, pause=True))
    killer.join()
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_a_bad_number_on_a_worker_is_named(small_machine, sample, client):
    points, scores, values = (array.copy() for array in sample)
    values[777, 1] = np.inf
    with pytest.raises(ValueError, match=r"values of task 'task 2'.*chunk 3 \(rows 600 to 799\).*row 777"):
        estimated(lazy((points, scores, values)))


def test_a_cluster_without_workers_is_an_error_before_any_work(small_machine, sample, monkeypatch):
    monkeypatch.setattr(passes, "PATIENCE", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster),
        pytest.raises(ValueError, match="no worker came within.*Start the cluster again"),
    ):
        estimated(lazy(sample))


def test_a_cluster_that_is_closed_in_mid_run_is_named_with_what_to_do(small_machine, sample):
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster),
    ):
        closing = threading.Timer(0.3, cluster.close)
        closing.start()
        with pytest.raises(
            ValueError, match="cluster at inproc://.*was lost in mid-run.*Connect a new client and call again"
        ):
            estimated(lazy(sample, pause=True))
        closing.join()


def unreadable(block, block_info=None):
    if block_info[0]["array-location"][0][0] == 2000:
        raise FileNotFoundError("no such chunk")
    return block


def test_a_chunk_that_a_worker_cannot_read_is_named(small_machine, sample, client):
    points, scores, values = (da.from_array(array, chunks=(200, -1)) for array in sample)
    broken = vvcv.Tasks.shared(points, scores.map_blocks(unreadable, dtype=float), values)
    with pytest.raises(ValueError, match=r"scores in chunk 10 \(rows 2000 to 2199\) could not be: no such chunk"):
        estimated(broken)


def very_slow(block, block_id=None):
    if block_id is not None and len(block) > 1:
        time.sleep(0.5)
    return block


def test_a_pass_on_a_cluster_is_called_off_when_the_time_is_up(small_machine, sample, client):
    """Two workers need 3 s for each pass, of which the first is made to its end."""
    points, scores, values = (da.from_array(array, chunks=(200, -1)) for array in sample)
    tasks = vvcv.Tasks.shared(points.map_blocks(very_slow, dtype=float), scores, values)
    large = LargeFits(Rows.of(list(tasks), tasks.names), Options())
    assert large.look.moments.count == 2400
    began = time.perf_counter()
    with limited(1.0), pytest.raises(TooLateError):
        passes.sum_over(large.rows, len, "counting")
    assert time.perf_counter() - began < 2
    for _ in range(100):
        if not any(client.processing().values()):
            break
        time.sleep(0.05)
    assert not any(client.processing().values()) and estimated(lazy(sample)).size
