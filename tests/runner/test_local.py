# SPDX-License-Identifier: BSD-3-Clause
"""The local launcher and nodewise-runner, with real processes."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, NodewiseError, ProgramError
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting


def run(*command: str, options: RunOptions | None = None, timeout_s: float | None = None, **setting: object) -> Sample:
    with LocalLauncher(options) as launcher:
        return launcher.run(Setting(command=command, **setting), timeout_s=timeout_s)  # type: ignore[arg-type]


def script(code: str) -> tuple[str, str, str]:
    return (sys.executable, "-c", code)


def alive(mark: str) -> list[int]:
    """Processes whose command line holds the mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in entry.read_bytes().decode(errors="replace").split("\0"):
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def wait_until_gone(mark: str) -> list[int]:
    deadline = time.monotonic() + 5
    while (left := alive(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def test_a_run_is_timed_and_counted() -> None:
    sample = run("sleep", "0.1")
    assert sample.ok
    assert 0.1 <= sample.wall_s == sample.seconds < 1
    assert sample.source == "wall"
    assert sample.usage["context_switches"] >= 1
    assert sample.usage["minor_faults"] > 0
    assert abs(sample.started_at - time.time()) < 5
    assert sample.conditions["busy_s"] >= 0


def test_processor_time_is_the_programs() -> None:
    sample = run(*script("import time\nwhile time.process_time() < 0.3: pass"))
    assert 0.25 < sample.usage["user_s"] + sample.usage["system_s"] < 1.5


def test_environment_directory_and_input_are_applied(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("from the file")
    out = tmp_path / "out"
    code = f"import os,sys; open({str(out)!r},'w').write(repr((os.environ.get('A'), os.environ.get('B'), os.getcwd(), sys.stdin.read())))"
    options = RunOptions(cwd=tmp_path, stdin=tmp_path / "in")
    with LocalLauncher(options, {**os.environ, "B": "inherited", "C": "x"}) as launcher:
        assert launcher.run(Setting(command=script(code), env={"A": "ä b"}, unset=("B",))).ok
    assert out.read_text() == repr(("ä b", None, str(tmp_path), "from the file"))


def test_without_an_input_it_is_empty() -> None:
    assert run(*script("import sys; sys.exit(len(sys.stdin.read()))")).ok


def test_the_affinity_mask_is_read_back_from_the_kernel() -> None:
    for p in sorted(os.sched_getaffinity(0)):
        code = f"import re; s = open('/proc/self/status').read(); assert re.search('Cpus_allowed_list:\\t{p}\\n', s), s"
        assert run(*script(code), mask=(p,)).ok


def test_a_processor_that_is_not_allowed_is_refused_before_the_run() -> None:
    with pytest.raises(ProgramError, match="4095"):
        run("true", mask=(0, 4095))


def test_resource_limits_are_applied() -> None:
    code = "import resource; assert resource.getrlimit(resource.RLIMIT_NOFILE) == (57, 57)"
    assert run(*script(code), options=RunOptions(limits={"NOFILE": 57})).ok
    with pytest.raises(InputError, match="unknown resource limit"):
        LocalLauncher(RunOptions(limits={"WINGS": 2}))


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("sh", "-c", "exit 3"), "exit code 3"),
        (("sh", "-c", "kill -SEGV $$"), "killed by signal 11 (SIGSEGV)"),
        (("sh", "-c", 'echo \'{"nodewise": 1, "verified": false}\''), "wrong result"),
        (("sh", "-c", "echo '{\"nodewise\": 1, oops'"), "damaged line"),
        (("sh", "-c", 'echo \'{"nodewise": 1, "seconds": -2}\''), "no number above zero"),
    ],
)
def test_a_run_that_fails_is_an_error_with_its_output_kept(command: tuple[str, ...], error: str) -> None:
    sample = run("sh", "-c", f"echo before; {command[2]}") if command[2].startswith("exit") else run(*command)
    assert not sample.ok
    assert error in (sample.error or "")
    if command[2].startswith("exit"):
        assert "before" in sample.output


@pytest.mark.parametrize("limits", [{"AS": 4096}, {"DATA": 1}])
def test_a_child_that_dies_before_it_is_the_program_is_a_run_that_failed(limits: dict[str, int]) -> None:
    # the kernel ends it while the program takes its place: there is no time worth the name
    sample = run("sleep", "5", options=RunOptions(limits=limits))
    assert not sample.ok and not sample.cut_off and (sample.error or "").startswith("killed by signal")
    assert 0 <= sample.wall_s < 5 and sample.seconds == sample.wall_s


def test_a_missing_pattern_is_a_wrong_result() -> None:
    options = RunOptions(expect=re.compile("converged"))
    assert run("echo", "converged", options=options).ok
    assert "converged" in (run("echo", "diverged", options=options).error or "")


def test_metrics_are_read_from_the_output() -> None:
    options = RunOptions(metrics={"seconds": re.compile(r"time: ([\d.]+)"), "rate": re.compile(r"([\d.]+) GB/s")})
    sample = run("printf", "time: 9\\ntime: 2.5\\n7 GB/s\\n", options=options)
    assert (sample.seconds, sample.metrics, sample.source) == (2.5, {"rate": 7.0}, "program")
    assert "nowhere" in (run("echo", "no", options=options).error or "")


def test_times_of_programs_and_of_whole_runs_are_not_compared_with_each_other(tmp_path: Path) -> None:
    reporting = ("echo", '{"nodewise": 1, "seconds": 0.5}')
    for first, then, said in (
        (reporting, ("true",), "no time of its own"),
        (("true",), reporting, "a time of its own"),
    ):
        with LocalLauncher(RunOptions(one_clock=True)) as launcher:
            assert launcher.run(Setting(tuple(first))).ok and launcher.run(Setting(("false",))).error == "exit code 1"
            error = launcher.run(Setting(tuple(then))).error
            assert error is not None and f"it reports {said}" in error and "--minimize wall_s" in error
            assert launcher.run(Setting(tuple(first))).ok
        with LocalLauncher(RunOptions()) as launcher:
            assert launcher.run(Setting(tuple(first))).ok and launcher.run(Setting(tuple(then))).ok


def test_the_protocol_is_read_wherever_it_stands_in_a_flood() -> None:
    code = (
        "import sys\nx = 'y' * 999 + '\\n'\n"
        "for i in range(300000):\n"
        "    sys.stdout.write(x)\n"
        '    if i in (1000, 150000): print(\'{"nodewise": 1, "seconds": %d, "items": 5}\' % (i // 1000))\n'
    )
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(command=script(code)))
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server_of(launcher)}/status").read_text())
        assert peak is not None and int(peak[1]) < 40_000
    assert sample.seconds == (1 + 150) / 2
    assert sample.metrics == {"items": 5}


def test_binary_output_disturbs_nothing() -> None:
    sample = run(*script("import os,sys; os.write(1, bytes(range(256)) * 5000); sys.exit(1)"))
    assert sample.error == "exit code 1"


def test_the_end_of_a_long_output_is_kept_for_an_error() -> None:
    sample = run("sh", "-c", "seq 1 300000; echo the end; exit 1")
    assert sample.output.endswith("300000\nthe end\n")


def test_how_much_of_a_long_output_is_left_out_is_counted() -> None:
    with LocalLauncher() as launcher:
        printed = launcher.carry_out(("sh", "-c", "seq 1 300000")).output
    begin, left_out, end = re.split(r"\n\[… (\d+) bytes left out …\]\n", printed)
    whole = "".join(f"{n}\n" for n in range(1, 300_001))
    assert len(begin) + int(left_out) + len(end) == len(whole) and whole.startswith(begin) and whole.endswith(end)


def test_peak_memory_is_the_programs_not_ours() -> None:
    ballast = bytearray(200_000_000)
    sample = run("true")
    assert 0 < sample.usage["peak_bytes"] < 20_000_000 < len(ballast)


def test_a_program_that_stands_still_is_woken_to_end_itself(tmp_path: Path) -> None:
    code = "trap 'echo ended >ended; exit 0' TERM; kill -STOP $$; sleep 30 & wait"
    assert not run("sh", "-c", code, timeout_s=0.5, options=RunOptions(cwd=tmp_path)).ok
    assert (tmp_path / "ended").read_text() == "ended\n"


def test_a_timeout_ends_the_whole_process_group() -> None:
    mark = f"mark-{os.getpid()}-timeout"
    code = f"import subprocess,sys,time\nsubprocess.Popen([sys.executable,'-c','import time; time.sleep(60)','{mark}'])\ntime.sleep(60)"
    sample = run(*script(code), mark, timeout_s=0.5)
    assert sample.cut_off and "cut off" in (sample.error or "")
    assert wait_until_gone(mark) == []


def test_a_program_that_ignores_being_asked_is_ended_all_the_same() -> None:
    code = "import signal,time\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\ntime.sleep(60)"
    begin = time.monotonic()
    assert run(*script(code), timeout_s=0.5).cut_off
    assert time.monotonic() - begin < 10


