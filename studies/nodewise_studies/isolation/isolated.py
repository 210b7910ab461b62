# SPDX-License-Identifier: BSD-3-Clause
"""The study's own kernel, run by its worker in each kind of isolation; starts of `true`, and the memory of several at a time."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nodewise.base.native import native_path
from nodewise.isolation.kind import Kind, Way, all_kinds, kind_of
from nodewise.isolation.once import around, prepared_once, way_of, why_not
from nodewise.isolation.prepare import Prepared
from nodewise.studies.discovery import binary_of

from .instances import at_once

_FOLDER = Path(__file__).parent
#: A start that takes longer has gone wrong.
_LIMIT_S = 300.0
_KNOBS = ("kernel", "rounds", "kib")
#: An emulated guest without a clock of its own counts the kernel's ticks (CONFIG_HZ=250): what ends within one took none by it.
_TICK_S = 4e-3


class FailedError(Exception):
    """A runtime that did not do what it did when it was probed."""


@dataclass
class State:
    """A kind that works, and what its last run gave."""

    kind: Kind
    way: Way
    knobs: list[str]
    starts: int
    instances: int
    first: Any
    root: str = ""
    seconds: float = 0.0
    wrong: str = ""
    startups: list[float] = field(default_factory=list)
    teardowns: list[float] = field(default_factory=list)


def contenders() -> Mapping[str, Callable[[Mapping[str, str]], str | None]]:
    """All kinds, each with what finds the reason why it does not work here: starting it, which takes seconds."""
    return {name: partial(_why_not, name) for name in all_kinds()}


def _why_not(name: str, point: Mapping[str, str]) -> str | None:
    if point.get("emulated") != "no":
        return why_not(name)
    why = why_not(name, emulated=False)
    left_out = why is not None and any(way.emulated for way in kind_of(name).ways)
    return f"{why}; emulated=yes measures it for scale" if left_out else why


def prepare(inputs: Mapping[str, Any], point: Mapping[str, str], threads: int) -> State:
    """The kernel runs in one thread, whatever `threads` is."""
    del threads
    kind = kind_of(point["contender"])
    knobs = [f"{name}={point[name]}" for name in _KNOBS if name in point]
    starts, instances = int(point["starts"]), int(point["instances"])
    root = str(Path(point["root"]).resolve()) if kind.mapped and "root" in point else ""
    return State(kind, way_of(kind), knobs, starts, instances, inputs["first"], root)


def prepared(state: State, program: str) -> Prepared:
    """What starts the file `program` in the state's kind."""
    return prepared_once(state.kind, state.way, program, (binary_of(_FOLDER), native_path("nodewise-worker")))


def _started(state: State, words: list[str]) -> tuple[str, dict[str, Any]]:
    """What a program printed, and the report of its run. Raises FailedError."""
    made = prepared(state, words[0])
    try:
        done = subprocess.run(
            [*made.words, *words], cwd="/", stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_LIMIT_S
        )
        report = made.report()
    finally:
        made.close()
    if done.returncode != 0 or report.get("exit_code") != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-300:]
        raise FailedError(f"{state.kind.name}: exit code {done.returncode}: {said}")
    startup, teardown = around(report)
    state.startups.append(startup)
    state.teardowns.append(teardown or 0.0)
    return done.stdout.decode(errors="replace"), report


def run(state: State) -> None:
    """The kernel once: its seconds are those that the worker took inside."""
    worker = [str(native_path("nodewise-worker")), str(binary_of(_FOLDER)), "--variant", "direct", "--threads", "1"]
    printed, _ = _started(state, [*worker, *state.knobs])
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith('{"nodewise"')]
    state.seconds = float(lines[-1]["seconds"])
    state.wrong = "" if lines[-1].get("verified") else "the worker found its result wrong"


def outputs(state: State) -> dict[str, Any]:
    """The result, which the worker inside checked: it does not leave a guest but as its verdict."""
    from .study import reference

    point = dict(knob.split("=") for knob in state.knobs)
    found = reference({"first": state.first}, point)
    return {"result": found["result"] + bool(state.wrong)}


def taken(state: State) -> float:
    """Seconds of the kernel; where a processor is emulated, whose times are not ranked, one tick for what is shorter than that."""
    return state.seconds or (_TICK_S if state.way.emulated else 0.0)


def metrics(state: State) -> dict[str, float]:
    """Seconds of the kernel, of starts to the first instruction and of ends, and the memory of 1, 2, 4 … instances at a time."""
    true = shutil.which("true") or "/bin/true"
    state.startups.clear()
    state.teardowns.clear()
    for _ in range(state.starts):
        _started(state, [true])
    found = {
        "seconds": taken(state),
        "startup_p50_s": float(np.percentile(state.startups, 50)),
        "startup_p99_s": float(np.percentile(state.startups, 99)),
        "teardown_p50_s": float(np.percentile(state.teardowns, 50)),
        "for_scale": float(state.way.emulated),
    }
    sleep = shutil.which("sleep") or "/bin/sleep"
    count = 1
    while count <= state.instances:
        seen = at_once(lambda: prepared(state, sleep), [sleep, "1000"], count)
        found |= {f"{name}_{count}_bytes": value for name, value in seen.items()}
        if state.root:
            # by its name: the image's own, not this system's
            seen = at_once(lambda: prepared_once(state.kind, state.way, "", root=state.root), ["sleep", "1000"], count)
            found |= {f"mapped_{name}_{count}_bytes": value for name, value in seen.items()}
        count *= 2
    return found
