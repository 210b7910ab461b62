# SPDX-License-Identifier: BSD-3-Clause
"""Reads the page: what each instance and each channel did between two looks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence

from nodewise.base.frozen import dataclass
from nodewise.pipelines.layout import Instance, Layout
from nodewise.pipelines.page import FIXED, Page, State, Word, processors_of
from nodewise.pipelines.plan import Channel, Device, Plan
from nodewise.pipelines.result import (
    ChannelResult,
    DeviceResult,
    Ended,
    InstanceResult,
    Moment,
    PipelineResult,
    backs_up,
    sentence_of,
)
from nodewise.pipelines.seats import Seat

_STATES = {state: state.name.lower() for state in State}
_STOPPED = "stopped"
#: Over how long what is shown meanwhile is reckoned, in seconds.
_LATELY_S = 2.0
#: How often a look is kept, and how many are.
_MOMENT_S, _MOST_MOMENTS = 0.25, 240


@dataclass(frozen=True)
class _Look:
    at_ns: int
    words: memoryview


class Watch:
    """Looks at a pipeline; `look` now and then, and `result` says what was seen."""

    def __init__(self, plan: Plan, layout: Layout, page: Page, seats: Mapping[Instance, Seat] | None = None):
        self._plan, self._layout, self._page, self._seats = plan, layout, page, seats or {}
        first = _Look(time.monotonic_ns(), page.copy())
        self._first = first
        self._looks: deque[_Look] = deque([first])
        #: By channel how often it was looked at while messages could flow, the sum of how full it was, and the most.
        self._full: dict[str, tuple[int, float, float]] = {c.name: (0, 0.0, 0.0) for c in plan.channels}

        self._moments: list[Moment] = []
        self._every_s, self._marked = _MOMENT_S, first

    def begin(self) -> None:
        """From now on messages flow."""
        self._first = self._marked = _Look(time.monotonic_ns(), self._page.copy())
        self._looks = deque([self._first])

    def look(self) -> None:
        """See how full channels are."""
        now = _Look(time.monotonic_ns(), self._page.copy())
        self._looks.append(now)
        while len(self._looks) > 2 and now.at_ns - self._looks[1].at_ns > _LATELY_S * 1e9:
            self._looks.popleft()
        for channel in self._plan.channels:
            count, total, most = self._full[channel.name]
            if not self._flows(now.words, channel):
                continue
            full = self._fullness(now.words, channel)
            self._full[channel.name] = (count + 1, total + full, max(most, full))
        if now.at_ns - self._marked.at_ns >= self._every_s * 1e9:
            self._mark(now)

    def _mark(self, now: _Look) -> None:
        before, self._marked = self._marked, now
        channels = [self._channel(c, before, now, True) for c in self._plan.channels]
        devices = [self._device(d, before, now, False, {}) for d in self._plan.devices]
        found = backs_up(devices, channels)
        self._moments.append(
            Moment(
                seconds=(now.at_ns - self._first.at_ns) / 1e9,
                full=tuple(c.full for c in channels),
                messages_per_s=tuple(c.messages_per_s for c in channels),
                bytes_per_s=tuple(c.bytes_per_s for c in channels),
                backs_up=found.channel if found else "",
            )
        )
        if len(self._moments) >= _MOST_MOMENTS:
            # half as many for the time that has gone, and half as many from now on
            del self._moments[::2]
            self._every_s *= 2

    def _flows(self, words: memoryview, channel: Channel) -> bool:
        """Whether one of its senders still sends."""
        senders = self._plan.instances_of(channel.senders)
        return any(words[self._layout.instances[s] + Word.STATE] == State.RUNNING for s in senders)

    def _edges(self, channel: Channel) -> list[int]:
        return [at for (name, _, _), at in self._layout.edges.items() if name == channel.name]

    def _fullness(self, words: memoryview, channel: Channel) -> float:
        shares = []
        for at in self._edges(channel):
            messages, size = words[at] - words[at + 2], words[at + 1] - words[at + 3]
            shares.append(min(1.0, max(messages / channel.messages, size / channel.room, 0.0)))
        return sum(shares) / len(shares)

    def result(self, ended: Ended, problem: str = "", statuses: Mapping[Instance, int] | None = None) -> PipelineResult:
        """All of it; while it runs rates and waits are those of the last two seconds."""
        running = ended is Ended.RUNNING
        before = self._looks[0] if running else self._first
        now = _Look(time.monotonic_ns(), self._page.copy())
        seconds = max(1e-9, (now.at_ns - self._first.at_ns) / 1e9)
        devices = tuple(self._device(d, before, now, not running, statuses or {}) for d in self._plan.devices)
        channels = tuple(self._channel(c, before, now, running) for c in self._plan.channels)
        found = backs_up(devices, channels)
        return PipelineResult(
            file=str(self._plan.file),
            seconds=seconds,
            ended=ended,
            devices=devices,
            channels=channels,
            backs_up=found,
            sentence=sentence_of(found, devices, channels),
            problem=problem,
            moments=tuple(self._moments),
        )

    def _device(
        self, device: Device, before: _Look, now: _Look, over: bool, statuses: Mapping[Instance, int]
    ) -> DeviceResult:
        instances = [self._instance(device, number, before, now, over, statuses) for number in range(device.instances)]
        rates = [
            sum(self._rate(device.name, number, word, before, now) for number in range(device.instances))
            for word in (Word.IN_MESSAGES, Word.IN_BYTES, Word.OUT_MESSAGES, Word.OUT_BYTES)
        ]
        return DeviceResult(
            device.name,
            device.kind,
            _together([one.state for one in instances]),
            sum(one.in_messages for one in instances),
            sum(one.in_bytes for one in instances),
            sum(one.out_messages for one in instances),
            sum(one.out_bytes for one in instances),
            in_messages_per_s=rates[0],
            in_bytes_per_s=rates[1],
            out_messages_per_s=rates[2],
            out_bytes_per_s=rates[3],
            wait_in=sum(one.wait_in for one in instances) / len(instances),
            wait_out=sum(one.wait_out for one in instances) / len(instances),
            verified=sum(one.verified for one in instances),
            instances=tuple(instances),
        )

    def _span_ns(self, at: int, before: _Look, now: _Look) -> int:
        """For how long an instance ran between two looks."""
        began, ended = now.words[at + Word.BEGAN], now.words[at + Word.ENDED]
        return max(0, min(ended or now.at_ns, now.at_ns) - max(began, before.at_ns)) if began else 0

    def _rate(self, name: str, number: int, word: Word, before: _Look, now: _Look) -> float:
        at = self._layout.instances[name, number]
        span = self._span_ns(at, before, now)
        return (now.words[at + word] - before.words[at + word]) / (span / 1e9) if span else 0.0

    def _instance(
        self, device: Device, number: int, before: _Look, now: _Look, over: bool, statuses: Mapping[Instance, int]
    ) -> InstanceResult:
        at = self._layout.instances[device.name, number]
        seat = self._seats.get((device.name, number))
        words, span = now.words, self._span_ns(at, before, now)
        state = _STATES[State(words[at + Word.STATE])]
        failed = bool(statuses.get((device.name, number)))
        if failed and not words[at + Word.AFTER_ANOTHER]:
            state = _STATES[State.FAILED]
        elif (
            over and state != _STATES[State.DONE] and (state != _STATES[State.FAILED] or words[at + Word.AFTER_ANOTHER])
        ):
            state = _STOPPED
        shares = [
            min(1.0, (words[at + word] - before.words[at + word]) / span) if span else 0.0
            for word in (Word.WAIT_IN, Word.WAIT_OUT)
        ]
        return InstanceResult(
            number,
            state,
            words[at + Word.PID],
            seat.host if seat else "",
            seat.number if seat else None,
            device.cpus[number],
            processors_of(self._page.read_text(self._layout.about[device.name, number])),
            self._span_ns(at, self._first, now) / 1e9,
            words[at + Word.IN_MESSAGES],
            words[at + Word.IN_BYTES],
            words[at + Word.OUT_MESSAGES],
            words[at + Word.OUT_BYTES],
            wait_in=shares[0],
            wait_out=shares[1],
            verified=words[at + Word.VERIFIED],
            problem=self._page.read_text(self._layout.errors[device.name, number]),
        )

    def _channel(self, channel: Channel, before: _Look, now: _Look, running: bool) -> ChannelResult:
        edges = self._edges(channel)
        messages, size = (sum(now.words[at + i] for at in edges) for i in (2, 3))
        earlier = [sum(before.words[at + i] for at in edges) for i in (2, 3)]
        waited = spans = longest = 0
        for sender in self._plan.instances_of(channel.senders):
            at = self._layout.instances[sender]
            word = at + FIXED + [c.name for c in self._plan.outputs(sender[0])].index(channel.name)
            waited += now.words[word] - before.words[word]
            spans += self._span_ns(at, before, now)
        for receiver in self._plan.instances_of(channel.receivers):
            longest = max(longest, self._span_ns(self._layout.instances[receiver], before, now))
        count, total, most = self._full[channel.name]
        mean = self._fullness(now.words, channel) if running else total / count if count else 0.0
        return ChannelResult(
            channel.name,
            channel.senders,
            channel.receivers,
            channel.transport,
            messages,
            size,
            (messages - earlier[0]) / (longest / 1e9) if longest else 0.0,
            (size - earlier[1]) / (longest / 1e9) if longest else 0.0,
            mean,
            most,
            min(1.0, waited / spans) if spans else 0.0,
        )


def _together(states: Sequence[str]) -> str:
    """The state of a device: that of its instances, of several the one that says most."""
    order = (_STATES[State.FAILED], _STOPPED, *(name for state, name in _STATES.items() if state != State.FAILED))
    return min(states, key=order.index)
