"""What an installed vvcv must do anywhere: right answers with the packages it needs, and the names of those it lacks.

Run by `tools/release_check.py` in environments of its own: python -P tools/smoke.py VERSION
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from importlib.metadata import distributions, version
from importlib.util import find_spec
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import vvcv
from vvcv.paper import PolynomialVariate, StochasticOptimisation


def main(expected: str) -> None:
    print(f"Python {sys.version.split()[0]}: {', '.join(sorted(f'{d.name} {d.version}' for d in distributions()))}\n")
    assert vvcv.__version__ == version("vvcv") == expected, vvcv.__version__
    assert "site-packages" in vvcv.__file__, f"{vvcv.__file__} is a source tree, not the installed package"
    os.chdir(tempfile.mkdtemp())
    est = right_answers()
    other_doors()
    tables_and_pages(est)
    commands(expected)
    extras(est)
    print(f"smoke test passed: vvcv {expected}")


def right_answers() -> vvcv.Estimate:
    """E[x1^2] = 1 and E[cos x1 + cos x2] = 2 exp(-1/2) under a standard normal, from forty draws."""
    x = np.random.default_rng(0).normal(size=(40, 2))
    tasks = vvcv.Tasks.shared(x, -x, np.column_stack([x[:, 0] ** 2, np.cos(x).sum(axis=1)]), names=["a", "b"])
    assert vvcv.check(tasks).ok
    est = vvcv.estimate(tasks)
    assert abs(est.mean[0] - 1) < 1e-6 and abs(est.mean[1] - 2 * np.exp(-0.5)) < 1e-2, est.mean
    assert est.gain.min() > 10, est.gain
    assert not vvcv.check(vvcv.Tasks.shared(x, x, x[:, :1])).ok  # scores of the wrong sign
    print(est)
    return est


def other_doors() -> None:
    """The paper's estimators, a log density's posterior, a simulator's inputs, and a function of means."""
    x = np.random.default_rng(1).normal(size=(30, 1))
    tasks = vvcv.Tasks.shared(x, -x, np.sin(x) + x**2, names=["f"])
    assert abs(vvcv.fit(tasks, "cf").mean[0] - 1) < 0.01
    descended = vvcv.fit(tasks, PolynomialVariate(2), StochasticOptimisation(epochs=200, learning_rate=0.05))
    assert abs(descended.mean[0] - 1) < 0.2, descended.mean
    draws = {"u": np.random.default_rng(1).normal(size=(2, 200))}
    posterior = vvcv.from_logdensity(lambda p: -jnp.sum(p["u"] ** 2) / 2, draws)
    assert abs(vvcv.estimate(posterior, "zv").mean[0]) < 1e-6
    spread = vvcv.functional(posterior, "variance", posterior.names[0], method="zv")
    assert abs(spread.value - 1) < 1e-6, spread
    inputs = vvcv.inputs.independent(a=vvcv.inputs.normal(3, 1), b=vvcv.inputs.uniform(0, 1))
    drawn = inputs.sample(50, seed=0)
    task = inputs.task(drawn, drawn["a"] + drawn["b"], name="sum")
    assert abs(vvcv.estimate(vvcv.Tasks([task])).mean[0] - 3.5) < 1e-2


def tables_and_pages(est: vvcv.Estimate) -> None:
    """A pandas table, an xarray dataset and a page."""
    assert est.summary().loc["a", "mean"] == est.to_xarray()["mean"].sel(task="a").item() == est.mean[0]
    est.report("report.html")
    assert f"{est.mean[1]:.3f}" in Path("report.html").read_text()


def commands(expected: str) -> None:
    """The program itself: version, help, an estimate from a file, and a file that is none."""
    assert run("--version").stdout.strip() == expected
    assert "estimate" in run("--help").stdout
    x = np.random.default_rng(2).normal(size=(40, 1))
    np.savez("t.npz", points=x, scores=-x, values=x**2)
    run("convert", "t.npz", "t.csv")
    for file in ("t.npz", "t.csv"):
        run("check", file)
        answer = json.loads(run("estimate", file, "--json").stdout)
        assert abs(answer["tasks"][0]["mean"] - 1) < 1e-6, answer
    Path("broken.npz").write_text("no archive")
    refused = run("estimate", "broken.npz", code=2)
    assert "broken.npz" in refused.stderr and "Traceback" not in refused.stderr, refused.stderr


def extras(est: vvcv.Estimate) -> None:
    """With an extra its work is done; without it the error names it."""
    attempt("h5netcdf", "io", lambda: est.save("est.nc"))
    attempt("h5netcdf", "io", lambda: run("convert", "t.npz", "t.nc"))
    attempt("matplotlib", "plot", lambda: est.plot())
    attempt("matplotlib", "plot", lambda: print(run("demo", "--runs", "12").stdout))
    attempt("pyarrow", "files", lambda: run("convert", "t.npz", "t.parquet"))
    attempt("zarr", "files", lambda: run("convert", "t.npz", "t.zarr"))
    for file in ("t.nc", "t.parquet", "t.zarr"):
        if Path(file).exists():
            run("check", file)
    if Path("est.nc").exists():
        np.testing.assert_array_equal(vvcv.load("est.nc").mean, est.mean)


def attempt(package: str, extra: str, work: Callable[[], object]) -> None:
    if find_spec(package):
        work()
        return
    try:
        work()
    except (ImportError, AssertionError) as error:
        assert f"vvcv[{extra}]" in str(error), error
        print(f"without {package}: vvcv[{extra}] is asked for")
    else:
        raise AssertionError(f"nothing was said of the missing {package}")


def run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts")) / "vvcv"
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == code, f"vvcv {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


if __name__ == "__main__":
    main(*sys.argv[1:])
