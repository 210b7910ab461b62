# SPDX-License-Identifier: BSD-3-Clause
"""What spoiled a run, in words. A marked sample is shown as such; it is never dropped in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodewise.base.processors import format_processors
from nodewise.base.units import format_percent, format_seconds

_SHARE = 0.01
#: Below this a run is too short for the clock ticks in which steal and load are counted.
_SHORTEST_S = 0.05
#: A clock below this share of its base was held down.
_SLOW = 0.95


def find_marks(
    wall_s: float, usage: Mapping[str, float], conditions: Mapping[str, float], rebound: Sequence[int] = ()
) -> tuple[str, ...]:
    """Marks of a run of `wall_s` seconds from what the kernel counted for it and for the machine meanwhile.

    Each is `kind: what was seen`. `rebound` are the processors that its main thread might use at the end, where they were
    not those that it was given.
    """
    marks: list[str] = []
    mine = usage.get("user_s", 0.0) + usage.get("system_s", 0.0)
    if wall_s >= _SHORTEST_S:
        marks += _shared(wall_s, mine, conditions)
        waited = conditions.get("pressure_memory_s", 0.0)
        if waited > _SHARE * wall_s:
            marks.append(f"memory pressure: processes waited {format_seconds(waited)} for memory")
    if conditions.get("throttled_s", 0.0) > _SHARE * wall_s:
        marks.append(f"throttled: the cgroup's quota held it back for {format_seconds(conditions['throttled_s'])}")
    events = conditions.get("heat_events", 0.0)
    if events > 0:
        marks.append(f"heat: it lowered the clock {events:.0f} time{'s' * (events != 1)}")
    clock, base = conditions.get("frequency_hz", 0.0), conditions.get("base_frequency_hz", 0.0)
    if 0 < clock < _SLOW * base:
        marks.append(f"clock: {clock / 1e9:.2f} GHz on the average, below its base of {base / 1e9:.2f} GHz")
    if usage.get("major_faults", 0.0) > 0:
        marks.append(f"paging: {usage['major_faults']:.0f} major page faults")
    if rebound:
        marks.append(f"rebound: it bound itself to {format_processors(rebound)}, outside of what it was held to")
    return tuple(marks)


def _shared(wall_s: float, mine: float, conditions: Mapping[str, float]) -> list[str]:
    """Marks of processors that were shared, or left."""
    marks = []
    # a clock tick's rounding, on each processor, is no load
    least = max(0.1 * wall_s, 0.03)
    steal = conditions.get("mask_steal_s", conditions.get("steal_s", 0.0))
    if steal > _SHARE * (mine + steal):
        marks.append(f"steal: the hypervisor took {format_percent(steal / (mine + steal))} of the processor time")
    held = conditions.get("mask_busy_s")
    others = conditions.get("busy_s", 0.0) - mine
    here = None if held is None else held - mine
    if others > least:
        near = f", {format_seconds(here)} of it on its own processors" if here is not None and here > least else ""
        marks.append(f"other load: other processes used {format_seconds(others)} of processor time{near}")
    # what is counted by ticks may be off by some; a program that widened its own mask runs elsewhere for long
    if here is not None and -here > max(0.1 * mine, 0.05):
        marks.append(f"outside: it ran for at least {format_seconds(-here)} off the processors that it was held to")
    return marks
