# SPDX-License-Identifier: BSD-3-Clause
"""Programs, inputs and patterns that do what no one expects: any bytes, pipes, daemons, kills, patterns without end."""

import os
import re
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from nodewise.base.errors import NodewiseError, ProgramError
from nodewise.base.native import native_path
from nodewise.runner import patterns
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.runner.marks import UNREAD
from nodewise.runner.outlived import RUN_VARIABLE
from nodewise.runner.proc_files import children_of
from nodewise.runner.program import inspect_program
from nodewise.runner.protocol import read_metrics
from nodewise.runner.same_output import Kind, SameOutput
from nodewise.runner.setting import Setting
from nodewise.statistics.disturbance import repeat_worthy


def _sh(script: str, *words: str, **more: dict[str, str]) -> Setting:
    return Setting(("sh", "-c", script, "sh", *words), **more)


def test_all_bytes_reach_the_program_unchanged(tmp_path: Path) -> None:
    every = bytes(range(1, 256))
    folder = tmp_path / os.fsdecode(b"\xff\xfe")
    folder.mkdir()
    text = os.fsdecode(every)
    script = 'printf %s "$1" > argument; printf %s "$X" > variable; pwd > directory'
    with LocalLauncher(RunOptions(cwd=folder)) as launcher:
        sample = launcher.run(_sh(script, text, env={"X": text, "É\udcff": "1"}))
    assert sample.ok, sample.error
    assert (folder / "argument").read_bytes() == (folder / "variable").read_bytes() == every
    assert (folder / "directory").read_bytes() == os.fsencode(folder) + b"\n"


def test_bytes_of_an_output_that_are_no_text_are_kept_readable() -> None:
    with LocalLauncher() as launcher:
        sample = launcher.run(_sh(r"""printf '{"nodewise": 1, "seconds": 1\377}\n'; printf '\377\n' """))
    assert sample.error is not None and "damaged line" in sample.error


def test_a_pipe_as_input_is_read_and_waited_for_no_longer_than_a_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with LocalLauncher(RunOptions(stdin=tmp_path / "pipe", expect=re.compile("hello"))) as launcher:
        writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("hello"))
        writer.start()
        assert launcher.run(Setting(("cat",)), timeout_s=20).ok
        writer.join()
        with pytest.raises(ProgramError, match="nothing was written to it"):
            launcher.run(Setting(("cat",)), timeout_s=0.2)
        # the next one has its turn
        writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("hello"))
        writer.start()
        assert launcher.run(Setting(("cat",)), timeout_s=20).ok
        writer.join()


def test_ctrl_c_ends_the_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with LocalLauncher(RunOptions(stdin=tmp_path / "pipe")) as launcher:
        runner = launcher.process
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            launcher.run(Setting(("cat",)))
    assert time.monotonic() - begin < 20 and not Path(f"/proc/{runner}").exists()


_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), file=open("pid", "w"), flush=True)
        open("/proc/self/comm", "w").write("lingering")
        open("named", "w").close()
        time.sleep(60)
    os._exit(0)
while not os.path.exists("named"):
    time.sleep(0.001)
"""


def test_what_double_forks_is_named_and_ended(tmp_path: Path) -> None:
    with LocalLauncher(RunOptions(cwd=tmp_path)) as launcher:
        sample = launcher.run(Setting(("python3", "-c", _DAEMON)))
    assert sample.ok
    assert any(m.startswith("left behind: 1 process outlived") and m.endswith(": lingering") for m in sample.marks)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_kill_for_want_of_memory_is_reported_with_the_limit(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/job"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/job\n")
    (tmp_path / "proc/self/mountinfo").write_text("30 29 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    (group / "memory.max").write_text(f"{512 << 20}\n")
    (group / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    killed = _sh(f"printf 'low 0\\noom 2\\noom_kill 2\\n' > {group}/memory.events; kill -9 $$")
    with LocalLauncher(root=tmp_path) as launcher:
        plain = launcher.run(_sh("kill -9 $$"))
        assert plain.error is not None and "memory" not in plain.error
        sample = launcher.run(killed)
        assert sample.error is not None and "SIGKILL" in sample.error
        assert "out-of-memory killer" in sample.error and "512 MiB" in sample.error
        again = launcher.run(_sh("exit 3"))
        assert again.error == "exit code 3"


#: Kills whoever enters a directory: of the runner's processes that is the child on its way to the exec.
KILLED_ON_ITS_WAY = """
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int chdir(const char* path) { (void)path; return (int)syscall(SYS_kill, syscall(SYS_getpid), SIGKILL); }
"""


def test_a_child_that_dies_before_its_exec_has_no_wall_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no run that took as long as the machine has been up: nothing is recorded of it."""
    (tmp_path / "kill.c").write_text(KILLED_ON_ITS_WAY)
    subprocess.run(["gcc", "-shared", "-fPIC", "kill.c", "-o", "kill.so"], cwd=tmp_path, check=True)
    native = tmp_path / "native"
    native.mkdir()
    runner = native_path("nodewise-runner")
    for path in runner.parent.iterdir():
        if path.name != runner.name:
            (native / path.name).symlink_to(path)
    preloaded = f'#!/bin/sh\nLD_PRELOAD={shlex.quote(str(tmp_path / "kill.so"))} exec {shlex.quote(str(runner))} "$@"\n'
    (native / runner.name).write_text(preloaded)
    (native / runner.name).chmod(0o755)
    monkeypatch.setenv("NODEWISE_NATIVE", str(native))
    with LocalLauncher(RunOptions(cwd=tmp_path)) as launcher, pytest.raises(ProgramError) as problem:
        launcher.run(Setting(("/bin/true",)))
    assert problem.value.what == "/bin/true was killed before it began"


