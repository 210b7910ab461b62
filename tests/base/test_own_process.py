# SPDX-License-Identifier: BSD-3-Clause
"""What a process that measures needs of whoever starts it, and what is said where it has not got it."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.base.own_process import what_is_lacking

#: Starts its words as a parent does that ignores its children's ends, or holds the signal back.
DEAF = {
    "ignored": "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])",
    "blocked": "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD}); os.execv(sys.argv[1], sys.argv[1:])",
}


@pytest.mark.some(2)
@pytest.mark.parametrize("how", DEAF)
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "-r", "2", "--out", "x", "--", "true"), 0, "wall time"),
        pytest.param(
            *(("where", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"), 0, "sh"),
            marks=pytest.mark.long,
        ),
        (("vec", "bad.c"), 2, "does not compile bad.c"),
    ],
)
def test_a_parent_that_hears_nothing_of_its_children_spoils_nothing(
    tmp_path: Path, how: str, words: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "bad.c").write_text("int x = ;\n")
    line = [sys.executable, "-c", DEAF[how], sys.executable, "-m", "nodewise", *words]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code and said in done.stdout + done.stderr, done.stdout + done.stderr


def _lacking_in_a_child(change: str) -> str:
    code = f"import os, resource, signal\n{change}\nimport nodewise\ntry:\n  nodewise.run('true')\nexcept nodewise.InputError as problem: print(problem)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr


def test_python_is_told_what_is_lacking_before_anything_runs(tmp_path: Path) -> None:
    assert "SIGCHLD is ignored" in _lacking_in_a_child("signal.signal(signal.SIGCHLD, signal.SIG_IGN)")
    assert "only 40 files may be open" in _lacking_in_a_child("resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))")
    gone = f"os.mkdir({str(tmp_path / 'g')!r}); os.chdir({str(tmp_path / 'g')!r}); os.rmdir({str(tmp_path / 'g')!r})"
    assert "the current directory cannot be used: No such file" in _lacking_in_a_child(gone)


def test_nothing_is_lacking_here() -> None:
    assert what_is_lacking() is None
    assert signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN and Path.cwd()
    assert os.sched_getaffinity(0) and resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 64