def test_a_program_that_is_asked_to_end_has_time_to_put_its_work_away(tmp_path: Path) -> None:
    code = (
        "import signal,sys,time\nfrom pathlib import Path\n"
        "def end(*_): time.sleep(0.2); Path(sys.argv[1]).write_text('kept'); sys.exit(3)\n"
        "signal.signal(signal.SIGTERM, end)\ntime.sleep(60)"
    )
    assert run(*script(code), str(tmp_path / "state"), timeout_s=2.0).cut_off
    assert (tmp_path / "state").read_text() == "kept"


def test_processes_that_outlive_the_program_are_ended_and_reported() -> None:
    mark = f"mark-{os.getpid()}-orphan"
    inner = f"exec setsid {sys.executable} -c 'import time; time.sleep(60)' {mark}"
    sample = run("sh", "-c", f"({inner}) >/dev/null 2>&1 & sleep 0.2")
    assert sample.ok
    assert sample.wall_s < 5
    assert any("left behind: 1" in m for m in sample.marks)
    assert wait_until_gone(mark) == []


def test_an_orphan_that_holds_the_output_open_does_not_hold_up_the_run() -> None:
    begin = time.monotonic()
    assert run("sh", "-c", "sleep 60 & echo done").ok
    assert time.monotonic() - begin < 10


_PARENT = """
import sys
from nodewise.runner.local import LocalLauncher
from nodewise.runner.setting import Setting
with LocalLauncher() as launcher:
    try:
        launcher.run(Setting(command=("sh", "-c", "sleep 60 & exec sleep 60", sys.argv[1])))
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_engine_is_killed_or_interrupted(number: signal.Signals, tmp_path: Path) -> None:
    mark = f"mark-{os.getpid()}-{number.name}"
    code = _PARENT.replace("exec sleep 60", f"{sys.executable} -c 'import time; time.sleep(60)' {mark}")
    parent = subprocess.Popen([sys.executable, "-c", code, mark], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(alive(mark)) < 3:
        assert time.monotonic() < deadline, "the program has not started"
        time.sleep(0.02)
    parent.send_signal(number)
    out, _ = parent.communicate(timeout=10)
    assert out == ("interrupted\n" if number is signal.SIGINT else "")
    assert wait_until_gone(mark) == []


#: A program whose processes leave their group, their session and their parent, and hear no signal that can be ignored.
_TREE = """
import os, signal, sys, time
def deeper(levels):
    if levels and os.fork() == 0:
        os.setsid()
        for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        if os.fork() == 0:
            deeper(levels - 1)
            if levels == 2: os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(60)
        elif levels % 2:
            os._exit(0)
        time.sleep(60)
