# SPDX-License-Identifier: BSD-3-Clause
"""What spoiled a run, in words. A marked sample is shown as such; it is never dropped in silence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nodewise.base.processors import format_processors
from nodewise.base.stolen_time import ROUNDING_S, SHARE
from nodewise.base.units import format_percent, format_seconds

#: The kind of mark of processors that others used.
OTHER_LOAD = "other load"
#: The kind of mark of a run whose program left processes.
LEFT_BEHIND = "left behind"
#: The kind of mark of a run whose runner did not see its end in time.
STOPPED = "stopped"
#: How the mark begins of what a program reported by the sample protocol and could not be read.
UNREAD = "protocol: "
#: Runs whose share of ticks is below their rounding are judged by what was ready to run just before and after them.
_SHORT_S = ROUNDING_S / SHARE
#: Whoever loses its processor to another of its priority is back no sooner than this. What waits less was put on another processor, or woke up
#: one that slept.
_SLICE_S = 1e-3
#: A clock below this share of its base was held down.
_SLOW = 0.95
#: How long a page fault takes that reads from a disk, where the kernel does not report how long was waited.
_FAULT_S = 0.01


def find_marks(
    wall_s: float, usage: Mapping[str, float], conditions: Mapping[str, float], rebound: Sequence[int] = ()
) -> tuple[str, ...]:
    """Marks of a run of `wall_s` seconds from what the kernel counted for it and for the machine meanwhile.

    Each is `kind: what was seen`. `rebound` are the processors that its main thread might use at the end, where they were
    not those that it was given. A share is of the run's own processor time, or of its duration where it mostly slept.
    """
    marks: list[str] = []
    base = max(_own_s(usage), wall_s)
    steal = stolen_s(usage, conditions)
    if steal > max(SHARE * (base + steal), ROUNDING_S):
        marks.append(f"steal: the hypervisor took {format_percent(steal / (base + steal))} of the processor time")
    marks += _shared(wall_s, usage, conditions)
    waited = conditions.get("pressure_memory_s", 0.0)
    if waited > SHARE * wall_s:
        marks.append(f"memory pressure: processes waited {format_seconds(waited)} for memory")
    if conditions.get("throttled_s", 0.0) > SHARE * base:
        marks.append(f"throttled: the cgroup's quota held it back for {format_seconds(conditions['throttled_s'])}")
    events = conditions.get("heat_events", 0.0)
    if events > 0:
        marks.append(f"heat: it lowered the clock {events:.0f} time{'s' * (events != 1)}")
    clock, clock_base = conditions.get("frequency_hz", 0.0), conditions.get("base_frequency_hz", 0.0)
    if 0 < clock < _SLOW * clock_base:
        marks.append(f"clock: {clock / 1e9:.2f} GHz on the average, below its base of {clock_base / 1e9:.2f} GHz")
    faults = usage.get("major_faults", 0.0)
    if faults > 0 and _paged_s(faults, conditions) > SHARE * wall_s:
        marks.append(f"paging: {faults:.0f} major page fault{'s' * (faults != 1)}")
    if rebound:
        marks.append(f"rebound: it bound itself to {format_processors(rebound)}, outside of what it was held to")
    return tuple(marks)


def stolen_s(usage: Mapping[str, float], conditions: Mapping[str, float]) -> float:
    """The seconds that the hypervisor took from a run: its part of what was taken from the processors that it could use."""
    steal = conditions.get("mask_steal_s", conditions.get("steal_s", 0.0))
    busy = conditions.get("mask_busy_s", conditions.get("busy_s", 0.0))
    return steal * min(1.0, _own_s(usage) / busy) if busy > 0 else steal


def _own_s(usage: Mapping[str, float]) -> float:
    return usage.get("user_s", 0.0) + usage.get("system_s", 0.0)


def _paged_s(faults: float, conditions: Mapping[str, float]) -> float:
    """At most so long the run waited for its pages; processes are counted together, so it may have been another."""
    if "pressure_io_s" in conditions:
        return conditions["pressure_io_s"] + conditions.get("pressure_memory_s", 0.0)
    return faults * _FAULT_S


def _shared(wall_s: float, usage: Mapping[str, float], conditions: Mapping[str, float]) -> list[str]:
    """Marks of processors that were shared, or left."""
    mine = _own_s(usage)
    # what a server works for the program is its own; it may have done so on other processors
    served = usage.get("served_s", 0.0)
    working = mine + served
    limit = SHARE * max(working, wall_s)
    processors = conditions.get("processors", 1.0)
    rounding = ROUNDING_S * max(1.0, math.sqrt(processors / 2))
    held = conditions.get("mask_busy_s", conditions.get("busy_s"))
    # what it left behind, and what reading its output took, is not others' work
    own = usage.get("left_s", 0.0) + usage.get("read_s", 0.0)
    ticks = 0.0 if held is None else held - mine - own
    others = ticks - served if ticks - served > rounding else 0.0
    steal = conditions.get("mask_steal_s", conditions.get("steal_s", 0.0))
    idle = max(0.0, processors * wall_s - working - others - steal)
    # what is ready may be so on processors that the run does not use: it only shows whose fault waiting is
    short = max(mine, wall_s) < _SHORT_S
    blamed = max(others, conditions.get("ready", 0.0) * wall_s) if short else others
    marks = []
    kept = _kept_s(mine, usage, blamed, idle / wall_s if wall_s > 0 else 0.0)
    near = conditions.get("domain_busy_s", 0.0) - mine - own - served
    if kept > limit:
        marks.append(f"{OTHER_LOAD}: it waited {format_seconds(kept)} for processors that others used")
    elif others > max(limit, 0.25 * wall_s) and working > 0.5 * wall_s and idle < 0.5 * wall_s:
        # it may not have waited, but neither had it room, and caches, memory and clock were those of a full machine
        marks.append(f"{OTHER_LOAD}: others used {format_seconds(others)} of processor time and left none idle")
    elif near > max(limit, rounding):
        marks.append(
            f"{OTHER_LOAD}: others used {format_seconds(near)} of processor time meanwhile, on the same memory"
        )
    # a program that widened its own mask runs elsewhere for long
    if "mask_busy_s" in conditions and -ticks > max(0.1 * mine, 0.05):
        marks.append(f"outside: it ran for at least {format_seconds(-ticks)} off the processors that it was held to")
    return marks


def _kept_s(mine: float, usage: Mapping[str, float], others: float, idle: float) -> float:
    """How long other processes kept the run's threads from a processor, in seconds, all threads together.

    Threads wait for each other, too, and one that wakes up for its processor to: what they waited counts no further than others
    used the processors meanwhile. One busy thread that was taken from its processor knows better: it waited for others all the time in
    which no thread of its own ran instead. `idle` is how many processors were idle.
    """
    watched = usage.get("watched_s", 0.0)
    if watched < 0.5 * (mine + usage.get("served_s", 0.0)) or watched <= 0:
        # not reported, or not of the threads that worked, such as a server's: whoever is ready runs while a processor is idle
        return others * max(0.0, 1 - idle)
    waited = usage["waited_s"] * max(1.0, mine / watched)
    least = min(waited, others)
    if usage.get("watched_threads") != 1 or watched <= 0.9 * mine or usage.get("involuntary_switches", 0) == 0:
        return least
    taken = waited - (watched - usage.get("busiest_s", watched)) - usage.get("served_s", 0.0)
    return max(least, taken) if taken > _SLICE_S else least
