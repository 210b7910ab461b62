# SPDX-License-Identifier: BSD-3-Clause
"""The page of a pipeline: where it backs up, what each device and channel did, and how full channels were over its time."""

from __future__ import annotations

from typing import Any

from nodewise.base.processors import format_processors
from nodewise.base.units import format_seconds
from nodewise.pipelines.result import ChannelResult, DeviceResult, Ended, Moment, PipelineResult
from nodewise.report.pages.template import environment
from nodewise.report.text.pipeline import ENDS, number

#: The size of a line of how full a channel was.
_WIDTH, _HEIGHT = 240, 28
#: How often a page of one that runs is loaded again, in seconds.
_AGAIN_S = 2


def pipeline_page(found: PipelineResult) -> str:
    """The page's HTML; of one that runs it loads itself again."""
    return _page(
        file=found.file,
        again=_AGAIN_S if found.ended is Ended.RUNNING else 0,
        failed=found.ended is Ended.FAILED,
        headline=_headline(found),
        sentence=found.sentence,
        problem=found.problem,
        ended=f"{format_seconds(found.seconds)}: {ENDS[found.ended]}",
        devices=[_device(d) for d in found.devices],
        verified=any(d.verified for d in found.devices),
        channels=[_channel(found, c, i) for i, c in enumerate(found.channels)],
        instances=[_instance(d, i) for d in found.devices for i in range(len(d.instances))],
        ranks=any(i.rank is not None for d in found.devices for i in d.instances),
    )


def beginning_page(file: str) -> str:
    """The page of a pipeline whose processes start."""
    return _page(file=file, again=_AGAIN_S, headline="starting", sentence="its processes start", ended="", devices=[])


def _page(**shown: Any) -> str:
    page: str = environment().get_template("pipeline.html").render(**shown)
    return page


def _headline(found: PipelineResult) -> str:
    if found.ended is Ended.FAILED:
        return "failed"
    if found.backs_up is None:
        return "nothing backs up"
    return f"backs up before {found.backs_up.device}"


def _device(device: DeviceResult) -> dict[str, Any]:
    return {
        "name": device.name,
        "count": len(device.instances),
        "kind": device.kind,
        "state": device.state,
        "in_messages": device.in_messages,
        "out_messages": device.out_messages,
        "in_rate": number(device.in_messages_per_s),
        "out_rate": number(device.out_messages_per_s),
        "mb": number(max(device.in_bytes_per_s, device.out_bytes_per_s) / 1e6),
        "busy": _percent(max(0.0, 1 - device.wait_in - device.wait_out)),
        "wait_in": _percent(device.wait_in),
        "wait_out": _percent(device.wait_out),
        "verified": device.verified,
    }


def _channel(found: PipelineResult, channel: ChannelResult, index: int) -> dict[str, Any]:
    return {
        "name": channel.name,
        "here": found.backs_up is not None and found.backs_up.channel == channel.name,
        "way": f"{', '.join(channel.senders)} → {', '.join(channel.receivers)}",
        "transport": channel.transport,
        "messages": channel.messages,
        "rate": number(channel.messages_per_s),
        "mb": number(channel.bytes_per_s / 1e6),
        "full": _percent(channel.full),
        "width": f"{100 * min(1.0, channel.full):.1f}",
        "most": _percent(channel.full_most),
        "waited": _percent(channel.waited),
        "line": _line(found.moments, index),
    }


def _line(moments: tuple[Moment, ...], index: int) -> str:
    """The points of a line of how full a channel was; empty for fewer than two looks."""
    if len(moments) < 2:
        return ""
    last = moments[-1].seconds
    return " ".join(
        f"{one.seconds / last * _WIDTH:.1f},{1 + (1 - min(1.0, one.full[index])) * (_HEIGHT - 2):.1f}"
        for one in moments
    )


def _instance(device: DeviceResult, index: int) -> dict[str, Any]:
    one = device.instances[index]
    asked = one.asked is not None and bool(one.allowed) and one.asked != one.allowed
    return {
        "name": f"{device.name}.{one.number}",
        "state": one.state,
        "rank": "" if one.rank is None else one.rank,
        "host": one.host,
        "pid": one.pid,
        "allowed": format_processors(one.allowed) or "not known",
        "asked": format_processors(one.asked or ()) if asked else "",
        "in_messages": one.in_messages,
        "out_messages": one.out_messages,
        "busy": _percent(max(0.0, 1 - one.wait_in - one.wait_out)),
        "wait_in": _percent(one.wait_in),
        "wait_out": _percent(one.wait_out),
        "problem": one.problem,
    }


def _percent(share: float) -> str:
    return f"{share:.0%}"
