"""docs/simulators.md runs, in no more lines than it promises; the recorded borehole is as much better as it says."""

import json
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "simulators.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
RECORD = json.loads((ROOT / "benchmarks" / "simulators.json").read_text())["borehole"]


@pytest.mark.slow
def test_the_page_runs_with_fewer_runs_and_is_far_better_than_the_plain_average(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in BLOCKS:
        exec(block.replace('"cheap": 400, "middle": 80', '"cheap": 60, "middle": 30'), names)
    assert names["est"].sizes == (60, 30, 20) and "dear" in capsys.readouterr().out
    plain = RECORD["plain average"]
    assert abs(names["est"].mean[2] - RECORD["exact"]) < plain / 10
    assert (tmp_path / "borehole.jsonl").read_text().count("\n") == 1 + 60 + 30 + 20
    assert names["tasks"].names == ("flow", "heat")


def test_the_borehole_takes_at_most_ten_lines_of_code():
    lines = [line for line in BLOCKS[1].splitlines() if line.strip()]
    assert len(lines) <= 10 and all(len(line) <= 120 for line in lines)
    assert "multifidelity" in lines[-2] and '"cheap": 400, "middle": 80, "dear": 20' in textwrap.dedent(BLOCKS[1])


def test_the_recorded_borehole_is_twenty_times_better_than_the_plain_average():
    assert RECORD["runs"] == {"cheap": 400, "middle": 80, "dear": 20} and len(RECORD["seeds"]) >= 10
    ours = sum(abs(row["error"]) for row in RECORD["seeds"]) / len(RECORD["seeds"])
    plain = sum(abs(row["plain"]) for row in RECORD["seeds"]) / len(RECORD["seeds"])
    assert plain > 20 * ours and plain / ours == pytest.approx(RECORD["times better"])
