# SPDX-License-Identifier: BSD-3-Clause
"""Waiting until a machine is quiet enough to measure on, by what disturbs a run: `runner.marks`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.base.stolen_time import SHARE
from nodewise.base.units import format_percent
from nodewise.machine.files import first_match, read_text
from nodewise.machine.watch import processor_times

#: How much of a processor has to be idle apart from those that a run uses, or none is free when one of its threads moves.
_ROOM = 0.5


@dataclass(frozen=True)
class Activity:
    """Running totals in seconds: what ran on some processors, what was stolen from them, what waited for memory."""

    at_s: float
    busy_s: float
    steal_s: float
    memory_s: float = 0.0


@dataclass(frozen=True)
class Waited:
    """How long was waited, in seconds; whether it was quiet at the end, and else what was there, in words."""

    seconds: float
    quiet: bool
    reason: str = ""


def read_activity(processors: Iterable[int], root: Path = Path("/"), at_s: float | None = None) -> Activity:
    """The totals of these processors below `root`, at `at_s` seconds of a clock that only rises (None: now)."""
    busy, steal = processor_times(read_text(root / "proc/stat") or "")
    memory = first_match(r"^some .*total=(\d+)", read_text(root / "proc/pressure/memory") or "")
    wanted = list(processors)
    return Activity(
        time.monotonic() if at_s is None else at_s,
        sum(busy.get(p, 0.0) for p in wanted),
        sum(steal.get(p, 0.0) for p in wanted),
        int(memory or 0) * 1e-6,
    )


def unrest(before: Activity, after: Activity, processors: int, needed: float) -> str:
    """What would disturb a run that uses `needed` of so many processors at a time, in words; empty where it is quiet.

    Others' load does where it is above 5% of what the run uses and leaves less than half a processor besides, stolen time
    and waiting for memory where they are above 5%.
    """
    seconds = after.at_s - before.at_s
    load = (after.busy_s - before.busy_s) / seconds
    steal = (after.steal_s - before.steal_s) / seconds
    memory = (after.memory_s - before.memory_s) / seconds
    if load > SHARE * needed and processors - needed - load < _ROOM:
        return f"other load: {load:.2f} of {processors} processors are used by others"
    if steal > SHARE * (load + steal) and steal > SHARE:
        return f"steal: the hypervisor takes {format_percent(steal / (load + steal))} of the processor time"
    if memory > SHARE:
        return f"memory pressure: processes wait for memory for {format_percent(memory)} of the time"
    return ""


def wait_until_quiet(
    limit_s: float,
    processors: Iterable[int],
    needed: float | None = None,
    *,
    look_s: float = 1.0,
    read: Callable[[tuple[int, ...]], Activity] = read_activity,
    sleep: Callable[[float], None] = time.sleep,
) -> Waited:
    """Wait until the machine was quiet for `look_s` seconds, at most `limit_s`.

    `processors` are those that the next runs may use, `needed` how many of them at a time (None: all), such as the processor
    time of earlier runs over their duration. `read` gives the totals and the clock, `sleep` passes the time. What waits must
    not work meanwhile: its own load counts as any other.
    """
    wanted = tuple(processors)
    uses = min(float(len(wanted)), needed if needed is not None else float(len(wanted)))
    begin = before = read(wanted)
    while True:
        sleep(look_s)
        after = read(wanted)
        reason = unrest(before, after, len(wanted), uses)
        waited = after.at_s - begin.at_s
        if not reason or waited + look_s > limit_s:
            return Waited(waited, not reason, reason)
        before = after
