# SPDX-License-Identifier: BSD-3-Clause
"""The study of governors in lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.units import format_seconds
from nodewise.machine.frequencies import FrequencyControl

_HEAD = ("workload", "governor", "runs", "median", "95% interval", "times as fast", "changes", "to the top")


def control_text(control: FrequencyControl | None, processor: int) -> str:
    """A processor's driver and governors, and what was counted, in up to three lines."""
    if control is None:
        return f"processor {processor}: no driver sets its frequency, as in most virtual machines"
    span = f"{_mhz(control.least_khz)} to {_mhz(control.most_khz)}"
    latency = "" if control.latency_ns is None else f", {control.latency_ns / 1000:g} µs a change"
    lines = [
        f"processor {processor}: {control.driver}, {control.governor} (of {', '.join(control.governors)}), {span}{latency}"
    ]
    if control.counted:
        times = ", ".join(f"{_mhz(int(f))} {format_seconds(s)}" for f, s in control.times_s.items())
        lines.append(f"since the start: {control.transitions} changes; {times}")
    if control.into_top:
        back = ", ".join(f"{_mhz(int(start))} {count}" for start, count in control.into_top.items())
        lines.append(f"back to the top from: {back}")
    return "\n".join(lines)


def rows_text(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table below its head, columns of equal width."""
    widths = [max(len(row[i]) for row in (_HEAD, *rows)) for i in range(len(_HEAD))]
    return [
        "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True))).rstrip()
        for r in (_HEAD, *rows)
    ]


def _mhz(khz: int | None) -> str:
    return "?" if khz is None else f"{khz / 1000:g} MHz"
