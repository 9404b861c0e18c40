"""The progress bar: for people at a terminal who wait, on standard error, and for nobody else."""

import io
import sys
import time

import pytest

from vvcv.simulators import progress as module


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("patience", "shown"), [(0.05, True), (30.0, False)])
def test_the_bar_is_shown_only_after_a_while(monkeypatch, patience, shown):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(module, "PATIENCE", patience)
    with module.progress("running models", 3) as step:
        time.sleep(0.3)
        step("dear")
        time.sleep(0.3)
    assert ("running models: dear" in terminal.getvalue()) is shown


def test_no_bar_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    with module.progress("running models", 3) as step:
        time.sleep(0.1)
        step("dear")
    assert capsys.readouterr().err == ""
