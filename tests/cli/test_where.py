# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise where` on real programs, with the OpenMP runtime that the compiler here brings."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.started import started

TEAM = """
#include <chrono>
#include <cstdio>
int main() {
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
        while (std::chrono::steady_clock::now() < end) sum += 1;
    }
    std::puts(sum > 0 ? "done" : "");
    return 7 * (sum <= 0);
}
"""
TWO = sorted(os.sched_getaffinity(0))[:2]
needs_two = pytest.mark.skipif(len(TWO) < 2, reason="one processor")


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    folder = tmp_path_factory.mktemp("where")
    (folder / "team.cpp").write_text(TEAM)
    subprocess.run(["g++", "-O1", "-fopenmp", "team.cpp", "-o", "team"], cwd=folder, check=True)
    return str(folder / "team")


def where(*words, **env):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_"))}
    return started("where", *words, env={**kept, **env})


def bound(*processors):
    return {"OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "close", "OMP_PLACES": ",".join(f"{{{p}}}" for p in processors)}


def test_a_picture_that_cannot_be_written_is_known_before_the_program_runs(tmp_path):
    done = where("--svg", str(tmp_path / "none/seen.svg"), "--", "touch", str(tmp_path / "ran"))
    assert done.returncode == 2 and "--svg: no such directory: " in done.stderr
    assert list(tmp_path.iterdir()) == []


@needs_two
def test_threads_where_they_were_asked_to_be(team, tmp_path):
    done = where("--json", "--svg", str(tmp_path / "seen.svg"), "--", team, **bound(*TWO))
    # what the program prints is kept apart from the answer
    assert (done.returncode, done.stderr.partition("\n")[0]) == (0, "done")
    assert done.stderr.count("as asked") == 2
    assert "Threads were where they were asked to be by OMP_PLACES=" in done.stderr
    seen = json.loads(done.stdout)
    assert seen["agrees"] is True
    (process,) = [p for p in seen["processes"] if p["runtime"]]
    assert [t["allowed"] for t in process["threads"]] == [[p] for p in TWO]
    first, second = process["threads"]
    # either runs before its runtime binds it, on a busy machine for more than one sample
    for thread, processor in zip((first, second), TWO, strict=True):
        assert thread["ran"][str(processor)] > 0
    names = [t.text for t in ET.parse(tmp_path / "seen.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert f"may use {TWO[0]}, as asked" in names


@needs_two
def test_a_mask_that_came_over_the_places_is_reported(team):
    done = where("--", "taskset", "-c", str(TWO[1]), team, **bound(*TWO))
    assert "NOT where they were asked to be" in done.stderr
    assert f"may use only {TWO[1]}, and its places ask for" in done.stderr


@needs_two
def test_ranks_are_distinguished(team, tmp_path):
    """A launcher of our own stands for mpirun: it sets Open MPI's variable for each of two ranks."""
    script = tmp_path / "launch.sh"
    lines = [
        f"OMPI_COMM_WORLD_RANK={r} OMP_NUM_THREADS=1 OMP_PROC_BIND=close OMP_PLACES={{{TWO[r]}}} {team} &"
        for r in (0, 1)
    ]
    script.write_text("\n".join([*lines, "wait"]))
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"places": [[TWO[0]], [TWO[1]]], "ranks": [1, 1]}))
    done = where("--plan", str(plan), "--", "sh", str(script))
    assert re.search(r"rank 0, process \d+", done.stderr) and re.search(r"rank 1, process \d+", done.stderr)
    assert "asked to be by the plan" in done.stderr and "NOT" not in done.stderr
    plan.write_text(json.dumps({"places": [[TWO[1]], [TWO[0]]], "ranks": [1, 1]}))
    assert "NOT where" in where("--plan", str(plan), "--", "sh", str(script)).stderr


def test_an_unbound_program_is_reported_as_unbound(team):
    done = where("--", team, OMP_NUM_THREADS="2")
    assert done.stderr.count("not bound") == 2
    assert "Nothing was asked for" in done.stderr


def test_the_exit_code_is_the_programs():
    assert where("--", "sh", "-c", "exit 5").returncode == 5
    assert where("--", "sh", "-c", "kill -9 $$").returncode == 128 + 9


