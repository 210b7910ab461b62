# SPDX-License-Identifier: BSD-3-Clause
"""What was recorded of a program: samples with their call chains, and for how long each thread waited."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from nodewise.profile.perf import event_name

#: `comm pid/tid time: rest`; a name may hold blanks and digits.
_HEAD = re.compile(r"^\s*(?P<comm>\S.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?P<time>\d+\.\d+):\s+(?P<rest>.*)$")
#: Names in C++ hold blanks and parentheses (`run<std::function<void (int)> >`), and so may paths; those begin with / or [, or have neither.
_WHERE = r"(?P<ip>[0-9a-f]+)\s+(?P<symbol>.+?(?=\s+\([/[])|.+)\s+\((?P<object>.*)\)\s*$"
_FRAME = re.compile(r"^\s+" + _WHERE)
_ALONE = re.compile(r":\s+" + _WHERE)
_LOST = re.compile(r"PERF_RECORD_LOST(?:_SAMPLES)?\b.*?lost:?\s+(?P<count>\d+)", re.IGNORECASE)
UNKNOWN = "[unknown]"
_NOWHERE = "f" * 16


class Frame(NamedTuple):
    """A function on a call chain: its name, the file that it is in, and the address in that file."""

    function: str
    object: str
    address: int


@dataclass(frozen=True)
class Taken:
    """One sample: the thread, the time in seconds, and its chain, the innermost function first. `waited` is its weight in
    seconds where the thread then stood still, None of one that worked.
    """

    pid: int
    tid: int
    time: float
    chain: tuple[Frame, ...]
    waited: float | None = None


@dataclass(frozen=True)
class Away:
    """A thread that stood still from a time on, for so many seconds; in which functions, where that was recorded."""

    time: float
    seconds: float
    chain: tuple[Frame, ...] = ()


@dataclass
class Life:
    """What is known of a thread: its name, when it was first and last seen, how long it waited or was held back, in seconds, and each wait."""

    name: str
    first: float
    last: float
    waited_s: float = 0.0
    preempted_s: float = 0.0
    away: list[Away] = field(default_factory=list)


@dataclass
class Recorded:
    """All samples in the order of time, the threads by (pid, tid), how many samples were lost, and what perf sampled in truth."""

    samples: list[Taken] = field(default_factory=list)
    threads: dict[tuple[int, int], Life] = field(default_factory=dict)
    lost: int = 0
    event: str = ""


@dataclass(frozen=True)
class _Out:
    time: float
    preempted: bool
    chain: tuple[Frame, ...] | None


def _frame(found: re.Match[str]) -> Frame:
    return Frame(found["symbol"].strip(), found["object"], int(found["ip"], 16))


def read_samples(lines: Iterable[str]) -> Recorded:
    """What `profile.perf.script_lines` gave. A line that is not understood is passed over: perf adds kinds of its own."""
    found = Recorded()
    out: dict[tuple[int, int], _Out] = {}
    waiting_chain: dict[tuple[int, int], tuple[Frame, ...]] = {}
    at: tuple[tuple[int, int], float, bool] | None = None
    chain: list[Frame] = []

    def close() -> None:
        nonlocal at
        if at is None:
            return
        key, time, switched = at
        if switched:
            waiting_chain[key] = tuple(chain)
        else:
            found.samples.append(Taken(*key, time, tuple(chain)))
        chain.clear()
        at = None

    for line in lines:
        head = _HEAD.match(line)
        if head is None:
            frame = _FRAME.match(line)
            # where the copy of the stack ends perf names no function, at the last of all addresses
            if frame is not None and at is not None and frame["ip"] != _NOWHERE:
                chain.append(_frame(frame))
            continue
        close()
        key, time, rest = (int(head["pid"]), int(head["tid"])), float(head["time"]), head["rest"]
        lost = _LOST.search(rest)
        if lost is not None:
            found.lost += int(lost["count"])
            continue
        life = found.threads.setdefault(key, Life(head["comm"], time, time))
        # a thread is named after what it was started by until it runs a program of its own
        life.name, life.last = head["comm"], time
        if rest.startswith("PERF_RECORD_SWITCH"):
            if " OUT" in rest:
                out[key] = _Out(time, "preempt" in rest, waiting_chain.pop(key, None))
            elif (left := out.pop(key, None)) is not None:
                _came_back(found, life, key, left, time)
        elif rest.startswith("PERF_RECORD"):
            continue
        else:
            at = (key, time, rest.startswith("sched:sched_switch"))
            if not at[2]:
                found.event = event_name(rest)
            # without chains the one function stands behind the event
            alone = _ALONE.search(rest)
            if alone is not None:
                chain.append(_frame(alone))
    close()
    found.samples.sort(key=lambda one: one.time)
    return found


def _came_back(found: Recorded, life: Life, key: tuple[int, int], left: _Out, time: float) -> None:
    gone = max(0.0, time - left.time)
    if left.preempted:
        life.preempted_s += gone
        return
    life.waited_s += gone
    life.away.append(Away(left.time, gone, left.chain or ()))
    if left.chain:
        found.samples.append(Taken(*key, left.time, left.chain, gone))
