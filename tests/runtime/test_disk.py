"""Files are the old or the new one, whole; torn lines are cut; one process writes."""

import os
import threading
import time

import pytest

from vvcv.runtime.disk import append, cut_torn_line, force_to_disk, lock, replacing, whole_lines, write_whole


def test_a_file_is_replaced_when_all_went_well_and_left_alone_otherwise(tmp_path):
    path = tmp_path / "result"
    write_whole(path, "old")
    with pytest.raises(RuntimeError, match="half way"), replacing(path) as temporary:
        temporary.write_text("new")
        raise RuntimeError("half way")
    assert path.read_text() == "old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["result"]  # no temporary file is left


def test_a_folder_is_replaced_as_a_whole_or_left_alone(tmp_path):
    path = tmp_path / "result"
    for content in ("old", "new"):
        with replacing(path) as temporary:
            temporary.mkdir()
            (temporary / content).touch()
    with pytest.raises(RuntimeError, match="half way"), replacing(path) as temporary:
        temporary.mkdir()
        raise RuntimeError("half way")
    assert [file.name for file in path.iterdir()] == ["new"]
    assert [file.name for file in tmp_path.iterdir()] == ["result"]


def test_where_nothing_can_be_written_the_error_names_the_place_and_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder .*none.* Make it first"):
        write_whole(tmp_path / "none" / "file", "content")
    with pytest.raises(IsADirectoryError, match="is a folder.* Choose another name"):
        write_whole(tmp_path, "content")


def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="is a device or a pipe, .* Choose another name"):
            write_whole(tmp_path / name, "content")
    assert (tmp_path / "pipe").is_fifo() and len(list(tmp_path.iterdir())) == 2


def test_a_link_keeps_pointing_where_it_did(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", "content")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "content"


@pytest.mark.parametrize(("content", "whole"), [(b"", b""), (b"a\nb\n", b"a\nb\n"), (b"a\nto", b"a\n"), (b"to", b"")])
def test_a_line_without_an_end_is_cut_off_and_the_next_one_follows_the_last_whole_one(tmp_path, content, whole):
    path = tmp_path / "lines"
    path.write_bytes(content)
    with path.open("a+b") as file:
        cut_torn_line(file)
        append(file, "c", "d")
    assert path.read_bytes() == whole + b"c\nd\n"
    assert whole_lines(content) == whole.split(b"\n")[:-1]


def test_what_is_appended_is_forced_to_disk_before_the_next_line(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append((tmp_path / "lines").read_bytes()))
    with (tmp_path / "lines").open("ab") as file:
        append(file, "a")
        append(file, "b")
    assert synced == [b"a\n", b"a\nb\n"]


def test_a_new_name_is_forced_to_disk_with_its_content(tmp_path, monkeypatch):
    forced = []
    monkeypatch.setattr("vvcv.runtime.disk.force_to_disk", lambda path: forced.append(path.is_dir()))
    write_whole(tmp_path / "file", "content")
    assert forced == [False, True]


def test_a_folder_and_a_file_can_be_forced_to_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", synced.append)
    (tmp_path / "file").touch()
    force_to_disk(tmp_path)
    force_to_disk(tmp_path / "file")
    assert len(synced) == 2


def test_a_second_writer_is_refused_until_the_first_has_closed_its_file(tmp_path):
    path = tmp_path / "lock"
    with path.open("w") as first:
        lock(first, "another is at work")
        with path.open("w") as second, pytest.raises(ValueError, match="another is at work"):
            lock(second, "another is at work")
    with path.open("w") as third:
        lock(third, "another is at work")


def test_a_folder_in_which_threads_still_write_is_removed_when_they_end(tmp_path):
    ended = []

    def write(folder):
        for k in range(100):
            folder.mkdir(exist_ok=True)
            (folder / str(k)).write_text("late")
            time.sleep(0.002)
        ended.append(True)

    with pytest.raises(RuntimeError, match="full"), replacing(tmp_path / "whole") as temporary:
        threading.Thread(target=write, args=(temporary,)).start()
        time.sleep(0.02)
        raise RuntimeError("full")
    while not ended:
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []
