# SPDX-License-Identifier: BSD-3-Clause
"""Axes that a user names for `nodewise tune`, from the command line: parameters, variables, builds, ranks."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.started import Begun

Done = subprocess.CompletedProcess[str]

#: Says how long it takes by what it is given; whatever is made by a build says so, too.
PROGRAM = """#!/bin/sh
# MADE
n=${1:-4}
[ "$FAST" = yes ] && n=1
echo "{\\"nodewise\\": 1, \\"seconds\\": $n.$(( $(date +%N | cut -c7) % 2 ))0}"
"""

#: What an MPI launcher does, as far as placing ranks goes.
MPIRUN = """#!/bin/sh
n=$2
shift 2
i=0
while [ $i -lt $n ]; do
    OMPI_COMM_WORLD_LOCAL_RANK=$i "$@" &
    i=$((i + 1))
done
wait
"""


@pytest.fixture
def nodewise(tmp_path: Path, nodewise_here: Command) -> Command:
    """The command line, in a directory with a program in it."""
    _script(tmp_path / "app", PROGRAM)
    return nodewise_here


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def _tuned(nodewise: Command, *arguments: str) -> dict[str, Any]:
    done = nodewise("tune", "--accept-disturbed", "--json", "--max-runs", "40", "--out", "x", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_parameter_of_the_command_is_tuned(nodewise: Command) -> None:
    result = _tuned(nodewise, "-P", "n=9,2,5", "--axes", "n", "--", "./app", "{n}")
    assert result["best"]["command"] == ["./app", "2"]
    assert result["baseline"]["command"] == ["./app", "9"]


def test_a_constraint_holds(nodewise: Command) -> None:
    result = _tuned(nodewise, "-P", "n=9,2,5", "--axes", "n", "--constraint", "n > 2", "--", "./app", "{n}")
    assert result["best"]["command"] == ["./app", "5"]


def test_a_variable_is_tuned_and_may_stay_unset(nodewise: Command) -> None:
    result = _tuned(nodewise, "--env-axis", "FAST=no,yes", "--axes", "FAST", "--", "./app")
    assert result["best"]["env"] == {"FAST": "yes"}
    assert result["baseline"]["env"] == {}


def test_a_build_of_a_link_that_leads_to_itself_is_refused(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    done = nodewise("tune", "--build", "true", "--budget", "1s", "--", "./loop")
    assert done.returncode == 2 and "cannot be followed" in done.stderr


@pytest.mark.parametrize("to", ["app", "{out}"])
def test_a_build_is_tuned_and_the_file_that_was_there_stays(nodewise: Command, tmp_path: Path, to: str) -> None:
    before = (tmp_path / "app").stat()
    build = f"sed 's/MADE/{{flags}}/; s/:-4/:-{{n}}/' source > {to}; chmod +x {to}"
    _script(tmp_path / "source", PROGRAM)
    result = _tuned(
        nodewise, "--build", build, "-P", "n=7,3", "-P", "flags=-O2,-O3", "--axes", "n,flags", "--", "./app"
    )
    made = Path(result["best"]["command"][0])
    assert ":-3" in made.read_text()
    after = (tmp_path / "app").stat()
    assert (tmp_path / "app").read_text() == PROGRAM
    assert (after.st_mtime_ns, after.st_mode) == (before.st_mtime_ns, before.st_mode)
    assert [p.name for p in tmp_path.iterdir() if "nodewise" in p.name] == []


def test_a_flag_that_does_not_build_is_left_out_and_named(nodewise: Command) -> None:
    build = "test {flags} = -O2 && cp app {out}"
    done = nodewise(
        "tune", "--max-runs", "30", "--build", build, "-P", "flags=-O2,-Onope", "--axes", "flags", "--", "{out}"
    )
    assert done.returncode == 0, done.stderr
    assert "flags=-Onope was left out: the build failed with exit code 1" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_end_in_a_build_puts_the_file_back(tmp_path: Path, number: signal.Signals) -> None:
    _script(tmp_path / "app", PROGRAM)
    words = [
        "tune",
        "--axes",
        "flags",
        "--build",
        "echo {flags} > app; touch begun; sleep 60; echo late > app",
        "--",
        "./app",
    ]
    process = Begun(*words, cwd=tmp_path)
    _wait((tmp_path / "begun").exists)
    assert (tmp_path / "app").read_text() != PROGRAM
    process.send_signal(number)
    process.communicate(timeout=30)
    _wait(lambda: (tmp_path / "app").read_text() == PROGRAM)
    _wait(lambda: not list(tmp_path.glob(".app*")))


def test_a_build_ends_with_the_budget(nodewise: Command, tmp_path: Path) -> None:
    begin = time.monotonic()
    build = "echo {flags}; setsid sleep 61 & echo $! > pid; wait"
    done = nodewise("tune", "--budget", "1s", "--axes", "flags", "--build", build, "--", "./app")
    assert done.returncode == 2 and time.monotonic() - begin < 20
    assert "the build was stopped after" in done.stderr and "larger --budget" in done.stderr
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
    assert (tmp_path / "app").read_text() == PROGRAM


def test_a_kill_leaves_nothing_of_a_build(tmp_path: Path) -> None:
    _script(tmp_path / "app", PROGRAM)
    build = "echo {flags}; setsid sleep 62 & echo $! > pid; echo $$ >> pid; touch begun; wait"
    words = ["tune", "--axes", "flags", "--build", build, "--", "./app"]
    with Begun(*words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _wait((tmp_path / "begun").exists)
        process.kill()
    pids = (tmp_path / "pid").read_text().split()
    assert len(pids) == 2
    _wait(lambda: not any(Path("/proc", pid).exists() for pid in pids))


def test_what_a_build_prints_is_kept_within_bounds(tmp_path: Path) -> None:
    _script(tmp_path / "app", PROGRAM)
    build = "head -c 700000000 /dev/zero; echo the end {flags}; false"
    words = ["tune", "--budget", "60s", "--axes", "flags", "--build", build, "--", "./app"]
    bounded = ["sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh", sys.executable, "-m", "nodewise", *words]
    done = subprocess.run(bounded, cwd=tmp_path, capture_output=True, timeout=100, check=False)
    assert done.returncode == 2 and b"the build failed with exit code 1" in done.stderr
    assert b"the end" in done.stderr and len(done.stderr) < 20_000


def _wait(condition: Any) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_ranks_are_tuned_and_each_sits_in_its_place(nodewise: Command, tmp_path: Path) -> None:
    _script(tmp_path / "mpirun", MPIRUN)
    reported = (
        'echo "$OMPI_COMM_WORLD_LOCAL_RANK $OMP_NUM_THREADS $OMP_PLACES $(taskset -cp $$ | sed s/.*:.//)" >> seen; '
    )
    _script(tmp_path / "rank", "#!/bin/sh\n" + reported + 'echo "{\\"nodewise\\": 1, \\"seconds\\": 1.5}"\n')
    result = _tuned(nodewise, "--axes", "ranks,placement", "--", "./mpirun", "-n", "2", "./rank")
    assert set(result["axes"]) == {"ranks", "placement"}
    for line in (tmp_path / "seen").read_text().splitlines():
        rank, _, *rest = line.split()
        if len(rest) == 2 and len(os.sched_getaffinity(0)) > 1:
            places, mask = rest
            assert places.replace("{", "").replace("}", "") == mask, f"rank {rank} is held to its places"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--axes", "wings", "--", "./app"], ("unknown axis: wings", "the axes are")),
        (["--axes", "allocatr", "--", "./app"], ("unknown axis: allocatr; did you mean allocator?", "nodewise knobs")),
        (["--axes", "flags", "--", "./app"], ("--build",)),
        (["--axes", "", "--", "./app"], ("no axis",)),
        (["--axes", "ranks", "--", "./app"], ("ranks",)),
        (["--axes", "ranks", "--", "mpirun", "./app"], ("ranks",)),
        (["--axes", "ranks", "--", "mpirun", "-n", "two", "./app"], ("'two'",)),
        (["--axes", "ranks", "--", "mpirun", "-n", "2"], ("no program",)),
        (["-P", "n", "--", "./app", "{n}"], ("NAME=VALUES",)),
        (["--env-axis", 'S="static,1"', "--", "./app"], ("quotes hold no values together", "static\\,1")),
        (["--constraint", "thread < 2", "--", "./app"], ("speaks of thread", "did you mean threads?")),
        (["-P", "n=1,2", "-P", "n=3", "--", "./app", "{n}"], ("given twice",)),
        (["-P", "m=1,2", "--", "./app", "{n}"], ("{m}",)),
        (["-P", "threads=1,2", "--", "./app", "{threads}"], ("threads is an axis",)),
        (["-P", "ranks=a,b", "--axes", "placement", "--", "./app", "{ranks}"], ("ranks is an axis",)),
        (["--env-axis", "a b=1", "--", "./app"], ("name of a variable",)),
        (["--env-axis", "FAST", "--", "./app"], ("--env-axis",)),
        (["-P", "n=1,2", "--constraint", "n >", "--", "./app", "{n}"], ("'n >'", "character 4")),
        (["-P", "n=1,2", "--constraint", "m > 1", "--", "./app", "{n}"], ("m, which is no axis",)),
        (["-P", "n=1,2", "--constraint", "__import__('os')", "--", "./app", "{n}"], ("constraint",)),
        (["-P", "n=2,5", "--axes", "n", "--constraint", "n > 7", "--", "./app", "{n}"], ("'n > 7'", "n: 2 (now), 5")),
        (["--build", "false {flags}", "--axes", "flags", "--", "./app"], ("the build failed with exit code 1",)),
        (["--build", "true {flags}", "--axes", "flags", "--", "./none"], ("the build made no ./none",)),
        (["--build", "cc {flags}", "--axes", "flags", "--", "sh"], ("found on PATH",)),
        (["--max-runs", "3", "--", "./app"], ("too few",)),
        (["--resume", "nowhere"], ("no such directory",)),
        (["--", "./app", "not-a-number-of-seconds"], ("seconds",)),
        ([], ("no program",)),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_message_and_leaves_nothing(
    nodewise: Command, tmp_path: Path, arguments: list[str], words: tuple[str, ...]
) -> None:
    done = nodewise("tune", *arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr.count("error:") == 1 and "defect" not in done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    assert [p.name for p in tmp_path.iterdir()] in (["app"], [])
    assert (tmp_path / "app").read_text() == PROGRAM


def test_a_knob_of_a_library_that_is_not_there_is_refused(nodewise: Command, tmp_path: Path) -> None:
    done = nodewise("tune", "--axes", "openblas-core-type", "--max-runs", "20", "--", "sleep", "0.05")
    assert done.returncode == 2 and "is of OpenBLAS, which the program does not load" in done.stderr
    assert "--env-axis OPENBLAS_CORETYPE=" in done.stderr


def test_a_tune_that_was_cut_off_goes_on_as_it_was_asked_for(nodewise: Command, tmp_path: Path) -> None:
    first = _tuned(nodewise, "-P", "n=9,2,5", "--axes", "n", "--", "./app", "{n}")
    samples = (tmp_path / "x/samples.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "x/samples.jsonl").write_text("".join(samples[:12]) + samples[12][:9])
    (tmp_path / "x/verdict.json").unlink()
    done = nodewise("tune", "--resume", "x", "--within", "3%")
    assert done.returncode == 2
    assert "--within cannot be given" in done.stderr
    done = nodewise("tune", "--resume", "x", "--json")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["best"]["command"] == first["best"]["command"]
    assert (tmp_path / "x/samples.jsonl").read_text().startswith("".join(samples[:12]))
