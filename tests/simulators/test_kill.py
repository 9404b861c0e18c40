"""Kill -9 at five moments: no finished run is lost, and none is made again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUNS = 40

#: Every call of the model leaves a line of its own, so that repeated runs would be seen.
SCRIPT = """
import sys, time
import vvcv
from vvcv import inputs

def model(a):
    time.sleep(0.03)
    with open(sys.argv[2], "a") as file:
        file.write(repr(a) + chr(10))
    return a + time.time()

given = inputs.independent(a=inputs.uniform(0, 1))
vvcv.multifidelity({"slow": model}, given, {"slow": int(sys.argv[3])}, store=sys.argv[1], method="mc", check=False)
"""


def start(store: Path, calls: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), str(calls), str(RUNS)], env=dict(os.environ))


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.slow
def test_five_kills_lose_nothing_and_repeat_nothing(tmp_path):
    store, calls = tmp_path / "runs.jsonl", tmp_path / "calls.txt"
    for moment in range(5):
        before = store.read_bytes() if store.exists() else b""
        process = start(store, calls)
        while size(store) <= len(before) and process.poll() is None:  # until the first line of its own
            time.sleep(0.001)
        time.sleep(0.037 * moment)
        assert process.poll() is None, "the runs were over before the kill"
        process.send_signal(signal.SIGKILL)
        process.wait()
        whole = before[: before.rfind(b"\n") + 1]
        assert store.read_bytes().startswith(whole) and size(store) > len(whole)
    kept = store.read_bytes()
    assert start(store, calls).wait(timeout=120) == 0
    assert store.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    records = [json.loads(line) for line in store.read_text().splitlines()[1:]]
    assert [record["number"] for record in records] == list(range(RUNS))
    made = [float(line) for line in calls.read_text().splitlines()]
    assert sorted(set(made)) == sorted(record["x"][0] for record in records)
    assert len(made) <= RUNS + 5  # a kill between a model's return and its record costs that one run, no other
