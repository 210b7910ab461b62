# SPDX-License-Identifier: BSD-3-Clause
"""Commands of nodewise's own leave nothing behind, however the process that has them carried out ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nodewise.runner.commands import passing_folder, run_whole, will

DEED = """
from nodewise.runner.commands import passing_folder, run_whole
with passing_folder("x-") as (folder, begun):
    (folder / "part").touch()
    run_whole(["sh", "-c", "echo $$ > pids; sh -c 'echo $$ >> pids; sleep 60; true'; true"], begun=begun)
"""


def _until_gone(paths: list[Path], limit_s: float = 20.0) -> None:
    until = time.monotonic() + limit_s
    while any(path.exists() for path in paths):
        assert time.monotonic() < until, paths
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_command_and_its_folder_go_with_its_process(tmp_path: Path, number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DEED],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    pids = tmp_path / "pids"
    until = time.monotonic() + 30
    while not pids.exists() or len(pids.read_text().split()) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    (folder,) = tmp_path.glob("x-*")
    process.send_signal(number)
    process.wait(30)
    _until_gone([folder, *(Path("/proc", pid) for pid in pids.read_text().split())])


def test_a_limit_of_time_holds_for_all_that_was_started(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_whole(["sh", "-c", "sleep 60 & echo $! > pid; wait"], 0.3, cwd=tmp_path)
    _until_gone([Path("/proc", (tmp_path / "pid").read_text().strip())])


def test_a_will_is_carried_out_once_at_the_end(tmp_path: Path) -> None:
    with will('echo done >> "$1"', str(tmp_path / "said")) as tell:
        tell("-")
        assert not (tmp_path / "said").exists()
    assert (tmp_path / "said").read_text() == "done\n"


def test_a_folder_is_there_meanwhile_and_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with passing_folder("y-") as (folder, _):
        assert folder.parent == tmp_path and folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_what_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nothing"):
        run_whole([str(tmp_path / "nothing")])
    done = run_whole(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_of_what_is_printed_the_end_is_kept() -> None:
    done = run_whole(["sh", "-c", "head -c 40000000 /dev/zero; printf end; echo err >&2"], most=1000)
    assert len(done.stdout) == 1000 and done.stdout.endswith("\0end") and done.stderr == "err\n"
