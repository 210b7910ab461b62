# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline in lines of text: devices, channels, and where it backs up."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.processors import format_processors
from nodewise.base.units import format_seconds
from nodewise.pipelines.plan import Plan
from nodewise.pipelines.result import DeviceResult, Ended, PipelineResult

#: How it ended, in words.
ENDS = {
    Ended.WHOLE: "all sources ended, and nothing is left on the way",
    Ended.DURATION: "its time was over; what was on the way arrived",
    Ended.DRAINED: "asked to end; what was on the way arrived",
    Ended.FAILED: "failed; what was on the way is lost",
    Ended.RUNNING: "running",
}


def pipeline_lines(found: PipelineResult) -> list[str]:
    """Tables of devices and channels, and a sentence."""
    heads = ["device", "kind", "state", "in", "out", "in/s", "out/s", "MB/s", "waits in", "waits out", "verified"]
    rows = [heads, *(_device(d) for d in found.devices)]
    if not any(d.verified for d in found.devices):
        rows = [row[:-1] for row in rows]
    channels = [["channel", "from", "to", "by", "messages", "MB/s", "full", "at most", "no room"]]
    channels += [
        [
            c.name,
            ",".join(c.senders),
            ",".join(c.receivers),
            c.transport,
            str(c.messages),
            number(c.bytes_per_s / 1e6),
            f"{c.full:.0%}",
            f"{c.full_most:.0%}",
            f"{c.waited:.0%}",
        ]
        for c in found.channels
    ]
    problem = [f"failed     {found.problem}"] if found.problem else []
    return [
        *_table(rows),
        "",
        *_table(channels),
        "",
        *where_lines(found),
        f"{found.sentence}",
        *problem,
        f"{format_seconds(found.seconds)}: {ENDS[found.ended]}",
    ]


def where_lines(found: PipelineResult) -> list[str]:
    """Where instances ran, of those that the file held to processors or that ran on ranks; nothing where none are such."""
    known = [(d, i) for d in found.devices for i in d.instances if i.rank is not None or i.asked is not None]
    if not known:
        return []
    rows = [["instance", "rank", "node", "pid", "processors"]]
    for device, one in known:
        processors = format_processors(one.allowed) or "not known"
        if one.asked is not None and one.allowed and one.asked != one.allowed:
            processors += f" (asked for {format_processors(one.asked)})"
        rank = "-" if one.rank is None else str(one.rank)
        rows.append([f"{device.name}.{one.number}", rank, one.host or "-", str(one.pid), processors])
    if all(row[1] == "-" for row in rows[1:]):
        rows = [[row[0], *row[3:]] for row in rows]
    return [*_table(rows), ""]


def plan_lines(plan: Plan) -> list[str]:
    """Devices and channels as they would be started."""
    rows = [["device", "kind", "instances", "processors"]]
    for device in plan.devices:
        # on ranks it is known once they are there
        places = sorted({"any" if one is None else ",".join(map(str, one)) for one in device.cpus})
        rows.append([device.name, device.kind, str(device.instances), " ".join(places)])
    channels = [["channel", "from", "to", "by"]]
    channels += [[c.name, ",".join(c.senders), ",".join(c.receivers), c.transport] for c in plan.channels]
    return [*_table(rows), "", *_table(channels), "", f"{plan.file}: nothing is wrong with it"]


def _device(device: DeviceResult) -> list[str]:
    count = len(device.instances)
    return [
        device.name + (f" × {count}" if count > 1 else ""),
        device.kind,
        device.state,
        str(device.in_messages),
        str(device.out_messages),
        number(device.in_messages_per_s),
        number(device.out_messages_per_s),
        number(max(device.in_bytes_per_s, device.out_bytes_per_s) / 1e6),
        f"{device.wait_in:.0%}",
        f"{device.wait_out:.0%}",
        str(device.verified),
    ]


def number(value: float) -> str:
    """A rate in three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
