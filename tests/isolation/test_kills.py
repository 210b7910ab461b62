# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is left of an isolated run, whoever of those that look after it is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nodewise.isolation.kind import kind_of
from nodewise.isolation.probe import Answer, known
from nodewise.runner.proc_files import children_of
from tests.isolation.roots import image_of, root_folder
from tests.isolation.runtimes import CONTAINERS, GUESTS, bearing, booted, left, needs, state_of_the_system
from tests.started import started

_LIMIT_S = 120.0
_VICTIMS = ("nodewise", "runner", "isolate", "interrupted")
#: Whoever is killed by one kind, and one of them by each other kind: who looks after a run is the same for all.
_FIRST = {("bwrap", victim) for victim in _VICTIMS} | {("runc", "isolate"), ("crun", "runner"), ("gvisor", "nodewise")}
KILLED = [
    pytest.param(victim, kind, marks=() if (kind, victim) in _FIRST else pytest.mark.long)
    for victim in _VICTIMS
    for kind in CONTAINERS
]


def _until(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + _LIMIT_S
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _named(pids: list[int], name: str) -> list[int]:
    found = []
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/comm").read_text(errors="replace").strip() == name:
                found.append(pid)
        except OSError:
            continue
    return found


def _runner(nodewise: int) -> int:
    """The runner below a nodewise: the child of its guard."""
    guards = _named(children_of(nodewise), "nodewise-guard")
    return next(pid for guard in guards for pid in _named(children_of(guard), "nodewise-runner"))


@pytest.mark.parametrize(("victim", "kind"), KILLED)
def test_nothing_is_left(kind: str, victim: str, tmp_path: Path) -> None:
    needs(kind)
    _kill(kind, victim, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", GUESTS)
@pytest.mark.parametrize("victim", ["nodewise", "isolate"])
def test_nothing_is_left_of_a_guest_with_network_and_a_mapped_root(
    kind: str, victim: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # kept, so that nodewise does not ask again, which takes too long among other tests
    known(kind_of(kind), booted(kind_of(kind)), lambda *_: Answer(True))
    image = image_of(root_folder(tmp_path / "root", "sh", "touch", "sleep"), tmp_path / "root.img", "ext4")
    _kill(kind, victim, tmp_path, f",network=host,root={image}")


def _kill(kind: str, victim: str, tmp_path: Path, options: str = "") -> None:
    """Start a program that waits, kill who looks after it, and look for what is left."""
    word = f"TOKEN-{os.getpid()}-{kind}-{victim}"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = state_of_the_system()
    words = [sys.executable, "-m", "nodewise", "run", "-r", "2", "--isolation", f"{kind},volume={tmp_path}{options}"]
    command = ["sh", "-c", f"touch {tmp_path}/began; sleep 120"]
    process = subprocess.Popen(
        [*words, "--out", str(tmp_path / "out"), "--", *command],
        env={**os.environ, "NODEWISE_TOKEN": word, "TMPDIR": str(temporary)},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert _until(lambda: (tmp_path / "began").exists() or process.poll() is not None)
        assert process.poll() is None
        if victim == "nodewise":
            process.kill()
        elif victim == "interrupted":
            process.send_signal(signal.SIGINT)
        elif victim == "runner":
            os.kill(_runner(process.pid), signal.SIGKILL)
        else:
            found = _named(children_of(_runner(process.pid)), "nodewise-isolat")
            os.kill(found[0], signal.SIGKILL)
            process.send_signal(signal.SIGINT)
        process.wait(_LIMIT_S)
        assert _until(lambda: not bearing(word)), [Path(f"/proc/{p}/cmdline").read_bytes() for p in bearing(word)]
    finally:
        process.kill()
        process.wait()
        for pid in bearing(word):
            os.kill(pid, signal.SIGKILL)
    assert left(before) == {} and list(temporary.iterdir()) == []


@pytest.mark.parametrize("kind", CONTAINERS)
def test_nothing_is_left_of_one_that_ends_well(kind: str, tmp_path: Path) -> None:
    needs(kind)
    word = f"TOKEN-{os.getpid()}-{kind}-well"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = state_of_the_system()
    told = started(
        *("run", "-r", "1", "-w", "0", "--isolation", kind, "--accept-disturbed", "--out", str(tmp_path / "out")),
        *("--", "sh", "-c", "sleep 100 & exit 0"),
        cwd=tmp_path,
        env={**os.environ, "NODEWISE_TOKEN": word, "TMPDIR": str(temporary)},
    )
    assert told.returncode == 0, told.stderr
    assert bearing(word) == []
    assert left(before) == {} and list(temporary.iterdir()) == []
