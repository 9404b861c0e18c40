"""Code in C is built from the source beside it, and nothing else is ever run."""

import ctypes
import shutil
import subprocess

import pytest

from vvcv.runtime import native

SOURCE = "int answer(void) { return 42; }\n"

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@needs_compiler
def test_a_source_is_built_once_and_loaded(tmp_path, monkeypatch):
    source = tmp_path / "answer.c"
    source.write_text(SOURCE)
    assert native.library(source) is None
    built = native.build(source)
    assert built == native.built_file(source) and ctypes.CDLL(str(built)).answer() == 42
    monkeypatch.setenv("CC", "false")
    assert native.build(source) == built  # it is there
    native.library.cache_clear()
    assert native.library(source).answer() == 42


@needs_compiler
def test_another_source_has_another_name(tmp_path):
    source = tmp_path / "answer.c"
    source.write_text(SOURCE)
    before = native.build(source)
    source.write_text(SOURCE.replace("42", "43"))
    assert native.built_file(source) != before
    assert native.library(source) is None  # what was built is of other code
    after = native.build(source)
    assert after.exists() and not before.exists()


@needs_compiler
@pytest.mark.parametrize("pythons", ["no-such-compiler -pthread", "", None])
def test_where_the_compiler_of_python_is_not_here_the_machine_s_own_is_taken(tmp_path, monkeypatch, pythons):
    source = tmp_path / "answer.c"
    source.write_text(SOURCE)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(native.sysconfig, "get_config_var", lambda name: pythons)
    assert ctypes.CDLL(str(native.build(source))).answer() == 42


def test_a_compiler_that_fails_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    source = tmp_path / "answer.c"
    source.write_text(SOURCE)
    monkeypatch.setenv("CC", "false")
    with pytest.raises(subprocess.CalledProcessError):
        native.build(source)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(OSError):
        native.build(source)
    assert list(tmp_path.iterdir()) == [source]


def test_a_file_that_is_no_library_is_not_loaded(tmp_path):
    source = tmp_path / "answer.c"
    source.write_text(SOURCE)
    native.built_file(source).write_bytes(b"of another machine")
    assert native.library(source) is None


@needs_compiler
def test_what_does_not_load_was_not_built(tmp_path, monkeypatch):
    (tmp_path / "a folder").mkdir()
    source, junk = tmp_path / "answer.c", tmp_path / "a folder" / "cc"
    source.write_text(SOURCE)
    junk.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho junk > "$2"\n')
    junk.chmod(0o755)
    monkeypatch.setenv("CC", str(junk))  # a path with a space is one
    with pytest.raises(OSError, match="(?i)elf|invalid|not a|file"):
        native.build(source)
    assert [path.name for path in tmp_path.glob("*.so")] == []
