# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of processes: who has part in which class, where they sit, what happens where one is killed or a byte changes on its way."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.native import native_path
from nodewise.studies.commands import Contender, native_contenders
from nodewise.studies.discovery import find_study
from nodewise_studies.transport.lines import crossover, knee, rates_of
from nodewise_studies.transport.sizes import message_size, rungs
from nodewise_studies.transport.study import STUDY
from tests.crossed import crossed
from tests.kernel_symbols import no_kernel_symbols

__all__ = ["no_kernel_symbols"]
pytestmark = pytest.mark.usefixtures("no_kernel_symbols")

#: One that lasts until it is ended: 64 GiB, with few sums to keep.
_LONG = {"size": "1048576", "messages": "65536"}
#: How long a machine that others use may take for what takes a tenth of a second.
_SOON_S = 10.0
_BIND = "NODEWISE_BIND"


def contender(name: str, point: Mapping[str, str] | None = None) -> Contender:
    found = next(c for c in native_contenders(find_study("transport"), point or {}) if c.name == name)
    if found.not_run is not None:
        pytest.skip(found.not_run)
    return found


def ran(name: str, environment: Mapping[str, str] | None = None, /, **point: str) -> subprocess.CompletedProcess[str]:
    chosen = contender(name, point)
    env = {**os.environ, **chosen.env, "OMP_NUM_THREADS": "2", **(environment or {})}
    return subprocess.run(chosen.command, capture_output=True, text=True, check=False, env=env)


