# SPDX-License-Identifier: BSD-3-Clause
"""Variables that lead a command, as in the lines that tune prints, in each command that starts one."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
SHOWING = ("NW_SEEN=seen", "sh", "-c", 'echo "it was $NW_SEEN"; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done')


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    return nodewise_here


def test_where_starts_it_with_them(nodewise: Command) -> None:
    done = nodewise("where", "--", *SHOWING)
    assert done.returncode == 0 and "it was seen" in done.stdout, done.stderr


def test_knobs_and_scale_take_them(nodewise: Command) -> None:
    done = nodewise("knobs", "--", "NW_SEEN=seen", "sh", "-c", "test $NW_SEEN = seen")
    assert done.returncode == 0, done.stderr
    words = ("--counts", "1,2", "--blocks", "6", "--accept-disturbed", "--out", "x")
    done = nodewise("scale", *words, "--", "NW_SEEN=seen", "sh", "-c", "test $NW_SEEN = seen; : {threads}")
    assert done.returncode == 0, done.stderr


def test_a_profile_is_of_the_program_and_called_as_it(nodewise: Command, tmp_path: Path) -> None:
    done = nodewise("profile", "--", *SHOWING)
    if done.returncode == 3:
        pytest.skip(done.stderr)
    assert done.returncode == 0 and "it was seen" in done.stdout, done.stderr
    (folder,) = (tmp_path / "nodewise-profiles").iterdir()
    assert folder.name.startswith("sh-")


@pytest.mark.parametrize("form", ["sh", "slurm"])
def test_a_script_exports_them(nodewise: Command, tmp_path: Path, form: str) -> None:
    done = nodewise("script", "--for", form, "--", "OMP_NUM_THREADS=2", "sh", "-c", "echo threads $OMP_NUM_THREADS")
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    assert "\nexport OMP_NUM_THREADS=2\n" in done.stdout and "job-name=OMP" not in done.stdout
    if form == "sh":
        (tmp_path / "s.sh").write_text(done.stdout)
        ran = subprocess.run(["sh", "s.sh"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stdout == "threads 2\n"


@pytest.mark.parametrize("command", ["where", "profile", "knobs", "scale", "script"])
def test_nothing_behind_them_is_bad_input(nodewise: Command, command: str) -> None:
    more = ("--for", "sh") if command == "script" else ()
    done = nodewise(command, *more, "--", "OMP_NUM_THREADS=2")
    assert done.returncode == 2 and "no program follows OMP_NUM_THREADS=2" in done.stderr, done.stderr
