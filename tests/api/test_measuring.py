# SPDX-License-Identifier: BSD-3-Clause
"""Folders of experiments for which nobody named a place."""

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from nodewise.api.measuring import kept, quiet_wait
from nodewise.base.errors import InputError

_BEGUN = """
import sys, time
from nodewise.api.measuring import kept
with kept(None, False, "study", named=sys.argv[1] == "named") as folder:
    (folder / "samples.jsonl").write_text("{}")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("how", ["unnamed", "named"])
def test_a_folder_that_nobody_would_look_for_goes_with_a_killed_process(tmp_path: Path, how: str) -> None:
    words = [sys.executable, "-c", _BEGUN, how]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={"TMPDIR": str(tmp_path)}) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "samples.jsonl").exists()
        process.kill()
    until = time.monotonic() + (20.0 if how == "unnamed" else 0.5)
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert folder.exists() == (how == "named")


def test_an_error_keeps_what_was_measured_and_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError) as told, kept(None, False, "study", named=False) as folder:
        (folder / "samples.jsonl").write_text("{}")
        raise InputError("no")
    assert (folder / "samples.jsonl").exists() and str(folder) in (told.value.hint or "")
    with kept(None, False, "study", named=False) as folder:
        (folder / "samples.jsonl").write_text("{}")
    assert not folder.exists()


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet_that_does_not_come_is_waited_for_once(monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    asked, notes = [], []

    def wait_until_quiet(limit_s: float, processors: tuple[int, ...]) -> SimpleNamespace:
        asked.append((limit_s, processors))
        return SimpleNamespace(quiet=quiet, seconds=limit_s, reason="others run")

    monkeypatch.setattr("nodewise.machine.quiet_wait.wait_until_quiet", wait_until_quiet)
    wait = quiet_wait(5.0, [0, 1], notes.append)
    for _ in range(3):
        wait()
    assert asked == [(5.0, (0, 1))] * (3 if quiet else 1)
    assert [str(note) for note in notes] == (
        [] if quiet else ["warning: the machine was not quiet in 5 s: others run; going on as it is"]
    )
