# SPDX-License-Identifier: BSD-3-Clause
"""What a program sees of itself where it is isolated is what it sees as a plain process, but for the system around it."""

import os
import re
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, ProgramError
from nodewise.isolation.launcher import STARTUP, TEARDOWN, IsolatedLauncher
from nodewise.runner.isolation import read_isolation
from nodewise.runner.launcher import RunOptions
from nodewise.runner.same_output import Kind, SameOutput
from nodewise.runner.setting import Setting
from tests.isolation.runtimes import CONTAINERS, needs

_LIMIT_S = 60.0


@pytest.fixture(params=CONTAINERS)
def kind(request: pytest.FixtureRequest) -> str:
    needs(request.param)
    return str(request.param)


def _setting(kind: str, *words: str, options: str = "", **more: object) -> Setting:
    return Setting(words, isolation=read_isolation(kind + options), **more)  # type: ignore[arg-type]


def _shell(kind: str, text: str, cwd: Path, options: str = "", **more: object):  # type: ignore[no-untyped-def]
    with IsolatedLauncher(RunOptions(cwd=cwd, accepted=None)) as launcher:
        return launcher.run(_setting(kind, "sh", "-c", text, options=options, **more), timeout_s=_LIMIT_S)


def test_its_time_is_its_own_and_what_lies_around_it_is_told_apart(kind: str, tmp_path: Path) -> None:
    said = '{"nodewise": 1, "items": 5}'
    sample = _shell(kind, f"sleep 0.2; echo '{said}'", tmp_path)
    assert sample.ok, sample.error
    assert sample.source == "wall" and 0.2 <= sample.seconds < sample.wall_s
    assert sample.metrics["items"] == 5
    assert 0 < sample.metrics[STARTUP] < sample.wall_s and 0 <= sample.metrics[TEARDOWN] < sample.wall_s
    assert sample.seconds + sample.metrics[STARTUP] + sample.metrics[TEARDOWN] <= sample.wall_s * 1.1


def test_seconds_that_it_prints_are_those_that_count(kind: str, tmp_path: Path) -> None:
    sample = _shell(kind, """echo '{"nodewise": 1, "seconds": 0.125, "verified": true}'""", tmp_path)
    assert (sample.seconds, sample.source) == (0.125, "program") and STARTUP in sample.metrics


@pytest.mark.parametrize(
    ("end", "error"), [("exit 7", "exit code 7"), ("kill -SEGV $$", "killed by signal 11 (SIGSEGV)")]
)
def test_its_end_is_told_as_it_was(kind: str, end: str, error: str, tmp_path: Path) -> None:
    with IsolatedLauncher(RunOptions(cwd=tmp_path)) as launcher:
        sample = launcher.run(_setting(kind, "sh", "-c", end), timeout_s=_LIMIT_S)
    assert sample.error == error


def test_input_variables_arguments_and_directory_go_through(kind: str, tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.write_bytes(b"line\0\xff\n")
    options = RunOptions(cwd=tmp_path, stdin=given, same=SameOutput(Kind.OUTPUT))
    text = """printf '%s|' "$1" "$VALUE" "$PWD" "$(wc -c)" """
    setting = _setting(kind, "sh", "-c", text, "sh", "two words'\n", env={"VALUE": "a b\n$c"})
    with IsolatedLauncher(options) as launcher:
        inside = launcher.run(setting, timeout_s=_LIMIT_S)
        outside = launcher.run(Setting(setting.command, env=setting.env), timeout_s=_LIMIT_S)
    assert inside.ok, inside.error
    assert inside.answer == outside.answer and inside.answer
    assert inside.answer_text == f"two words'\n|a b\n$c|{tmp_path}|7|"


def test_what_it_expects_and_finds_wrong_is_told(kind: str, tmp_path: Path) -> None:
    with IsolatedLauncher(RunOptions(cwd=tmp_path, expect=re.compile("right"))) as launcher:
        assert launcher.run(_setting(kind, "echo", "right"), timeout_s=_LIMIT_S).ok
        wrong = launcher.run(_setting(kind, "echo", "left"), timeout_s=_LIMIT_S)
    assert wrong.error is not None and "wrong result" in wrong.error


def test_it_writes_where_a_volume_is_and_nowhere_else(kind: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    target = Path(__file__).parent / f"written-{os.getpid()}"
    text = f"echo in > {tmp_path}/out/file; (echo no > {target}) 2>/dev/null || (echo no > {tmp_path}/file) 2>/dev/null || echo held"
    sample = _shell(kind, text, tmp_path, options=f",volume={tmp_path}/out")
    assert sample.ok, sample.error
    assert (tmp_path / "out" / "file").read_text() == "in\n"
    assert not target.exists() and not (tmp_path / "file").exists()


def test_a_volume_may_be_read_only(kind: str, tmp_path: Path) -> None:
    sample = _shell(kind, f"echo x > {tmp_path}/file", tmp_path, options=f",volume={tmp_path}:ro")
    assert sample.usage.get("exit_code", 0) != 0 and not (tmp_path / "file").exists()


def test_the_kernel_is_not_set_from_inside(kind: str, tmp_path: Path) -> None:
    places = ("/proc/sys/vm/swappiness", "/proc/sys/kernel/hostname", "/sys/kernel/mm/transparent_hugepage/enabled")
    before = [Path(place).read_text() for place in places]
    (tmp_path / "out").mkdir()
    # the value that it has: nothing changes where it is written after all
    text = "; ".join(f"(cat {p} | tr -d '[]' | cut -d' ' -f1 > {p}) 2>/dev/null && echo wrote {p}" for p in places)
    sample = _shell(kind, f"({text}; true) > {tmp_path}/out/said", tmp_path, options=f",volume={tmp_path}/out")
    assert sample.ok and (tmp_path / "out" / "said").read_text() == ""
    assert [Path(place).read_text() for place in places] == before


def test_what_is_counted_from_outside_is_not_said_of_the_program(kind: str, tmp_path: Path) -> None:
    usage = _shell(kind, "exit 3", tmp_path).usage
    assert {"user_s", "system_s", "peak_bytes"} <= usage.keys() and usage["exit_code"] == 3
    # faults and switches of the runtime are among those
    assert not {"minor_faults", "major_faults", "context_switches", "involuntary_switches", "cycles"} & usage.keys()


def test_it_has_no_network_unless_that_is_asked_for(kind: str, tmp_path: Path) -> None:
    program = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.settimeout(0.2); print(len(socket.if_nameindex()))"
    count = len(list(Path("/sys/class/net").iterdir()))
    if count < 2 or kind == "gvisor":
        pytest.skip("there is nothing to see but the loopback, or the runtime shows its own")
    # that of the system: one below /tmp is not seen inside
    text = f'/usr/bin/python3 -c "{program}" > {tmp_path}/n 2>&1'
    _shell(kind, text, tmp_path, options=f",volume={tmp_path}")
    assert (tmp_path / "n").read_text().strip() != str(count)
    _shell(kind, text, tmp_path, options=f",volume={tmp_path},network=host")
    assert (tmp_path / "n").read_text().strip() == str(count)


@pytest.mark.parametrize("kind", ["bwrap", "runc", "crun"])
def test_it_stays_on_its_processors(kind: str, tmp_path: Path) -> None:
    needs(kind)
    processor = max(os.sched_getaffinity(0))
    text = f"grep Cpus_allowed_list: /proc/self/status > {tmp_path}/mask"
    sample = _shell(kind, text, tmp_path, options=f",volume={tmp_path}", mask=(processor,))
    assert sample.ok, sample.error
    assert (tmp_path / "mask").read_text().split() == ["Cpus_allowed_list:", str(processor)]


def test_its_own_processes_are_all_that_it_sees(kind: str, tmp_path: Path) -> None:
    sample = _shell(kind, f"ls -d /proc/[0-9]* | wc -l > {tmp_path}/n", tmp_path, options=f",volume={tmp_path}")
    assert sample.ok and int((tmp_path / "n").read_text()) < 10


@pytest.mark.some(2)
def test_one_that_runs_too_long_is_cut_off(kind: str, tmp_path: Path) -> None:
    with IsolatedLauncher(RunOptions(cwd=tmp_path)) as launcher:
        sample = launcher.run(_setting(kind, "sleep", "30"), timeout_s=2.0)
        assert sample.cut_off and sample.wall_s < 10
        assert launcher.run(_setting(kind, "true"), timeout_s=_LIMIT_S).ok


def test_a_program_that_is_not_there_is_named(kind: str, tmp_path: Path) -> None:
    with IsolatedLauncher(RunOptions(cwd=tmp_path)) as launcher, pytest.raises(ProgramError, match="no-such-program"):
        launcher.run(_setting(kind, "no-such-program"))


def test_a_plain_process_is_started_as_ever(tmp_path: Path) -> None:
    with IsolatedLauncher(RunOptions(cwd=tmp_path)) as launcher:
        sample = launcher.run(Setting(("true",), isolation=read_isolation("process")))
    assert sample.ok and STARTUP not in sample.metrics


def test_ranks_are_not_isolated_from_outside() -> None:
    setting = Setting(("mpirun", "-n", "2", "true"), isolation=read_isolation("bwrap"), ranks=2, program_at=3)
    with IsolatedLauncher() as launcher, pytest.raises(InputError, match="ranks are started by their launcher"):
        launcher.run(setting)