def test_a_running_process_is_watched_and_runs_on(team):
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        done = where("--pid", str(child.pid), "--seconds", "0.3")
        assert done.returncode == 0 and f"process {child.pid}" in done.stderr
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_an_interrupt_is_the_programs_and_the_table_still_comes(tmp_path):
    code = "import time\nopen('ready', 'w').close()\nend = time.time() + 20\nwhile time.time() < end: pass"
    child = subprocess.Popen(
        [sys.executable, "-m", "nodewise", "where", "--", sys.executable, "-c", code],
        stderr=subprocess.PIPE, text=True, process_group=0, cwd=tmp_path,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (tmp_path / "ready").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(0.3)
    os.killpg(child.pid, signal.SIGINT)
    _, printed = child.communicate(timeout=20)
    assert child.returncode == 128 + signal.SIGINT
    assert "samples in" in printed and "nodewise" not in printed.split("samples in")[1]


@pytest.mark.some(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
@pytest.mark.parametrize("alone", [True, False])
def test_an_interrupt_reaches_the_program_once(number, alone, tmp_path):
    code = (
        "import signal, sys, time\nseen = []\nsignal.signal(int(sys.argv[1]), lambda n, _: seen.append(n))\n"
        "open('ready', 'w').close()\nend = time.time() + 60\nwhile not seen and time.time() < end: pass\n"
        "end = time.time() + 0.6\nwhile time.time() < end: pass\nsys.exit(len(seen) + 40)"
    )
    child = subprocess.Popen(
        [sys.executable, "-m", "nodewise", "where", "--", sys.executable, "-c", code, str(int(number))],
        stderr=subprocess.PIPE, text=True, process_group=0, cwd=tmp_path,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (tmp_path / "ready").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    (os.kill if alone else os.killpg)(child.pid, number)
    _, printed = child.communicate(timeout=60)
    assert child.returncode == 41 and "samples in" in printed, printed


@pytest.mark.some(2)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_the_program_ends_with_whoever_watches_it(number, tmp_path):
    script = "(setsid sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 60; true') & echo $$ >> pids; wait"
    child = subprocess.Popen(
        [sys.executable, "-m", "nodewise", "where", "--", "sh", "-c", script], stderr=subprocess.PIPE, cwd=tmp_path
    )
    until = time.monotonic() + 30
    while not (tmp_path / "pids").exists() or len((tmp_path / "pids").read_text().split()) < 2:
        assert time.monotonic() < until
        time.sleep(0.02)
    child.send_signal(number)
    child.communicate(timeout=20)
    # Python ends itself by SIGINT where it was asked while a class was being made
    assert child.returncode in ([-number] if number == signal.SIGKILL else [128 + number, -signal.SIGINT])
    pids = (tmp_path / "pids").read_text().split()
    while any(Path("/proc", pid).exists() for pid in pids):
        assert time.monotonic() < until, "the program goes on"
        time.sleep(0.02)


def test_a_guard_that_is_killed_is_reported(tmp_path):
    script = "echo $PPID $$ > pids; sleep 60"
    child = subprocess.Popen(
        [sys.executable, "-m", "nodewise", "where", "--", "sh", "-c", script], stderr=subprocess.PIPE, cwd=tmp_path
    )
    until = time.monotonic() + 30
    while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text().strip():
        assert time.monotonic() < until
        time.sleep(0.02)
    guard, program = (tmp_path / "pids").read_text().split()
    os.kill(int(guard), signal.SIGKILL)
    _, printed = child.communicate(timeout=20)
    assert child.returncode == 2 and b"the guard above it was killed" in printed
    assert not Path("/proc", program).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name either a command"),
        (["--pid", "1", "--", "true"], "name either a command"),
        (["--pid", "4194305"], "no process 4194305"),
        (["--pid", "1", "--seconds", "-1"], "not a duration"),
        (["--", "no-such-program-here"], "no such program"),
        (["--interval", "0", "--", "true"], "must be above zero"),
        (["--interval", "2d", "--", "true"], "cannot sample"),
        (["--seconds", "2s", "--", "true"], "--seconds would do nothing: COMMAND is watched until it ends"),
        (["--plan", "/proc/gone/plan", "--", "true"], "cannot read"),
        (["--plan", "/etc/hostname", "--", "true"], "is no plan"),
        (["--plan", "/dev/zero", "--", "true"], "no regular file"),
        (["--pid", "1", "--timeout", "2s"], "--timeout would do nothing"),
        (["--memory", "bind:777", "--", "true"], "node 777 is not there"),
    ],
)
def test_bad_input_gets_one_message(words, message):
    done = where(*words)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr


def test_a_plan_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "plan")
    done = where("--plan", str(tmp_path / "plan"), "--", "true")
    assert done.returncode == 2 and "no regular file" in done.stderr


def test_a_program_is_ended_after_its_time_and_what_was_seen_is_reported(tmp_path):
    begin = time.monotonic()
    done = where("--timeout", "300ms", "--", "sh", "-c", f"setsid sleep 63 & echo $! > {tmp_path}/pid; wait")
    assert done.returncode == 2 and time.monotonic() - begin < 20
    assert "sh was ended after 300 ms" in done.stderr and "process " in done.stderr
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
    assert where("--timeout", "20s", "--", "sh", "-c", "exit 3").returncode == 3


@pytest.mark.parametrize("count", [0, 1, 5])
def test_what_outlives_the_program_goes_on_and_is_named(tmp_path: Path, count: int) -> None:
    """As `time` and `perf stat` have it; `run` ends it."""
    line = "for i in $(seq 0 COUNT); do [ $i = 0 ] || { setsid sleep 37.25 >/dev/null 2>&1 & echo $! >> pids; }; done; sleep 0.2"
    done = subprocess.run(
        [sys.executable, "-m", "nodewise", "where", "--", "sh", "-c", line.replace("COUNT", str(count))],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()] if count else []
    try:
        notes = [x for x in done.stderr.splitlines() if "outlived" in x]
        assert len(notes) == (count > 0) and all(Path(f"/proc/{pid}").exists() for pid in pids)
        if count == 1:
            assert notes == [f"note: sleep (process {pids[0]}) outlived the program and goes on"]
        elif count:
            assert notes[0].endswith("and 2 more outlived the program and go on") and notes[0].count("sleep") == 3
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
