# SPDX-License-Identifier: BSD-3-Clause
"""What was recorded of a program: samples with their call chains, and for how long each thread waited."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple

from nodewise.base.frozen import dataclass
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
    reading = _Reading()
    for line in lines:
        reading.take(line)
    return reading.ended()


class _Reading:
    """Takes in the lines one after the other."""

    def __init__(self) -> None:
        self._found = Recorded()
        self._out: dict[tuple[int, int], _Out] = {}
        self._waiting_chain: dict[tuple[int, int], tuple[Frame, ...]] = {}
        self._at: tuple[tuple[int, int], float, bool] | None = None
        self._chain: list[Frame] = []
        self._end = 0.0

    def take(self, line: str) -> None:
        """A frame of the sample before, or what happened next."""
        head = _HEAD.match(line)
        if head is None:
            frame = _FRAME.match(line)
            # where the copy of the stack ends perf names no function, at the last of all addresses
            if frame is not None and self._at is not None and frame["ip"] != _NOWHERE:
                self._chain.append(_frame(frame))
            return
        self._close()
        key, time, rest = (int(head["pid"]), int(head["tid"])), float(head["time"]), head["rest"]
        if time == 0.0:
            # what perf itself was before it started the program
            return
        self._end = max(self._end, time)
        lost = _LOST.search(rest)
        if lost is not None:
            self._found.lost += int(lost["count"])
            return
        life = self._found.threads.setdefault(key, Life(head["comm"], time, time))
        # a thread is named after what it was started by until it runs a program of its own
        life.name, life.last = head["comm"], time
        if rest.startswith("PERF_RECORD_SWITCH"):
            self._switched(life, key, time, rest)
        elif not rest.startswith("PERF_RECORD"):
            self._sampled(key, time, rest)

    def ended(self) -> Recorded:
        """All of it."""
        self._close()
        for key, left in self._out.items():
            # it waited on while the recording ended; what has ended itself was on a processor for it
            self._found.threads[key].last = self._end
            _came_back(self._found, self._found.threads[key], key, left, self._end)
        self._found.samples.sort(key=lambda one: one.time)
        return self._found

    def _switched(self, life: Life, key: tuple[int, int], time: float, rest: str) -> None:
        if " OUT" in rest:
            self._out[key] = _Out(time, "preempt" in rest, self._waiting_chain.pop(key, None))
        elif (left := self._out.pop(key, None)) is not None:
            _came_back(self._found, life, key, left, time)

    def _sampled(self, key: tuple[int, int], time: float, rest: str) -> None:
        self._at = (key, time, rest.startswith("sched:sched_switch"))
        if not self._at[2]:
            self._found.event = event_name(rest)
        # without chains the one function stands behind the event
        alone = _ALONE.search(rest)
        if alone is not None:
            self._chain.append(_frame(alone))

    def _close(self) -> None:
        """The sample before has all its frames."""
        if self._at is None:
            return
        key, time, switched = self._at
        if switched:
            self._waiting_chain[key] = tuple(self._chain)
        else:
            self._found.samples.append(Taken(*key, time, tuple(self._chain)))
        self._chain.clear()
        self._at = None


def _came_back(found: Recorded, life: Life, key: tuple[int, int], left: _Out, time: float) -> None:
    gone = max(0.0, time - left.time)
    if left.preempted:
        life.preempted_s += gone
        return
    life.waited_s += gone
    life.away.append(Away(left.time, gone, left.chain or ()))
    if left.chain:
        found.samples.append(Taken(*key, left.time, left.chain, gone))
