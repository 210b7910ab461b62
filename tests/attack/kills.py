# SPDX-License-Identifier: BSD-3-Clause
"""Kills and signals at random moments, of nodewise, its runner and its program, and going on after them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from pathlib import Path

from nodewise.runner.proc_files import children_of
from tests.attack.place import LEFT, LOST, WRONG, Finding, Place, Running

#: Takes about as many seconds as it is told, with a child of its own and one that outlives it, and counts its ends.
WORK = """#!/bin/sh
sleep "$1" & child=$!
[ "$2" != daemon ] || (setsid sleep 30 > /dev/null 2>&1 &)
wait $child
[ "$2" != reports ] || printf '{"nodewise": 1, "seconds": %s}\\n' "$1"
echo done >> "$(dirname "$0")/ended"
"""
_ASKED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
#: All that a nodewise that was ended may end with.
_ALLOWED = (0, 1, 2, *(128 + s for s in _ASKED), *(-s for s in (signal.SIGKILL, *_ASKED)))


def attack(dice: random.Random, place: Place) -> list[Finding]:
    """One process of a nodewise killed at any moment; then going on with what it had measured."""
    here, running, kind = _started(dice, place)
    victim = dice.choice(["nodewise", "nodewise", "guard", "runner", "program", "both"])
    before = _kept(here)
    if not running.ended():
        for pid in _pids(running, victim):
            _send(pid, signal.SIGKILL)
    return _afterwards(
        place, here, running, kind, before, f"SIGKILL of {victim}", killed=victim in ("nodewise", "both")
    )


def attack_by_signals(dice: random.Random, place: Place) -> list[Finding]:
    """A nodewise asked to end, once or several times, or stopped and set going."""
    here, running, kind = _started(dice, place)
    asked = [dice.choice(_ASKED) for _ in range(dice.choice([1, 2, 2, 3]))]
    if dice.random() < 0.2:
        asked = [signal.SIGSTOP, signal.SIGCONT, *asked[:1]]
    before = _kept(here)
    for number in asked:
        if not running.ended():
            running.send(number)
        time.sleep(dice.choice([0.0, 0.001, 0.02, 0.2]) * dice.random())
    running.send(signal.SIGCONT)
    said = " ".join(signal.Signals(s).name for s in asked)
    return _afterwards(place, here, running, kind, before, said, killed=False)


def _started(dice: random.Random, place: Place) -> tuple[Path, Running, str]:
    here = place.fresh()
    work = here / "work"
    work.write_text(WORK)
    work.chmod(0o755)
    (here / "loop.c").write_text("void f(int* a) { for (int i = 0; i < 99; ++i) a[i]++; }\n")
    how = dice.choice(["", "", "reports", "daemon"])
    long = dice.choice(["0.01", "0.05", "0.3"])
    kinds = {
        "run": ["run", "--out", "x", "-r", "10", "--", "./work", long, how],
        "compare": ["compare", "--accept-disturbed", "-r", "6", "--out", "x", f"./work {long} {how}", "./work 0.02"],
        "tune": [
            *("tune", "--accept-disturbed", "--max-runs", "24", "--budget", "60s", "-P", "t=0.05,0.01", "--axes", ""),
            *("--out", "x", "--", "./work", "{t}", how),
        ],
        "where": ["where", "--", "./work", "0.8", "reports" if how == "reports" else ""],
        "vec": ["vec", "--compiler", "gcc", "loop.c"],
    }
    kind = dice.choice(["run", "run", "compare", "compare", "tune", "tune", "where", "vec"])
    whole = dice.random() < 0.2
    running = place.start(kinds[kind], here, whole)
    # Ctrl-C while the interpreter itself starts is the interpreter's
    time.sleep(0.3 if whole else dice.choice([0.0, 0.05, 0.2]) + dice.random() * 0.8)
    return here, running, kind


def _pids(running: Running, victim: str) -> list[int]:
    """The processes of that part of it: the guard is its child, the runner that one's, programs are the runner's."""
    guards = running.children()
    runners = [pid for guard in guards for pid in children_of(guard)]
    programs = [pid for runner in runners for pid in children_of(runner)]
    return {
        "nodewise": [running.pid],
        "guard": guards,
        "runner": runners,
        "program": programs or runners,
        "both": [running.pid, *runners],
    }[victim]


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _kept(here: Path) -> tuple[int, bytes]:
    """How many runs have ended, and what was written of them since."""
    ended = here / "ended"
    count = ended.read_text().count("done") if ended.exists() else 0
    # a run that has ended needs a moment to be written down
    time.sleep(0.1)
    samples = here / "x/samples.jsonl"
    return count, samples.read_bytes() if samples.exists() else b""


def _afterwards(
    place: Place, here: Path, running: Running, kind: str, before: tuple[int, bytes], what: str, killed: bool
) -> list[Finding]:
    # `where` ends as its program does
    ended = running.wait(60, (*_ALLOWED, *((128 + 3, 128 + 9, 128 + 15) if kind == "where" else ())))
    found = ended.judged() + place.left_over()
    ran, lines = before
    lines = lines[: lines.rfind(b"\n") + 1]
    folder = here / "x"
    samples = folder / "samples.jsonl"
    # a program that fails at once is no question: what was asked is reported, and nothing of it is kept
    refused = ended.code == 2 and not folder.exists()
    if lines and not refused and not (samples.exists() and samples.read_bytes().startswith(lines)):
        found.append(Finding(LOST, f"{lines.count(b'sample')} lines that had been written are not there any more"))
    kept = _samples(samples)
    # the one that was being made, or written down, is no sample yet
    if kind in ("run", "compare", "tune") and not refused and kept < ran - 2:
        found.append(Finding(LOST, f"{ran} runs had ended, {kept} are kept"))
    if folder.exists() and not killed and not (folder / "question.json").exists():
        found.append(Finding(LEFT, "a folder without a question"))
    if not found and kept and kind in ("run", "compare", "tune") and (folder / "question.json").exists():
        found += _gone_on(place, here, kind, samples)
    return [Finding(f.kind, f"{what} of {' '.join(running.words)}: {f.what}") for f in found]


def _gone_on(place: Place, here: Path, kind: str, samples: Path) -> list[Finding]:
    before = samples.read_bytes()
    before = before[: before.rfind(b"\n") + 1]
    ended = place.start([kind, "--resume", "x"], here).wait(90, (0, 1))
    found = ended.judged() + place.left_over()
    if not samples.read_bytes().startswith(before):
        found.append(Finding(LOST, "going on has changed what was there"))
    if ended.code == 0 and not (here / "x/report.html").exists():
        found.append(Finding(WRONG, "going on ended without a page"))
    return found


def _samples(path: Path) -> int:
    if not path.exists():
        return 0
    count = 0
    for line in path.read_bytes().splitlines():
        try:
            count += json.loads(line).get("type") == "sample"
        except ValueError:
            # the line that a kill cut off
            continue
    return count