def sides_of(pid: int) -> list[int]:
    """The processes below one that are sides of its pair, those of a launcher's, too."""
    found = []
    for child in _children(pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if Path(os.fsdecode(words[0])).name == "nodewise-worker":
                found.append(child)
        found += sides_of(child)
    return found


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def role_of(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    return next((w.removeprefix("role=") for w in words if w.startswith("role=")), "")


@contextlib.contextmanager
def going(name: str, environment: Mapping[str, str] | None = None, /, **point: str) -> Iterator[subprocess.Popen[str]]:
    """A run that is under way: both its sides have worked."""
    chosen = contender(name, point)
    env = {**os.environ, **chosen.env, "OMP_NUM_THREADS": "2", **(environment or {})}
    with subprocess.Popen(chosen.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as run:
        try:
            until = time.monotonic() + 60
            while not (len(sides := sides_of(run.pid)) == 2 and all(_worked(s) for s in sides)):
                assert run.poll() is None, run.communicate()
                assert time.monotonic() < until, "the sides never began"
                time.sleep(0.02)
            yield run
        finally:
            run.kill()


def _worked(pid: int) -> bool:
    """Whether a process has run for a twentieth of a second."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12]) >= 5
    return False


def gone(pids: list[int]) -> bool:
    """Whether none of them runs any more, within a while."""
    until = time.monotonic() + _SOON_S
    while any(_running(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def kept_by(pids: list[int]) -> list[str]:
    """What these processes have left in shared memory, where libraries put a number into the name, and of the study's files."""
    numbers = {str(pid) for pid in pids}
    shared = [f.name for f in Path("/dev/shm").iterdir() if numbers & set(re.split("[^0-9a-f]", f.name))]
    return shared + [f.name for pid in pids for f in Path("/tmp").glob(f"nodewise-study-{pid}-*")]


def test_only_who_lends_has_part_in_loans_and_tokens_and_who_never_sleeps_not_in_block() -> None:
    chosen = STUDY.select
    assert chosen is not None
    assert set(chosen({"class": "token"})) == {"transport", "ring"}
    assert {"zeromq-ipc", "ucx-tag", "openmpi", "memcpy"} <= set(chosen({"class": "copy"}))
    assert "pipe" not in chosen({"class": "loan"})
    assert {"ucx-put", "mapped", "ucx-tag"} <= set(chosen({"class": "one-sided"}))
    assert "ucx-put" not in chosen({"class": "copy"})
    asleep = chosen({"class": "latency", "wait": "block"})
    assert "futex" in asleep
    assert not {"openmpi", "ofi-shm", "line"} & set(asleep)
    assert "line" in chosen({"class": "latency"})


def test_half_round_trips_are_shown_with_their_tails() -> None:
    row = {"contender": "pipe", "kind": "variant", "seconds": 1.0}
    found = {"p50_us": 6.0, "p99_us": 7.5, "p999_us": 20.0, "busy_cores": 0.25}
    result: dict[str, Any] = {"point": {"class": "latency"}, "rows": [{**row, "metrics": found}]}
    assert STUDY.report is not None
    assert STUDY.report(result)[1].split() == ["pipe", "6", "µs", "7.5", "µs", "20", "µs", "0.250"]
    assert STUDY.report({**result, "point": {"class": "copy"}}) == []


def test_a_ladder_names_where_each_saturates_and_from_where_writes_are_faster() -> None:
    writes = {f"gb_s_{size}": rate for size, rate in ((64, 0.1), (128, 0.5), (256, 4.0), (512, 9.5), (1024, 10.0))}
    messages = {f"gb_s_{size}": rate for size, rate in ((64, 0.4), (128, 0.6), (256, 1.0), (512, 1.1), (1024, 1.0))}
    rows = [
        {"contender": "ucx-put", "seconds": 1.0, "metrics": {**writes, "cpu_s_per_gb": 1.0}},
        {"contender": "ucx-tag", "seconds": 1.0, "metrics": messages},
    ]
    assert STUDY.report is not None
    lines = STUDY.report({"point": {"class": "one-sided", "ladder": "small"}, "rows": rows})
    assert "ucx-put saturates at 512 B" in lines
    assert "ucx-tag saturates at 256 B" in lines
    assert lines[-1] == "ucx-put is faster than ucx-tag from 256 B on"
    assert lines[0].split()[-2:] == ["1", "KiB"]


def test_a_knee_is_after_the_last_dip_and_a_crossover_holds_to_the_end() -> None:
    assert knee({1: 10.0, 2: 5.0, 4: 9.5, 8: 10.0}) == 4
    assert knee({1: 1.0, 2: 2.0}) == 2
    assert crossover({1: 2.0, 2: 1.0, 4: 3.0}, {1: 1.0, 2: 2.0, 4: 2.0}) == 4
    assert crossover({1: 2.0, 2: 1.0}, {1: 1.0, 2: 2.0}) is None
    assert rates_of({"gb_s_128": 2.0, "gb_s_64": 1.0, "seconds": 3.0}) == {64: 1.0, 128: 2.0}


def test_sizes_that_are_left_out_and_the_rungs_of_a_ladder() -> None:
    assert message_size({}) == 4096
    assert message_size({"class": "latency"}) == 8
    assert rungs({"size": "65"}, 7) == [(65, 7)]
    assert rungs({"ladder": "small"}, 0)[0] == (64, 2**21)
    assert rungs({"ladder": "large"}, 0)[-1] == (128 * 2**20, 8)


def test_a_ladder_reports_a_rate_for_each_size() -> None:
    done = ran("pipe", ladder="small", total="20000")
    assert done.returncode == 0, done.stderr
    assert list(rates_of(json.loads(done.stdout))) == [64, 128, 256, 512, 1024, 2048, 4096]


def test_sides_are_programs_of_their_own_each_in_its_place_whichever_way() -> None:
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        pytest.skip("two places need two processors")
    first, second = processors[:2]
    for direction, sender in (("forward", first), ("backward", second)):
        with going("pipe", {_BIND: f"{first}:{second}"}, direction=direction, **_LONG) as run:
            sides = sides_of(run.pid)
            assert {Path(f"/proc/{s}/exe").readlink() for s in sides} == {native_path("nodewise-worker").resolve()}
            assert all(b"--helper" in Path(f"/proc/{s}/cmdline").read_bytes() for s in sides)
            places = {role_of(s): os.sched_getaffinity(s) for s in sides}
        assert places == {"sender": {sender}, "receiver": {first + second - sender}}


def test_a_library_that_is_bound_says_that_both_sides_are() -> None:
    processor = min(os.sched_getaffinity(0))
    done = ran("zeromq-tcp", {_BIND: f"{processor}:{processor}"}, size="64", messages="10")
    assert json.loads(done.stdout)["bound"] == 2, done.stderr


_KILLED = (
    ("pipe", "copy"),
    ("transport", "copy"),
    ("transport", "loan"),
    ("ring", "copy"),
    ("mapped", "one-sided"),
    ("zeromq-ipc", "copy"),
    ("nng-ipc", "copy"),
    ("nanomsg-ipc", "copy"),
    ("ucx-tag", "copy"),
    ("ucx-put", "one-sided"),
    ("ofi-shm", "copy"),
    ("ofi-shm-write", "one-sided"),
)


@pytest.mark.some(5)
@pytest.mark.parametrize(("victim", "killed"), crossed(["sender", "receiver"], _KILLED))
def test_a_side_that_is_killed_ends_the_run_and_leaves_nothing(victim: str, killed: tuple[str, str]) -> None:
    name, kind = killed
    with going(name, **{"class": kind}, **_LONG) as run:
        sides = sides_of(run.pid)
        os.kill(next(s for s in sides if role_of(s) == victim), signal.SIGKILL)
        begin = time.monotonic()
        out, said = run.communicate(timeout=60)
        assert time.monotonic() - begin < _SOON_S
    assert run.returncode == 1
    assert f"the {victim} was ended by signal 9 (Killed)" in said
    assert "seconds" not in out
    assert gone(sides)
    assert kept_by(sides) == []


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_rank_that_is_killed_ends_the_run(name: str) -> None:
    with going(name, **_LONG) as run:
        sides = sides_of(run.pid)
        os.kill(sides[0], signal.SIGKILL)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "ended" in said
    assert gone(sides)
    assert kept_by(sides) == []


@pytest.mark.parametrize("name", ["pipe", "nanomsg-ipc", "ofi-shm"])
def test_sides_end_with_the_process_that_started_them(name: str) -> None:
    with going(name, **_LONG) as run:
        sides = sides_of(run.pid)
        run.kill()
        run.wait()
        assert gone(sides)
    assert kept_by(sides) == []


_CORRUPTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
ssize_t write(int fd, const void* data, size_t size) {
    static ssize_t (*real)(int, const void*, size_t);
    if (!real) real = (ssize_t (*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
    if (size != 4096) return real(fd, data, size);
    char* changed = malloc(size);
    memcpy(changed, data, size);
    changed[4095] ^= 1;
    ssize_t done = real(fd, changed, size);
    free(changed);
    return done;
}
"""


def test_a_peer_that_changes_a_bit_is_found_out(tmp_path: Path) -> None:
    """The last bit of each message, on its way through the pipe."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "corrupts.c").write_text(_CORRUPTS)
    library = tmp_path / "corrupts.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "corrupts.c", "-ldl"], check=True)
    assert ran("pipe", size="4096", messages="10").returncode == 0
    done = ran("pipe", {"LD_PRELOAD": str(library)}, size="4096", messages="10")
    assert done.returncode == 1
    assert "message 0 is not the one that was sent" in done.stderr
    assert '"verified": false' in done.stdout


def test_ranks_of_the_wrong_launcher_are_found_out(tmp_path: Path) -> None:
    """Each would be rank 0 of 1, with nothing but a warning."""
    chosen = contender("mpich")
    other = shutil.which("mpiexec.openmpi")
    if other is None:
        pytest.skip("there is no other MPI: apt-get install openmpi-bin")
    for name in ("mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "mpiexec"):
        (tmp_path / name).symlink_to(other)
    env = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run([*chosen.command, "messages=3"], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 1
    assert "the launcher and the library are of different MPIs" in done.stderr


def test_what_cannot_be_asked_is_refused_with_what_to_do() -> None:
    for point, words in (
        ({"class": "latency", "size": "4"}, "size=8 or more"),
        ({"class": "token", "ladder": "small"}, "leave it out"),
        ({"pause": "10"}, "class=latency"),
    ):
        done = ran("pipe", **point)
        assert done.returncode == 1
        assert words in done.stderr


def test_a_pause_lets_who_answers_sleep() -> None:
    done = ran("transport", **{"class": "latency", "wait": "block", "pause": "20000", "messages": "20"})
    found = json.loads(done.stdout)
    assert found["busy_cores"] < 0.5
    assert 0 < found["p50_us"] <= found["p99_us"] <= found["p999_us"]


@pytest.mark.parametrize(
    ("name", "words"), [("zeromq-tcp", "ZeroMQ 4."), ("ucx-tag", "UCX 1."), ("ofi-shm", "libfabric ")]
)
def test_a_row_says_the_version_of_its_library(name: str, words: str) -> None:
    assert contender(name).how.startswith(words)
