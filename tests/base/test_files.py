# SPDX-License-Identifier: BSD-3-Clause
"""Files written whole: what a full disk leaves, and what is no regular file."""

import os
import resource
import signal
from pathlib import Path

import pytest

from nodewise.base.errors import StoreError
from nodewise.base.files import write_whole


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
