# SPDX-License-Identifier: BSD-3-Clause
"""Files written whole: what a full disk leaves, and what is no regular file."""

import errno
import os
import resource
import signal
from pathlib import Path

import pytest

from nodewise.base.errors import StoreError
from nodewise.base.files import make_directory, remove_left_parts, store_error, write_whole, write_within


def test_a_failed_whole_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "f"
    write_whole(target, "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(StoreError):
            write_whole(target, "x" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_device_or_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    for name in ("/dev/null", str(tmp_path / "link")):
        if not Path(name).exists():
            Path(name).symlink_to("/dev/null")
        write_whole(Path(name), "x")
        assert Path(name).is_char_device()
    with pytest.raises(StoreError, match="No space"):
        write_whole(Path("/dev/full"), "x")
    assert Path("/dev/full").is_char_device()
    (tmp_path / "target").write_text("old")
    (tmp_path / "other").symlink_to("target")
    write_whole(tmp_path / "other", "new")
    assert (tmp_path / "other").is_symlink() and (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError):
        write_whole(tmp_path / "pipe", "x")


@pytest.mark.parametrize("name", ["/", ".", "", "loop", "n" * 300, "file/x"])
def test_a_name_that_cannot_be_written_to_is_one_message(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("file").write_text("")
    with pytest.raises(StoreError):
        write_whole(Path(name), "x")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "the quota is used up"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EACCES, "a directory that you may write to"),
        (errno.EPERM, "a directory that you may write to"),
        (errno.EROFS, "a writable filesystem"),
        (errno.ENOTDIR, "a part of that path is a file"),
        (errno.ENOENT, "make it first"),
        (errno.EEXIST, "there is a file of that name"),
    ],
)
def test_each_reason_has_what_helps(number: int, hint: str) -> None:
    error = store_error(Path("missing/x"), OSError(number, os.strerror(number)))
    assert error.what == f"cannot write missing/x: {os.strerror(number)}" and hint in (error.hint or "")
    assert store_error(Path("x"), OSError("odd")).hint is None
    assert store_error(Path("x"), OSError("odd")).what == "cannot write x: odd"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS, errno.ENOTDIR])
def test_of_a_file_that_was_named_another_name_helps(number: int) -> None:
    hint = store_error(Path("x"), OSError(number, os.strerror(number)), named=True).hint or ""
    assert "name another file" in hint and "--out" not in hint and "kept" not in hint


def test_a_drawing_on_a_full_disk_does_not_speak_of_out() -> None:
    with pytest.raises(StoreError) as told:
        write_whole(Path("/dev/full"), "x")
    assert told.value.hint == "free some space, or name another file"


def test_directories_are_made_with_those_above_them(tmp_path: Path) -> None:
    make_directory(tmp_path / "a/b")
    make_directory(tmp_path / "a/b")
    assert (tmp_path / "a/b").is_dir()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file/x"):
        with pytest.raises(StoreError, match="cannot write"):
            make_directory(path)


def test_texts_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_whole(tmp_path / "t", "ü")
    write_whole(tmp_path / "b", b"\xff")
    assert (tmp_path / "t").read_bytes() == "ü".encode() and (tmp_path / "b").read_bytes() == b"\xff"
    write_whole(tmp_path / "odd", "a\udcffb")
    assert (tmp_path / "odd").read_text() == "a\\xffb"
    read, write = os.pipe()
    try:
        write_whole(Path(f"/proc/self/fd/{write}"), "through")
        assert os.read(read, 99) == b"through"
    finally:
        os.close(read)
        os.close(write)


def test_a_link_in_a_folder_that_others_fill_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep")
    (tmp_path / "report.html").symlink_to("mine")
    write_within(tmp_path, "report.html", "page")
    assert (tmp_path / "mine").read_text() == "keep"
    assert not (tmp_path / "report.html").is_symlink() and (tmp_path / "report.html").read_text() == "page"


def test_a_file_that_is_replaced_stays_as_private_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    target.chmod(0o600)
    write_whole(target, "new")
    assert target.stat().st_mode & 0o777 == 0o600 and target.read_text() == "new"


def test_nothing_is_left_of_a_file_whose_writing_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "f", "x")
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_left_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    # no process has a number beyond the kernel's largest
    left, living = (tmp_path / f".verdict.json.{pid}.part" for pid in (2**22 + 1, os.getpid()))
    for path in (left, living, tmp_path / ".verdict.json.1"):
        path.write_text("")
    remove_left_parts(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {living.name, ".verdict.json.1"}


def test_a_folder_that_is_there_is_not_to_be_made() -> None:
    error = store_error(Path("/proc/x"), OSError(errno.ENOENT, "No such file or directory"), named=True)
    assert error.hint == "nothing can be made in that directory: name another file"
