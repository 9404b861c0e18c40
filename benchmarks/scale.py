"""Samples beyond an exact fit: time and memory against rows, inducing points against exact, coverage, a Dask cluster.

    python benchmarks/scale.py CASE ... [--rows N ...] [--replications R] [--out benchmarks/scale.json]

Cases, each in processes of its own:

    zarr        estimates from zarr, chunk by chunk: seconds, processor seconds and peak memory for each number of rows
    memory      the same rows from zarr and in memory: by what the answers differ, and polynomials of sums from those
                by least squares of all rows at once
    inducing    inducing points against the exact kernel on a smooth problem with d = 4: errors and seconds
    million     a default estimate of 10^6 rows in memory, d = 10, T = 5
    coverage    95 % intervals of default estimates of samples of the same kind, how many hold the exact value
    dask        one worker against two on the same Dask arrays: seconds, and those of the processor here and on workers

The target is a product of log-gamma densities, rotated, d = 10; integrands are five functions with exact means.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.special import digamma, gammaln, polygamma

import vvcv
from vvcv.candidates.kernel import Options
from vvcv.data import Prepared
from vvcv.estimation.ladder import Ladder
from vvcv.estimation.streamed import Streamed
from vvcv.large import inducing

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
SHAPE, DIMENSION, CHUNK = 8.0, 10, 100_000
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(DIMENSION, DIMENSION)))[0]
SCALE = np.linspace(0.5, 2, DIMENSION)
POWERS = np.array([0.6, -0.4, 0.3, 0.2])


def moment(power: float) -> float:
    """E u^power for u of the gamma distribution."""
    return float(np.exp(gammaln(SHAPE + power) - gammaln(SHAPE)))


EXACT = np.array(
    [
        float(TURN[0] @ (SCALE * digamma(SHAPE))),
        digamma(SHAPE) ** 2 + polygamma(1, SHAPE),
        digamma(SHAPE) ** 2,
        np.prod([moment(power) for power in POWERS]),
        moment(-1.0) * digamma(SHAPE),
    ]
)


def draws(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, scores and values."""
    u = np.random.default_rng(seed).gamma(SHAPE, 1.0, size=(rows, DIMENSION))
    z = np.log(u)
    points, scores = (z * SCALE) @ TURN.T, ((SHAPE - u) / SCALE) @ TURN.T
    mixed = np.exp(z[:, : len(POWERS)] @ POWERS)
    values = [points[:, 0], z[:, 0] ** 2, z[:, 0] * z[:, 1], mixed, z[:, 2] / u[:, 3]]
    return points, scores, np.column_stack(values)


def write(folder: Path, rows: int) -> None:
    """A zarr group of `rows` draws, a chunk at a time."""
    import zarr

    root = zarr.open_group(folder, mode="w")
    arrays = {
        name: root.create_array(name, shape=(rows, columns), chunks=(min(CHUNK, rows), columns), dtype="f8")
        for name, columns in (("points", DIMENSION), ("scores", DIMENSION), ("values", len(EXACT)))
    }
    for start in range(0, rows, CHUNK):
        stop = min(start + CHUNK, rows)
        for array, block in zip(arrays.values(), draws(start, stop - start), strict=True):
            array[start:stop] = block


def opened(folder: Path) -> vvcv.Tasks:
    """The tasks of a zarr group, of which nothing is read."""
    import zarr

    root = zarr.open_group(folder, mode="r")
    return vvcv.Tasks.shared(root["points"], root["scores"], root["values"])


def measured(tasks: vvcv.Tasks, exact: np.ndarray, method: str = "auto") -> dict:
    """One estimate: its seconds, peak memory, errors, and gains over the plain average."""
    started, used = time.perf_counter(), time.process_time()
    estimate = vvcv.estimate(tasks, method, on_alarm="ignore")
    z = (estimate.mean - exact) / estimate.std_error
    return {
        "method": method,
        "seconds": round(time.perf_counter() - started, 2),
        "processor_seconds": round(time.process_time() - used, 2),
        "peak_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3),
        "mean": estimate.mean.tolist(),
        "error": np.abs(estimate.mean - exact).tolist(),
        "std_error": estimate.std_error.tolist(),
        "inside_95": int(np.sum(np.abs(z) < 1.96)),
        "gain": [float(f"{gain:.3g}") for gain in estimate.gain],
        "kernel": estimate.kernel[0],
    }


def zarr_case(rows: int, method: str) -> dict:
    """An estimate from zarr, and how long it took to read every chunk alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draws.zarr"
        write(path, rows)
        return in_new_process("from_zarr", str(path), method)


def from_zarr(path: str, method: str) -> dict:
    """The measured part, in a process that holds nothing else."""
    return measured(opened(Path(path)), EXACT, method)


def memory_case(rows: int, method: str) -> dict:
    """By what answers from zarr and from memory differ, in units of the value and of the standard error."""
    whole = [
        np.concatenate(part) for part in zip(*(draws(s, min(CHUNK, rows)) for s in range(0, rows, CHUNK)), strict=True)
    ]
    in_memory = measured(vvcv.Tasks.shared(*whole), EXACT, method)
    from_disk = zarr_case(rows, method)
    difference = np.abs(np.array(in_memory["mean"]) - np.array(from_disk["mean"]))
    return {
        "largest_relative_difference": float(np.max(difference / np.abs(in_memory["mean"]))),
        "in_standard_errors": float(np.max(difference / np.array(in_memory["std_error"]))),
        "of_polynomials": from_least_squares(vvcv.Tasks.shared(*whole)),
    }


def from_least_squares(tasks: vvcv.Tasks) -> dict[str, float]:
    """The largest relative differences of polynomial fits from sums over blocks and from all rows at once."""
    of_sums, of_rows = Streamed(tasks, Options()), Ladder(Prepared.of(tasks), Options())
    pairs = [
        (mine, theirs)
        for of_task in zip(of_sums.candidates("zv"), of_rows.candidates("zv"), strict=True)
        for mine in of_task[0]
        for theirs in of_task[1]
        if mine.description == theirs.description
    ]
    return {
        name: max(abs(getattr(mine, name) / getattr(theirs, name) - 1) for mine, theirs in pairs)
        for name in ("mean", "std_error", "freedom")
    } | {"pairs": len(pairs)}


def smooth(rows: int, seed: int) -> tuple[vvcv.Task, np.ndarray]:
    """exp(a.x) + cos(b.x) under a standard normal, d = 4."""
    x = np.random.default_rng(seed).normal(size=(rows, 4))
    a, b = np.array([0.5, 0.3, -0.2, 0.1]), np.array([0.2, -0.4, 0.3, 0.5])
    return vvcv.Task(x, -x, np.exp(x @ a) + np.cos(x @ b)), np.array([np.exp(a @ a / 2) + np.exp(-b @ b / 2)])


def inducing_case(rows: int, replications: int, method: str) -> dict:
    """One method on samples of the smooth problem: seconds of each, the first compiled as a user's first call is."""
    each = [measured(*smooth(rows, 50_000 + r), method) for r in range(replications)]
    errors = np.array([found["error"][0] for found in each])
    lists = {key: [found[key] for found in each] for key in ("seconds", "processor_seconds", "inside_95", "kernel")}
    lists |= {key: [found[key][0] for found in each] for key in ("error", "std_error")}
    return {"method": method, "rms_error": float(np.sqrt(np.mean(errors**2))), **lists}


def million_case(rows: int, method: str) -> dict:
    """A default estimate in memory."""
    return measured(vvcv.Tasks.shared(*draws(60_000, rows)), EXACT, method)


def coverage_case(rows: int, replications: int, method: str) -> dict:
    """How many intervals hold the exact value, at a smaller number of rows with the inducing points of 10^6."""
    inducing.MOST_POINTS = inducing.MANY_POINTS
    each = [measured(vvcv.Tasks.shared(*draws(60_000 + r, rows)), EXACT, method) for r in range(replications)]
    inside, total = sum(found["inside_95"] for found in each), replications * len(EXACT)
    z = np.array([np.divide(found["error"], found["std_error"]) for found in each])
    spread = np.sqrt(np.mean(z**2, axis=0)).round(3).tolist()
    return {"replications": replications, "inside": inside, "of": total, "share": inside / total, "rms_z": spread}


def dask_case(rows: int, workers: int, method: str) -> dict:
    """Dask arrays that are made where they are used, on a cluster of so many processes, its start not counted."""
    import dask.array as da
    import distributed

    os.environ["XLA_FLAGS"] = ONE_THREAD  # of every worker: one must not use the cores of two
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(lambda: __import__("vvcv") and None)
        chunk = rows // 16
        parts = [da.from_array(part, chunks=(chunk, -1)) for part in draws(70_000, rows)]
        parts = list(client.persist(parts))
        distributed.wait(parts)
        before, used, started = client.run(time.process_time), time.process_time(), time.perf_counter()
        estimate = vvcv.estimate(vvcv.Tasks.shared(*parts), method, kernel="squared-exponential", check=False)
        seconds, used = time.perf_counter() - started, time.process_time() - used
        after = client.run(time.process_time)
        return {
            "workers": workers,
            "seconds": round(seconds, 2),
            "processor_seconds_here": round(used, 2),
            "processor_seconds_of_workers": [round(after[worker] - before[worker], 2) for worker in after],
            "mean": estimate.mean.tolist(),
        }


def in_new_process(function: str, *arguments) -> dict:
    """What one of these functions returns, in a process of its own."""
    command = [sys.executable, __file__, "--call", function, json.dumps(arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def run(case: str, rows: list[int], replications: int, method: str) -> list[dict]:
    """All runs of one case, one after the other."""
    if case == "inducing":
        return [
            {"rows": n, **in_new_process("inducing_case", n, replications, m)} for n in rows for m in ("inducing", "cf")
        ]
    if case == "coverage":
        return [{"rows": n, **in_new_process("coverage_case", n, replications, method)} for n in rows]
    if case == "dask":
        return [{"rows": n, **in_new_process("dask_case", n, w, method)} for n in rows for w in (1, 2)]
    return [{"rows": n, **in_new_process(f"{case}_case", n, method)} for n in rows]


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--rows", nargs="*", type=int, default=[100_000])
    parser.add_argument("--replications", type=int, default=50)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/scale.json"))
    parser.add_argument("--call", nargs=2)
    arguments = parser.parse_args()
    if arguments.call:
        print(json.dumps(globals()[arguments.call[0]](*json.loads(arguments.call[1]))))
        return
    record = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    record["machine"] = f"{platform.machine()}, Python {platform.python_version()}"
    for case in arguments.cases:
        for found in run(case, arguments.rows, arguments.replications, arguments.method):
            name = f"{case}, {arguments.method}, rows {found['rows']}" + (
                f", {found['workers']} workers"
                if "workers" in found
                else f", {found['method']}"
                if case == "inducing"
                else ""
            )
            record[name] = found
            print(name, json.dumps(found), flush=True)
            arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
