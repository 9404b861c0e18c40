"""Whole programs: the demonstration from a cold start, and all integrals of an evidence.

    python benchmarks/whole_programs.py [demo] [evidence] [--earlier CHECKOUT] [--out benchmarks/whole_programs.json]

demo      `vvcv demo` in a process of its own (import, compile, fit, print), in units of a process that imports JAX and
          compiles one Cholesky factorisation. Bar: 3.
evidence  the 62 integrals of the van der Pol evidence from 80 draws at each temperature, in seconds of one process,
          import not counted; with `--earlier`, of another checkout, too. Bar: half of its time.

Every figure is the fastest of three; an earlier version runs once.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vvcv.problems import van_der_pol

REPEATS, DRAWS = 3, 80

COLD = "import jax, jax.numpy as jnp; jax.jit(jnp.linalg.cholesky)(jnp.eye(100)).block_until_ready()"
DEMO = "import sys; sys.argv = ['vvcv', 'demo', '--out', sys.argv[1]]; from vvcv.cli.main import main; main()"
EVIDENCE = """
import sys, time
import numpy as np
import vvcv
data = np.load(sys.argv[1])
started = time.perf_counter()
result = vvcv.evidence(data["log_likelihood"], data["temperatures"], data["points"], compare=False,
                       scores_likelihood=data["scores_likelihood"], scores_prior=data["scores_prior"])
print(time.perf_counter() - started, float(result.log_evidence))
"""


def run(code: str, *arguments: object, source: Path | None = None) -> tuple[float, str]:
    """Seconds of a fresh process that runs some lines, perhaps with another checkout's sources, and what it printed."""
    environment = {**os.environ, **({"PYTHONPATH": str(source / "src")} if source else {})}
    started = time.perf_counter()
    command = [sys.executable, "-c", code, *map(str, arguments)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return time.perf_counter() - started, printed


def demo(folder: Path) -> dict:
    """The demonstration in units of what JAX alone takes."""
    cold = min(run(COLD)[0] for _ in range(REPEATS))
    whole = min(run(DEMO, folder / "demo.png")[0] for _ in range(REPEATS))
    return {"seconds": round(whole, 2), "jax alone": round(cold, 2), "ratio": round(whole / cold, 2), "at most": 3}


def evidence(folder: Path, seed: int, earlier: Path | None) -> dict:
    """All integrals of an evidence, by this version and perhaps by an earlier one."""
    path = van_der_pol.sample_path(seed, DRAWS)
    parts = {name: getattr(path, name) for name in ("log_likelihood", "points", "scores_likelihood", "scores_prior")}
    np.savez(folder / "path.npz", temperatures=van_der_pol.TEMPERATURES, **parts)
    found = {"exact": van_der_pol.EXACT_LOG_EVIDENCE}
    for name, source in {"now": None, "earlier": earlier}.items():
        if name == "now" or source is not None:
            repeats = range(1 if source else REPEATS)
            answers = [run(EVIDENCE, folder / "path.npz", source=source)[1].split() for _ in repeats]
            seconds = min(float(answer[0]) for answer in answers)
            found[name] = {"seconds": round(seconds, 2), "log evidence": float(answers[0][1])}
    return found


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=["demo", "evidence"])
    parser.add_argument("--earlier", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--seed", type=int, default=48000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/whole_programs.json"))
    arguments = parser.parse_args()
    record = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    record |= {"machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.python_version()}"}
    with tempfile.TemporaryDirectory() as folder:
        if "demo" in arguments.programs:
            record["demo"] = demo(Path(folder))
        if "evidence" in arguments.programs:
            record["evidence"] = {"seed": arguments.seed, **evidence(Path(folder), arguments.seed, arguments.earlier)}
    print(json.dumps(record, indent=1))
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