def test_a_pattern_without_end_is_stopped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns.limited, "__defaults__", (0.1,))
    endless = re.compile(r"(a+)+$")
    text = "a" * 60 + "b"
    assert "(a+)+$" in (read_metrics(text, {"x": endless}).problem or "")
    for options in (RunOptions(expect=endless), RunOptions(same=SameOutput(Kind.PATTERN, r"(a+)+$"))):
        with LocalLauncher(options) as launcher:
            sample = launcher.run(_sh(f"echo {text}"))
        assert sample.error is not None and "(a+)+$" in sample.error and "took more than" in sample.error
    # a timer of somebody else's goes on
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize(
    "script",
    [
        """printf '{"nodewise": 1, "verified": false, "a": "%s"}\\n' "$(head -c 20000 /dev/zero | tr '\\0' x)\"""",
        """yes '{"nodewise": 1, "seconds": 1}' | head -4096; echo '{"nodewise": 1, "verified": false}'""",
    ],
    ids=["long", "many"],
)
def test_a_line_of_the_protocol_that_is_not_read_costs_the_run(script: str) -> None:
    with LocalLauncher(RunOptions()) as launcher:
        sample = launcher.run(_sh(script))
    assert not sample.ok and "too long or too many" in (sample.error or "")


def test_a_program_that_stops_its_parent_is_ended_in_time() -> None:
    with LocalLauncher(RunOptions()) as launcher:
        # a runner that nobody sets going would be waited for without end: then it is killed, which is an error
        servers = children_of(launcher.process)
        limit = threading.Timer(30, lambda: [os.kill(pid, signal.SIGKILL) for pid in servers])
        limit.start()
        try:
            sample = launcher.run(_sh("kill -STOP $PPID; sleep 60"), timeout_s=0.5)
        finally:
            limit.cancel()
    assert sample.cut_off


@pytest.mark.parametrize(
    "script",
    [
        """printf 'result: {"nodewise": 1, "seconds": 1}\n'""",
        """printf ' {"nodewise": 1, "seconds": 1}\n'""",
        """yes x | head -c 300000 | tr -d '\\n'; printf '{"nodewise": 1}\n'""",
        """printf 'time {"node' >&2; sleep 0.05; printf 'wise": 1}\n' >&2""",
        """printf '{"nodewise": 1, "seconds": 1}\nrank 0: {"nodewise": 1}\n'""",
    ],
    ids=["text", "blank", "long", "in-pieces", "besides"],
)
def test_a_line_of_the_protocol_behind_text_is_reported(script: str) -> None:
    with LocalLauncher(RunOptions()) as launcher:
        sample = launcher.run(_sh(script))
    (mark,) = [m for m in sample.marks if m.startswith(UNREAD)]
    assert sample.ok and '{"nodewise":' in mark and "text stands before" in mark


