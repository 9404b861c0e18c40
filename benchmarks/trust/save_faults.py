"""What a stored estimate survives: kill -9 while it is saved, full disks, cut and altered files.

    python benchmarks/trust/save_faults.py [--kills 100] [--out save_faults.json]

After every fault the file must be the old or the new estimate, whole, or loading must raise a ValueError.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from vvcv.estimation.netcdf import save
from vvcv.estimation.numbers import MonteCarlo
from vvcv.estimation.result import Estimate
from vvcv.estimation.storage import load


def example(seed: int, count: int = 40) -> Estimate:
    """An estimate of `count` tasks with random numbers; its method tells which one it is."""
    rng = np.random.default_rng(seed)
    names = tuple(f"<b>task</b> [{t}] \N{GREEK SMALL LETTER PI}" for t in range(count))
    mean, error, plain, plain_error = rng.random((4, count))
    return Estimate(
        names, mean, error, error, error, f"seed {seed}", ("cf",) * count, MonteCarlo(plain, plain_error),
        np.eye(count), ("matern-5/2",) * count, (10,) * count, 0.5, False, np.ones(count), ((),) * count, None,
    )  # fmt: skip


def kill_while_saving(path: Path, kills: int) -> Counter:
    """Save again and again in a child, kill it at a random moment, and look at what is there."""
    warnings.simplefilter("ignore")  # forking with threads is no concern for a child that only saves
    rng, outcome = np.random.default_rng(0), Counter()
    old, new = example(0), example(1)
    save(old, path)
    for _ in range(kills):
        child = os.fork()
        if child == 0:
            while True:
                save(new, path)
                save(old, path)
        time.sleep(float(rng.uniform(0.0, 0.15)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            loaded = load(path)
            expected = {"seed 0": old, "seed 1": new}[loaded.method]
            outcome["whole" if np.array_equal(loaded.mean, expected.mean) else "mixed"] += 1
        except ValueError:
            outcome["unreadable"] += 1
    for stale in path.parent.glob(".vvcv-*.tmp"):
        outcome["temporary files left"] += 1
        stale.unlink()
    return outcome


def fill_the_disk(path: Path, limits: list[int]) -> Counter:
    """Save a larger estimate where files may not grow beyond a limit."""
    outcome, (soft, hard) = Counter(), resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in limits:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            outcome[_save_over(path)] += 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return outcome


def fill_a_small_disk(folder: Path, sizes: list[int]) -> Counter | None:
    """The same on real file systems of a few kilobytes, where one may be mounted."""
    outcome = Counter()
    for size in sizes:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)]
        if subprocess.run(mount, capture_output=True).returncode:
            return None
        try:
            outcome[_save_over(folder / "estimate.nc")] += 1
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    return outcome


def _save_over(path: Path) -> str:
    """Put a small estimate at `path`, try to save a large one over it, and say what is left."""
    try:
        small = example(0, 1)
        save(small, path)
    except OSError:
        return "no room for the old file"
    try:
        save(example(1, 120), path)
        kept = 1
    except OSError:
        kept = 0
    whole = load(path).method == f"seed {kept}" and not list(path.parent.glob(".vvcv-*.tmp"))
    return ("new file whole" if kept else "error raised, old file whole") if whole else "broken"


def damage(path: Path, step: int) -> dict[str, Counter]:
    """Cut the file at, and flip a bit of, every step-th byte."""
    original = example(0, 3)
    save(original, path)
    content, target = path.read_bytes(), path.with_name("damaged.nc")

    def outcome(altered: bytes) -> str:
        target.write_bytes(altered)
        try:
            loaded = load(target)
        except ValueError:
            return "ValueError"
        same = str(loaded) == str(original) and np.array_equal(loaded.mean, original.mean)
        return "unused byte, same estimate" if same else "silently wrong"

    places = range(0, len(content), step)
    flips = (content[:i] + bytes([content[i] ^ 1 << (i % 8)]) + content[i + 1 :] for i in places)
    return {"cut": Counter(outcome(content[:i]) for i in places), "flipped": Counter(map(outcome, flips))}


def main() -> None:
    """Run all faults, print the outcomes, write them to a JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--step", type=int, default=17, help="damage every so many bytes")
    parser.add_argument("--out", type=Path, default=Path("save_faults.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, disk = Path(folder) / "estimate.nc", Path(folder) / "disk"
        disk.mkdir()
        results = {
            "kill -9": kill_while_saving(path, arguments.kills),
            "file size limit": fill_the_disk(path, list(range(30_000, 330_000, 60_000))),
            "full disk": fill_a_small_disk(disk, [40, 64, 100, 200, 400, 1000]) or "could not mount",
            **damage(path, arguments.step),
        }
    for fault, outcome in results.items():
        print(f"{fault:<16} {outcome if isinstance(outcome, str) else dict(outcome)}")
    arguments.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
