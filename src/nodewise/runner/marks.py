# SPDX-License-Identifier: BSD-3-Clause
"""What spoiled a run, in words. A marked sample is shown as such; it is never dropped in silence."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.units import format_percent, format_seconds

_SHARE = 0.01
#: Below this a run is too short for the clock ticks in which steal and load are counted.
_SHORTEST_S = 0.05


def find_marks(wall_s: float, usage: Mapping[str, float], conditions: Mapping[str, float]) -> tuple[str, ...]:
    """Marks of a run of `wall_s` seconds from what the kernel counted for it and for the machine meanwhile."""
    marks = []
    mine = usage.get("user_s", 0.0) + usage.get("system_s", 0.0)
    if wall_s >= _SHORTEST_S:
        steal = conditions.get("steal_s", 0.0)
        if steal > _SHARE * (mine + steal):
            marks.append(f"steal: the hypervisor took {format_percent(steal / (mine + steal))} of the processor time")
        others = conditions.get("busy_s", 0.0) - mine
        # a clock tick's rounding, on each processor, is no load
        if others > max(0.1 * wall_s, 0.03):
            marks.append(f"other load: other processes used {format_seconds(others)} of processor time")
    if conditions.get("throttled_s", 0.0) > _SHARE * wall_s:
        marks.append(f"throttled: the cgroup's quota held it back for {format_seconds(conditions['throttled_s'])}")
    if usage.get("major_faults", 0.0) > 0:
        marks.append(f"paging: {usage['major_faults']:.0f} major page faults")
    return tuple(marks)
