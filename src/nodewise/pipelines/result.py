# SPDX-License-Identifier: BSD-3-Clause
"""What came of a pipeline, or what it does right now: devices, channels, and where it backs up."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from nodewise.base.frozen import dataclass


class Ended(StrEnum):
    """How a pipeline ended: its sources did, its duration was over, it was asked to drain, one of its processes failed; or it runs."""

    WHOLE = "whole"
    DURATION = "duration"
    DRAINED = "drained"
    FAILED = "failed"
    RUNNING = "running"


@dataclass(frozen=True)
class InstanceResult:
    """One process: its `state` (starting, initializing, bound, connecting, ready, running, draining, done, failed, stopped), and what it did.

    `asked` are the processors that the file holds it to (null: any), `allowed` those that it might really use, as it read them back
    (empty: it did not come so far). `rank` and `host` are where it ran, where ranks were started. `wait_in` and `wait_out` are shares of its time without a message to work on, and without room for one; `verified` counts
    checksums that were right, `problem` says why it failed.
    """

    number: int
    state: str
    pid: int
    host: str
    rank: int | None
    asked: tuple[int, ...] | None
    allowed: tuple[int, ...]
    seconds: float
    in_messages: int
    in_bytes: int
    out_messages: int
    out_bytes: int
    wait_in: float
    wait_out: float
    verified: int
    problem: str


@dataclass(frozen=True)
class DeviceResult:
    """A device with its instances; rates per second are those of all of them together."""

    name: str
    kind: str
    state: str
    in_messages: int
    in_bytes: int
    out_messages: int
    out_bytes: int
    in_messages_per_s: float
    in_bytes_per_s: float
    out_messages_per_s: float
    out_bytes_per_s: float
    wait_in: float
    wait_out: float
    verified: int
    instances: tuple[InstanceResult, ...]


@dataclass(frozen=True)
class ChannelResult:
    """A channel: `messages` and `bytes` that were received; `full` is the mean share of its high-water mark that was on the way while it ran.

    `full_most` is the largest share that was seen, `waited` the share of its senders' time in which it had no room for a message.
    """

    name: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    transport: str
    messages: int
    bytes: int
    messages_per_s: float
    bytes_per_s: float
    full: float
    full_most: float
    waited: float


@dataclass(frozen=True)
class Moment:
    """A look at it while it ran, at `seconds`: of each channel, in their order, how `full` it was and its rates since the look before.

    `backs_up` is the channel before which messages waited then; empty where none did.
    """

    seconds: float
    full: tuple[float, ...]
    messages_per_s: tuple[float, ...]
    bytes_per_s: tuple[float, ...]
    backs_up: str


@dataclass(frozen=True)
class BacksUp:
    """Where messages wait: before `device`, in `channel`."""

    device: str
    channel: str


@dataclass(frozen=True)
class PipelineResult:
    """A pipeline that ran: for how many `seconds`, how it `ended`, all that it has, and where it backs up (null: nowhere).

    `moments` are looks at it while it ran, evenly spread over its time, 240 at most.
    """

    file: str
    seconds: float
    ended: Ended
    devices: tuple[DeviceResult, ...]
    channels: tuple[ChannelResult, ...]
    backs_up: BacksUp | None
    sentence: str
    problem: str
    moments: tuple[Moment, ...] = ()


#: So much of their time senders wait for room, at least, where it backs up.
_BACKED = 0.2


def backs_up(devices: Sequence[DeviceResult], channels: Sequence[ChannelResult]) -> BacksUp | None:
    """The device that holds up those before it, and is not held up itself.

    Whoever waits for room waits for who receives; that one may wait for room in its turn, so the last one of such a row is it.
    """
    waiting = {d.name: d.wait_out for d in devices}
    found = [
        (waiting[receiver], -channel.waited, BacksUp(receiver, channel.name))
        for channel in channels
        if channel.waited >= _BACKED
        for receiver in channel.receivers
    ]
    return min(found, key=lambda one: one[:2])[2] if found else None


def sentence_of(found: BacksUp | None, devices: Sequence[DeviceResult], channels: Sequence[ChannelResult]) -> str:
    """Where it backs up, in words."""
    if found is None:
        sources = [d.name for d in devices if not any(d.name in c.receivers for c in channels)]
        longest = {d.name: max(one.seconds for one in d.instances) for d in devices}
        slowest = max(devices, key=lambda d: (d.name not in sources, 1 - d.wait_in - d.wait_out))
        # its channels have room for all that there was, and the work was done after the sources had ended
        busy = 1 - slowest.wait_in - slowest.wait_out
        if busy > 0.5 and max(longest[name] for name in sources) < 0.8 * longest[slowest.name]:
            return f"nothing waits for room, and {slowest.name} is the slowest: busy {busy:.0%} of the time"
        return f"nothing backs up: {' and '.join(sources)} set{'s' * (len(sources) == 1)} the pace"
    channel = next(c for c in channels if c.name == found.channel)
    device = next(d for d in devices if d.name == found.device)
    busy = max(0.0, 1 - device.wait_in - device.wait_out)
    count = len(device.instances)
    who = f"its {count} instances are" if count > 1 else "it is"
    return (
        f"backs up before {device.name}: {who} busy {busy:.0%} of the time, and {' and '.join(channel.senders)} "
        f"wait{'s' * (len(channel.senders) == 1)} for room in {channel.name} for {channel.waited:.0%}"
    )
