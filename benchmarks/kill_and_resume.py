"""Kill a quick run at ten random moments, resume each time, and compare its CSV with that of an undisturbed run.

    python benchmarks/kill_and_resume.py [--experiment step] [--kills 10] [--seed 0]

writes benchmarks/kill_and_resume.json.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", default="step")
    parser.add_argument("--methods", help="rows to run; by default all of a quick run")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/kill_and_resume.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder, "whole"), Path(folder, "killed")
        began = time.perf_counter()
        subprocess.run(command(options, whole), check=True, stdout=subprocess.DEVNULL)
        undisturbed = time.perf_counter() - began
        rng = np.random.default_rng(options.seed)
        kills = [kill_after(options, killed, wait) for wait in rng.uniform(0, undisturbed / 4, options.kills)]
        subprocess.run(command(options, killed), check=True, stdout=subprocess.DEVNULL)
        digests = [digest(out / options.experiment / "replications.csv") for out in (whole, killed)]
        record = {
            "experiment": options.experiment,
            "methods": options.methods,
            "seed": options.seed,
            "seconds_undisturbed": round(undisturbed, 1),
            "kills": kills,
            "equal": digests[0] == digests[1],
            "sha256": digests,
        }
    print(json.dumps(record, indent=1))
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(not record["equal"])


def command(options: argparse.Namespace, out: Path) -> list[str]:
    """The quick run that is disturbed."""
    methods = ["--methods", options.methods] if options.methods else []
    return [
        sys.executable,
        "-m",
        "vvcv.cli.main",
        "reproduce",
        options.experiment,
        "--quick",
        "--out",
        str(out),
        *methods,
    ]


def kill_after(options: argparse.Namespace, out: Path, wait: float) -> dict:
    """Start or resume the run, kill -9 it after so many seconds, and count what it leaves."""
    process = subprocess.Popen(command(options, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(wait)
    alive = process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    journals = out.glob("*/journal/*.jsonl")
    finished = sum(path.read_bytes().count(b"\n") for path in journals)
    return {"after_seconds": round(float(wait), 2), "still_running": alive, "replications_kept": finished}


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
