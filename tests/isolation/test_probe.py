# SPDX-License-Identifier: BSD-3-Clause
"""A kind is tried once, and refused in its runtime's own words. The runtimes are scripts that say what real ones said."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, UnavailableError
from nodewise.isolation import probe as probing
from nodewise.isolation.kind import PROGRAM, Kind, Request, Start, Way, kind_of
from nodewise.isolation.prepare import check_rankable, isolation_kind
from nodewise.isolation.probe import Answer, known, probe, working_way
from nodewise.runner.isolation import Isolation
from nodewise.tuning.axes import isolation as axis
from tests.isolation.runtimes import bearing

#: crun 1.8.1 on a system with control groups of both versions.
_CRUN = "2026-11-25T02:45:01.512Z: cgroups in hybrid mode not supported, drop all controllers from cgroupv2"
#: runsc 20221219 in a room where its socket's name was taken.
_RUNSC = "running container: creating container: cannot create sandbox: cannot create sandbox process: address already in use"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _kind(folder: Path, script: str, **changed: object) -> Kind:
    """A kind whose runtime is a shell script."""
    runtime = folder / "runtime"
    runtime.write_text(f"#!/bin/sh\n{script}\n")
    runtime.chmod(0o755)

    def start(request: Request) -> Start:
        return Start((str(runtime), PROGRAM))

    return dataclasses.replace(Kind("fake", "a stand-in", ("sh",), "fakes", start), **changed)  # type: ignore[arg-type]


def test_one_that_starts_a_program_works(tmp_path: Path) -> None:
    assert probe(_kind(tmp_path, 'exec "$@"'), Way("")) == Answer(True)


@pytest.mark.parametrize("said", [_CRUN, _RUNSC])
def test_it_is_refused_in_its_own_words(said: str, tmp_path: Path) -> None:
    kind = _kind(tmp_path, f"echo '{said}' >&2; exit 1")
    assert probe(kind, Way("")) == Answer(False, said)
    with pytest.raises(UnavailableError, match="fake does not work here: .*" + said[-20:]):
        working_way(kind)


def test_one_that_ends_well_without_having_started_anything_does_not_work(tmp_path: Path) -> None:
    answer = probe(_kind(tmp_path, "exit 0"), Way(""))
    assert not answer.works and answer.refused == "it ended with exit code 0, and said nothing"


def test_nothing_is_left_of_one_that_is_tried_while_nodewise_is_killed(tmp_path: Path) -> None:
    word = f"TOKEN-{os.getpid()}-probe"
    runtime = tmp_path / "runtime"
    runtime.write_text(f"#!/bin/sh\ntouch {tmp_path}/began\nsleep 300 &\nsleep 300\n")
    runtime.chmod(0o755)
    script = f"""
