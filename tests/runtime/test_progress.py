"""The progress bar: for people at a terminal who wait, on standard error, and for nobody else."""

import io
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from vvcv.interop.pymc import _at_every_draw
from vvcv.runtime import progress as module


class Terminal(io.StringIO):
    def isatty(self):
        return True


def a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.mark.parametrize(("patience", "shown"), [(0.05, True), (30.0, False)])
def test_the_bar_is_shown_only_after_a_while(monkeypatch, patience, shown):
    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", patience)
    with module.progress_bar("running models", 3) as step:
        time.sleep(0.3)
        step(1, "dear")
        time.sleep(0.3)
    assert ("running models: dear" in terminal.getvalue()) is shown
    assert ("1/3" in terminal.getvalue()) is shown


@pytest.mark.parametrize("asked", [True, False])
def test_who_asks_for_a_bar_need_not_wait_and_who_does_not_want_one_has_none(monkeypatch, asked):
    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 30.0 if asked else 0.0)
    with module.progress_bar("epochs", 3, shown=asked) as step:
        step(2)
        time.sleep(0.3)
    assert ("2/3" in terminal.getvalue()) is asked


def test_no_bar_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    with module.progress_bar("running models", 3) as step:
        time.sleep(0.1)
        step(1, "dear")
    assert capsys.readouterr().err == ""


def test_work_that_is_interrupted_leaves_no_bar_behind_while_its_error_is_kept(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    a_terminal(monkeypatch)
    with module.wished(True), pytest.raises(KeyboardInterrupt) as kept:
        _at_every_draw(interrupted, {"x": np.zeros((2, 3))}, "gradients")
    assert kept.value.__traceback__ is not None and module._SHOWN.get() is None


def test_without_a_terminal_who_asks_has_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    with module.progress_bar("running models", 4, shown=True) as step:
        step()
        time.sleep(0.15)
        step(1, "dear")
        step()
        step()
    assert capsys.readouterr().err.splitlines() == ["running models: 0/4", "running models: dear: 2/4"]


@pytest.mark.parametrize(("wish", "lines"), [(True, 3), (False, 0), (None, 0)])
def test_a_wish_holds_for_all_work_within(capsys, wish, lines):
    with module.wished(wish), module.progress_bar("estimating", 9), module.progress_bar("looking", 3):
        pass
    with module.progress_bar("estimating", 9, shown=wish):
        pass
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_work_within_other_work_takes_the_place_of_its_bar(monkeypatch):
    terminal, begun = a_terminal(monkeypatch), []
    monkeypatch.setattr(module, "_bar", lambda made=module._bar: begun.append(made()) or begun[-1])
    with module.progress_bar("estimating", 600, shown=True):
        time.sleep(0.3)
        assert "estimating" in terminal.getvalue()
        with module.progress_bar("looking", 3) as step:
            assert [task.visible for task in begun[0].tasks] == [False, True]
            step()
        assert [(task.description, task.visible) for task in begun[0].tasks] == [("estimating", True)]
    assert len(begun) == 1


@pytest.mark.parametrize("stream", [None, SimpleNamespace(write=str, flush=str)])
def test_a_service_without_a_terminal_is_shown_nothing(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    assert not module.at_terminal()
    with module.progress_bar("working", 2) as step:
        step()
