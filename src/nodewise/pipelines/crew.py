# SPDX-License-Identifier: BSD-3-Clause
"""The ranks of a pipeline that runs: what they tell is written to one page, and what is asked of all is handed on to them."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.pipelines.hosted import Hosted, ended_by
from nodewise.pipelines.layout import Instance, Layout, Part
from nodewise.pipelines.page import Asked, Page, Word
from nodewise.pipelines.seats import Seat
from nodewise.pipelines.wire import LostError, Wire

#: What is said of a process whose rank is gone: it was killed with that.
_LOST = -9
_WORDS = 1 << 64


@dataclass(frozen=True)
class Seated:
    """A rank that is there: its seat, the wire to it, by how many nanoseconds its clock is behind, and how many ranks it says there are."""

    seat: Seat
    wire: Wire
    behind_ns: int
    size: int


@dataclass
class _Told:
    """What a rank tells of: its instances by their numbers in the layout, and where on the page it goes."""

    seated: Seated
    numbers: list[int]
    words: list[tuple[int, int]]
    #: Words that are a time by the rank's own clock.
    times: frozenset[int]
    left: set[int] = field(default_factory=set)


class RankCrew:
    """All ranks of a pipeline; see `run.Crew`."""

    def __init__(self, seated: Sequence[Seated], hosted: Hosted, launcher: str):
        self._hosted, self._launcher = hosted, launcher
        self._wires = [one.wire for one in seated]
        self._ranks: list[_Told] = []
        self._layout: Layout | None = None
        self.page: Page | None = None
        self.lost: list[str] = []
        self.asked = self.launcher_ended = False

    def begin(
        self,
        one: Seated,
        own: Sequence[Instance],
        words: list[tuple[int, int]],
        texts: list[int],
        parts: Sequence[Part],
        layout: Layout,
    ) -> None:
        """Have a rank start its devices."""
        self._layout = layout
        order = list(layout.instances)
        times = frozenset(layout.instances[i] + word for i in own for word in (Word.BEGAN, Word.ENDED))
        numbers = [order.index(i) for i in own]
        told = _Told(one, numbers, words, times, {*numbers})
        self._ranks.append(told)
        self._say(told, {"parts": list(parts), "size": layout.size, "words": words, "texts": texts})

    def ask(self, what: Asked) -> None:
        """Have all processes do something; who is to connect is told the addresses that those who were bound have got."""
        assert self.page is not None and self._layout is not None
        addresses = [[at, self.page.read_text(at)] for at in self._layout.addresses.values()]
        said = {"ask": int(what), "addresses": addresses if what == Asked.CONNECT else []}
        for one in list(self._ranks):
            self._say(one, said)

    def ended(self, seconds: float) -> list[tuple[int, int]]:
        """Which processes have ended; those of a rank that is lost have with it."""
        until = time.monotonic() + seconds
        while not (found := self._within(max(0.0, until - time.monotonic()))) and not self.lost:
            if time.monotonic() >= until:
                break
        return found

    def _within(self, seconds: float) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        waited: list[Wire | Hosted] = [one.seated.wire for one in self._ranks]
        waited += [] if self.launcher_ended else [self._hosted]
        ready = select.select(waited, [], [], seconds)[0]
        for one in [one for one in self._ranks if one.seated.wire in ready]:
            try:
                found += self._heard(one, *one.seated.wire.receive())
            except LostError:
                found += self._lose(one)
        if self._hosted in ready and (ended := self._hosted.ended(0.0)):
            self.launcher_ended = True
            if any(one.left for one in self._ranks):
                self.lost.append(f"{self._launcher} {ended_by(ended[0][1])}, and the ranks with it")
        return found

    def end(self) -> None:
        """Tell the ranks that it is over, whatever they do."""
        for wire in self._wires:
            try:
                wire.send({"end": True})
            except LostError:
                continue

    def _say(self, one: _Told, said: dict[str, Any]) -> None:
        try:
            one.seated.wire.send(said)
        except LostError:
            # what is to be heard of it is read where that is waited for
            return

    def _heard(self, one: _Told, said: dict[str, Any], data: bytes) -> list[tuple[int, int]]:
        assert self.page is not None
        if said.get("asked"):
            self.asked = True
        if data:
            at = 0
            words = memoryview(data).cast("Q")
            for begin, count in one.words:
                self.page.words[begin : begin + count] = words[at : at + count]
                at += count
            for word in one.times:
                if value := self.page.words[word]:
                    self.page.words[word] = max(1, value + one.seated.behind_ns) % _WORDS
        for place, text in said.get("texts", []):
            self.page.write_text(place, text)
        ended = [(one.numbers[number], status) for number, status in said.get("ended", [])]
        one.left -= {number for number, _ in ended}
        return ended

    def _lose(self, one: _Told) -> list[tuple[int, int]]:
        """A rank is gone, and with it what ran there."""
        self._ranks.remove(one)
        assert self._layout is not None
        order = list(self._layout.instances)
        names = [f"{order[i][0]}.{order[i][1]}" for i in sorted(one.left)]
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            self.lost.append(
                f"rank {one.seated.seat.number} on {one.seated.seat.host} is gone, and with it {', '.join(names[:3])}{more}"
            )
        return [(number, _LOST) for number in sorted(one.left)]