from nodewise.isolation.kind import PROGRAM, Kind, Start, Way
from nodewise.isolation.probe import probe
probe(Kind("fake", "a stand-in", ("sh",), "fakes", lambda _: Start(({str(runtime)!r}, PROGRAM))), Way(""), 200.0)
"""
    process = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "NODEWISE_TOKEN": word})
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "began").exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert process.poll() is None and len(bearing(word)) > 1
        process.kill()
        process.wait()
        end = time.monotonic() + 20
        while bearing(word) and time.monotonic() < end:
            time.sleep(0.05)
        assert bearing(word) == []
    finally:
        process.kill()
        process.wait()
        for pid in bearing(word):
            os.kill(pid, signal.SIGKILL)


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    begin = time.monotonic()
    answer = probe(_kind(tmp_path, f"echo booting; echo $$ > {tmp_path}/pid; sleep 100"), Way(""), limit_s=1.0)
    assert time.monotonic() - begin < 30
    assert answer == Answer(False, "it did not start `true` within 1 s: booting", timed_out=True)
    number = (tmp_path / "pid").read_text().strip()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{number}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{number}").exists()


def test_the_answer_is_kept_until_the_runtime_changes(tmp_path: Path) -> None:
    kind = _kind(tmp_path, 'exec "$@"', programs=("runtime",))
    os.environ["PATH"], before = f"{tmp_path}:{os.environ['PATH']}", os.environ["PATH"]
    try:
        asked: list[str] = []

        def ask(kind: Kind, way: Way) -> Answer:
            asked.append(f"{kind.name}/{way.name}")
            return Answer(False, "no", remedy="buy one")

        for _ in range(3):
            assert known(kind, Way("slow"), ask) == Answer(False, "no", remedy="buy one")
        assert asked == ["fake/slow"]
        known(kind, Way("fast"), ask)
        assert asked == ["fake/slow", "fake/fast"]
        first = (tmp_path / "runtime").stat().st_mtime_ns
        for when in (1, first, 1):
            # two that take turns, as two installations do, keep an answer each
            os.utime(tmp_path / "runtime", ns=(when, when))
            known(kind, Way("slow"), ask)
        assert asked == ["fake/slow", "fake/fast", "fake/slow"]
        kept = tmp_path / "cache" / "nodewise" / "isolation.json"
        assert set(json.loads(kept.read_text())) == {"fake/slow", "fake/fast"}
        for number, text in enumerate(("{", '{"fake/slow": {"works": true}}', '{"fake/slow": [7, {"state": 3}]}'), 4):
            kept.write_text(text)
            known(kind, Way("slow"), ask)
            assert len(asked) == number
        for when in range(2, 9):
            os.utime(tmp_path / "runtime", ns=(when, when))
            known(kind, Way("slow"), ask)
        assert len(json.loads(kept.read_text())["fake/slow"]) == 4
    finally:
        os.environ["PATH"] = before


def test_that_it_took_too_long_is_not_kept_where_the_machine_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = _kind(tmp_path, "")
    asked: list[int] = []

    def ask(kind: Kind, way: Way) -> Answer:
        asked.append(1)
        return Answer(False, "slow", timed_out=True)

    monkeypatch.setattr(probing.os, "getloadavg", lambda: (1000.0, 0.0, 0.0))
    known(kind, Way(""), ask)
    known(kind, Way(""), ask)
    assert len(asked) == 2
    monkeypatch.setattr(probing.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    known(kind, Way(""), ask)
    known(kind, Way(""), ask)
    assert len(asked) == 3


def test_the_first_way_that_works_is_taken(tmp_path: Path) -> None:
    ways = (Way("kvm", missing=lambda: "there is no /dev/kvm"), Way("emulated", emulated=True))
    kind = _kind(tmp_path, 'exec "$@"', ways=ways)
    assert working_way(kind).name == "emulated"
    with pytest.raises(UnavailableError, match="fake does not work here: kvm: there is no /dev/kvm"):
        working_way(kind, "kvm")
    with pytest.raises(InputError, match="has no way 'magic'"):
        working_way(kind, "magic")


def test_a_runtime_that_is_missing_has_its_package(tmp_path: Path) -> None:
    kind = _kind(tmp_path, "", programs=("no-such-runtime",))
    with pytest.raises(UnavailableError, match="there is no program no-such-runtime here") as refused:
        working_way(kind)
    assert refused.value.hint == "apt-get install fakes"


def test_memory_is_of_guests_and_ways_are_known() -> None:
    with pytest.raises(InputError, match="memory is of virtual machines"):
        isolation_kind(Isolation("runc", memory=1 << 30))
    with pytest.raises(InputError, match="has no way 'fast'"):
        isolation_kind(Isolation("gvisor", way="fast"))
    with pytest.raises(InputError, match="did you mean microvm"):
        isolation_kind(Isolation("micro-vm"))
    with pytest.raises(InputError, match="no guest boots in 2 B of memory") as caught:
        isolation_kind(Isolation("microvm", memory=2))
    assert caught.value.hint is not None and "64 MiB or more" in caught.value.hint
    assert isolation_kind(Isolation("vm", memory=64 << 20)).guest


def test_what_is_emulated_is_neither_compared_nor_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "known", lambda kind, way: Answer(way.emulated))
    monkeypatch.setattr(Kind, "runtime", lambda *_: "/usr/bin/qemu")
    with pytest.raises(InputError, match="vm is emulated here: its times mean nothing"):
        check_rankable(Isolation("vm"))
    with pytest.raises(InputError, match="vm is emulated here"):
        axis.isolation_option(["vm"], ranked=False)
    check_rankable(None)


def test_the_axis_is_the_plain_process_and_what_works_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "known", lambda kind, way: Answer(kind.name in ("bwrap", "vm") and way.name != "kvm"))
    monkeypatch.setattr(Kind, "runtime", lambda *_: "/usr/bin/runtime")
    assert axis.isolation_option([], ranked=False).axis.values == ("process", "bwrap")
    assert axis.isolation_option(["bwrap,network=host"], ranked=False).axis.values == ("process", "bwrap,network=host")
    with pytest.raises(InputError, match="start no ranks"):
        axis.isolation_option([], ranked=True)
    with pytest.raises(InputError, match="several kinds"):
        axis.isolated_by(["bwrap", "process"])
    assert axis.isolated_by(["bwrap"]) == Isolation("bwrap") and axis.isolated_by([]) is None
    monkeypatch.setattr(probing, "known", lambda kind, way: Answer(False, "no"))
    with pytest.raises(InputError, match="no kind of isolation works here"):
        axis.isolation_option([], ranked=False)


def test_plain_processes_have_nothing_to_try() -> None:
    assert kind_of("process").start is None


def test_answers_are_read_from_a_file_only_and_the_newest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache/nodewise"
    folder.mkdir(parents=True)
    # who opens a pipe waits for ever for who writes to it
    os.mkfifo(folder / "isolation.json")
    assert known(_kind(tmp_path, 'exec "$@"'), Way("")).works
    (folder / "isolation.json").unlink()
    for number in range(probing._MOST_KEPT + 3):
        monkeypatch.setenv("NODEWISE_GUEST_KERNEL", f"/boot/{number}")
        known(_kind(tmp_path, 'exec "$@"'), Way(""))
    [kept] = json.loads((folder / "isolation.json").read_text()).values()
    states = [json.dumps(one["state"]) for one in kept]
    assert len(states) == probing._MOST_KEPT == len(set(states))
    monkeypatch.setenv("NODEWISE_GUEST_KERNEL", "/boot/another")
    known(_kind(tmp_path, "echo no; exit 1"), Way(""))
    [later] = json.loads((folder / "isolation.json").read_text()).values()
    assert not later[0]["works"] and [json.dumps(one["state"]) for one in later[1:]] == states[:-1]
