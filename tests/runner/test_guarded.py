# SPDX-License-Identifier: BSD-3-Clause
"""The guard above a program that is watched: what is left where it ends before it has said anything."""

import os
import signal
import subprocess
from collections.abc import Sequence

import pytest

from nodewise.base.errors import ProgramError
from nodewise.runner import guarded
from nodewise.runner.guarded import Guarded
from nodewise.runner.proc_files import children_of

START = subprocess.Popen


def test_a_guard_that_is_killed_before_it_says_that_the_program_runs_leaves_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(words: Sequence[str], executable: str) -> None:
        START(words, executable=executable)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(guarded.subprocess, "Popen", start)
    before = children_of(os.getpid())
    with pytest.raises(ProgramError, match="the guard above it was killed"):
        Guarded(["sleep", "60"], "/bin/sleep")
    # what another test left may have ended meanwhile
    assert set(children_of(os.getpid())) <= set(before)