@pytest.mark.parametrize(
    "wrong",
    [
        {"mask": [1 << 40]},
        {"mask": [-1]},
        {"mask": [0.5]},
        {"domain": [9000]},
        {"memory": {"mode": 2, "nodes": [1 << 31]}},
        {"limits": [[7, -1]]},
        {"limits": [[7]]},
        {"timeout_s": -1},
        {"arguments": "x"},
        {"program": "\u0100"},
        {"answer": {"file": -7, "most": 1}},
        {"environment": [[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]},
    ],
)
def test_a_request_that_cannot_be_meant_is_refused_in_words(wrong: dict[str, object]) -> None:
    request = {"program": "/bin/true", "arguments": ["true"], "environment": []}
    with LocalLauncher(RunOptions()) as launcher:
        reply = launcher._exchange({**request, **wrong})
        assert reply["failed_step"] == "runner" and reply["message"]
        assert launcher._exchange(request)["exit_code"] == 0


def test_a_clock_that_is_not_known_costs_no_run(tmp_path: Path) -> None:
    folder = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq"
    folder.mkdir(parents=True)
    (folder / "scaling_cur_freq").write_text("<unknown>\n")
    with LocalLauncher(RunOptions(), root=tmp_path) as launcher:
        sample = launcher.run(Setting(("true",), mask=(min(os.sched_getaffinity(0)),)))
    assert sample.ok and "frequency_hz" not in sample.conditions


def test_lines_of_the_protocol_where_they_belong_are_reported_no_further() -> None:
    script = """printf '{"nodewise": 1, "seconds": 2}\nother {"node": 1}\n{"node'; sleep 0.05; printf 'wise": 1, "seconds": 2}\n'"""
    with LocalLauncher(RunOptions()) as launcher:
        sample = launcher.run(_sh(script))
    assert sample.seconds == 2 and not any(m.startswith(UNREAD) for m in sample.marks)


def test_a_pipe_in_the_place_of_a_program_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o700)
    assert inspect_program(tmp_path / "pipe").kind == "unknown"


@pytest.mark.parametrize(
    "bytes_written",
    [
        r"\377\377\377\377",
        r"\377\377\377\017abc",
        r"\002\000\000\000{}",
        r"\005\000\000\000\"abc\"",
        r"\003\000\000\000[1]",
        r"\001",
        r"\015\000\000\000{\"id\":\"0000\"}",
    ],
)
def test_what_a_program_writes_to_the_runners_pipe_costs_its_run(
    monkeypatch: pytest.MonkeyPatch, bytes_written: str
) -> None:
    monkeypatch.setattr("nodewise.runner.local._STALLED_S", 0.3)
    with LocalLauncher() as launcher:
        begin = time.monotonic()
        sample = launcher.run(_sh(f"printf '{bytes_written}' > /proc/$PPID/fd/1; sleep 0.1"), timeout_s=3)
        assert sample.error is not None and "wrote into the pipe of nodewise-runner" in sample.error
        assert time.monotonic() - begin < 20
        # the next run has a runner of its own
        assert launcher.run(_sh("exit 0")).ok


def test_a_stop_of_the_runner_marks_the_run_that_it_prolongs() -> None:
    with LocalLauncher() as launcher:
        sample = launcher.run(_sh("kill -STOP $PPID; sleep 0.2"))
        assert sample.ok and sample.wall_s > 0.2
        assert any(mark.startswith("stopped: nodewise-runner was stopped") for mark in sample.marks)
        assert repeat_worthy(sample.marks)
        (runner,) = children_of(launcher.process)
        os.kill(runner, signal.SIGSTOP)
        os.kill(runner, signal.SIGCONT)
        after = launcher.run(_sh("sleep 0.01"))
        assert not any(mark.startswith("stopped") for mark in after.marks)


_KILLER = """
setsid sleep 64 & echo $! > pid
sleep 0.1
guard=$(cut -d' ' -f4 /proc/$PPID/stat)
# one that is stopped cannot end the program before it is killed itself
kill -STOP $PPID
kill -9 $guard $PPID
sleep 65
"""


def test_what_outlives_a_killed_runner_and_guard_is_found_by_its_number(tmp_path: Path) -> None:
    with LocalLauncher(RunOptions(cwd=tmp_path)) as launcher, pytest.raises(NodewiseError) as caught:
        launcher.run(_sh(_KILLER, env={RUN_VARIABLE: "7"}), timeout_s=20)
    assert "was found and ended: sleep" in str(caught.value)
    pid = Path("/proc", (tmp_path / "pid").read_text().strip())
    until = time.monotonic() + 10
    while pid.exists() and "\nState:\tZ" not in (pid / "status").read_text():
        assert time.monotonic() < until
    with LocalLauncher(RunOptions(cwd=tmp_path)) as launcher, pytest.raises(NodewiseError) as caught:
        launcher.run(_sh(_KILLER), timeout_s=20)
    assert "may still run" in str(caught.value)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
