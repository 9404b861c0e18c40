"""A bar for long work that a person watches, silence otherwise."""

from __future__ import annotations

import sys

import pytest

from vvcv.interop import progress


@pytest.mark.parametrize(("patience", "terminal", "shown"), [(0.0, True, True), (0.0, False, False), (60, True, False)])
def test_a_bar_appears_only_for_long_work_on_a_terminal(monkeypatch, capsys, patience, terminal, shown):
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert list(progress.tracked("abc", 3, "gradients at the draws")) == ["a", "b", "c"]
    printed = capsys.readouterr()
    assert ("gradients at the draws" in printed.err) == shown
    assert printed.out == ""
