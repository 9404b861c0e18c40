"""What the README shows, run as a newcomer would run it."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from vvcv.cli.main import app
from vvcv.estimation.methods import METHODS
from vvcv.report.explanation import RUNGS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_the_example_of_the_readme_has_ten_lines_and_beats_the_plain_average(capsys):
    block = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert block is not None and len([line for line in block.group(1).splitlines() if line]) <= 10
    names: dict = {}
    exec(block.group(1), names)
    estimate = names["est"]
    exact = np.array([1.0, 1.0])  # E sin(c x) = 0 and E x^2 = 1
    assert "plain average" in capsys.readouterr().out
    assert (np.abs(estimate.mean - exact) < 0.1 * np.abs(estimate.monte_carlo.mean - exact)).all()


def test_every_method_of_the_first_page_is_known():
    rows = re.findall(r'^\| `"([a-z-]+)"`', (ROOT / "docs" / "start.md").read_text(), re.MULTILINE)
    assert set(rows) == {*METHODS, "auto"}


def test_the_demo_prints_its_table_and_saves_its_picture(tmp_path):
    picture = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--runs", "12", "--seed", "1", "--out", str(picture)])
    assert result.exit_code == 0, result.output
    assert RUNGS["vv"] in result.output and "72.878604" in result.output and "times closer" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("command", ["demo", "check", "evidence", "version"])
def test_every_command_explains_itself(command):
    assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