if "deaf" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
deeper(4)
time.sleep(60)
"""


def wait_until_there(mark: str, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(alive(mark)) < count:
        assert time.monotonic() < deadline, "the program has not started"
        time.sleep(0.02)


def server_of(launcher: LocalLauncher) -> int:
    """The process that starts programs; the launcher knows the guard above it."""
    assert launcher._runner is not None
    guard = launcher._runner.pid
    return int(Path(f"/proc/{guard}/task/{guard}/children").read_text())


@pytest.mark.parametrize("manner", ["deaf", "hearing"])
def test_a_killed_engine_leaves_nothing_of_a_tree_of_processes(manner: str) -> None:
    mark = f"mark-{os.getpid()}-engine-{manner}"
    code = (
        "import sys\nfrom nodewise.runner.local import LocalLauncher\nfrom nodewise.runner.setting import Setting\n"
        "LocalLauncher().run(Setting(command=(sys.executable, '-c', *sys.argv[1:])))"
    )
    # seven processes of the tree, the engine, and nothing else has the mark
    engine = subprocess.Popen([sys.executable, "-c", code, _TREE, manner, mark])
    wait_until_there(mark, 8)
    engine.kill()
    engine.wait()
    assert wait_until_gone(mark) == []


@pytest.mark.parametrize("manner", ["deaf", "hearing"])
@pytest.mark.parametrize("who", ["guard", "server"])
def test_a_killed_runner_takes_its_programs_tree_along_and_is_one_clear_error(who: str, manner: str) -> None:
    mark = f"mark-{os.getpid()}-{who}-{manner}"
    with LocalLauncher() as launcher:
        assert launcher.run(Setting(command=("true",))).ok
        assert launcher._runner is not None
        victim = launcher._runner.pid if who == "guard" else server_of(launcher)

        def kill_in_time() -> None:
            wait_until_there(mark, 7)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill_in_time)
        killer.start()
        with pytest.raises(NodewiseError, match="ended unexpectedly"):
            launcher.run(Setting(command=(*script(_TREE), manner, mark)))
        killer.join()
        # by the time that the engine hears of it, all is gone
        assert alive(mark) == []
        # and the next run starts a new one
        assert launcher.run(Setting(command=("true",))).ok


@pytest.mark.parametrize("name", ["nonexistent-program", "./nonexistent", "/", "/etc/passwd"])
def test_what_cannot_be_started_is_one_clear_message(name: str) -> None:
    with pytest.raises(ProgramError, match=re.escape(name)):
        run(name)


def test_a_script_without_interpreter_line_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text("echo hi\n")
    path.chmod(0o755)
    with pytest.raises(ProgramError, match="#!") as caught:
        run(str(path))
    assert "interpreter" in (caught.value.hint or "")


def test_a_missing_directory_or_input_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="no such directory"):
        run("true", options=RunOptions(cwd=tmp_path / "gone"))
    with pytest.raises(ProgramError, match="cannot read the input"):
        run("true", options=RunOptions(stdin=tmp_path / "gone"))


def test_a_preload_is_for_the_program_and_not_for_the_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    code = "assert 'libm.so.6' in open('/proc/self/maps').read()"
    with LocalLauncher() as launcher:
        assert launcher.run(Setting(command=script(code))).ok
        assert b"LD_PRELOAD" not in Path(f"/proc/{server_of(launcher)}/environ").read_bytes()


def test_a_zero_byte_in_an_argument_is_refused() -> None:
    with pytest.raises(InputError, match="zero byte"):
        run("echo", "a\0b")


def test_many_runs_leak_no_descriptors() -> None:
    with LocalLauncher() as launcher:
        counts = []
        for _ in range(60):
            assert launcher.run(Setting(command=("true",))).ok
            counts.append(len(list(Path(f"/proc/{server_of(launcher)}/fd").iterdir())))
    assert counts[-1] == counts[0]


def test_counters_are_there_or_it_says_why_not() -> None:
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(command=("true",)))
        assert ("cycles" in sample.usage) == (launcher.counters_missing == "")
        assert launcher.counters_missing is not None


def test_migrations_are_counted_for_the_child_alone() -> None:
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        processors *= 2
    code = f"import os\nfor i in range(50):\n    os.sched_setaffinity(0, {{[{processors[0]}, {processors[1]}][i % 2]}})"
    moved, still = run(*script(code)), run("true", mask=(processors[0],))
    if "migrations" in moved.usage:
        assert moved.usage["migrations"] >= (40 if processors[0] != processors[1] else 0)
        assert still.usage["migrations"] <= 1


def _first_names(tmp_path: Path, *, as_printed: bool, baseline: str) -> list[str]:
    """What was started before the program in a bound run after one of the baseline, by the log of a taskset that stands in for it."""
    log = tmp_path / "log"
    tool = tmp_path / "taskset"
    tool.write_text(f'#!/bin/sh\necho "$@" >> {log}\nshift 2\nexec "$@"\n')
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    processor = min(os.sched_getaffinity(0))
    with LocalLauncher(RunOptions(as_printed=as_printed), environment) as launcher:
        assert launcher.run(Setting(("sh", "-c", baseline))).ok
        is_bound = f"grep -q '^Cpus_allowed_list:.{processor}$' /proc/self/status"
        assert launcher.run(Setting(("sh", "-c", is_bound), mask=(processor,))).ok
    return log.read_text().splitlines() if log.exists() else []


def test_what_a_line_starts_first_is_a_part_of_short_runs(tmp_path: Path) -> None:
    assert len(_first_names(tmp_path, as_printed=True, baseline=":")) == 1


@pytest.mark.parametrize(
    ("as_printed", "baseline"),
    [
        # nobody promises a line
        (False, ":"),
        # a run that takes long hides it, and one that reports its own time does not count it
        (True, "sleep 0.5"),
        (True, 'echo \'{"nodewise": 1, "seconds": 0.01}\''),
    ],
)
def test_else_a_run_is_bound_as_it_starts(tmp_path: Path, as_printed: bool, baseline: str) -> None:
    assert _first_names(tmp_path, as_printed=as_printed, baseline=baseline) == []


def test_a_process_that_was_forked_meanwhile_does_not_keep_a_run_open() -> None:
    launcher = LocalLauncher()
    assert launcher.run(Setting(("true",))).ok
    child = os.fork()
    if not child:
        time.sleep(20)
        os._exit(0)
    try:
        begin = time.monotonic()
        launcher.close()
        assert time.monotonic() - begin < 10
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
