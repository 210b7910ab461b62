# SPDX-License-Identifier: BSD-3-Clause
"""Runs a pipeline: starts its processes, joins them, watches, drains, and leaves nothing behind."""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Protocol

from nodewise.base.errors import ProgramError
from nodewise.base.frozen import dataclass
from nodewise.pipelines.hosted import Hosted, ended_by
from nodewise.pipelines.layout import Instance, Layout, layout_of, parts_of
from nodewise.pipelines.page import ASKED, Asked, Page, State, Word
from nodewise.pipelines.plan import Plan
from nodewise.pipelines.result import Ended, PipelineResult
from nodewise.pipelines.seats import Seat
from nodewise.pipelines.watch import Watch

#: How long processes may take to start, and how long is waited for others to say that they failed, too, in seconds.
_START_S, _FAILING_S = 120.0, 0.5
_LOOK_S, _SHOW_S = 0.05, 0.5
#: What comes within it is the same request, as of a closing terminal, which sends several signals.
_AT_ONCE_S = 0.1


def run_pipeline(
    plan: Plan,
    duration: float | None = None,
    show: Callable[[PipelineResult], None] = lambda _: None,
    starter: Callable[[Plan, list[float]], AbstractContextManager[Started]] | None = None,
) -> PipelineResult:
    """Run it until its sources end, `duration` seconds are over or Ctrl-C asks for the end, and drain it; `show` is told how it goes.

    `starter` starts the processes (None: on this machine). A second Ctrl-C ends it at once: KeyboardInterrupt. Raises ProgramError where
    its processes cannot be started, and what `starter` does.
    """
    with _asked_to_end() as asked, starter(plan, asked) if starter else _started_here(plan) as started:
        watch = Watch(started.plan, started.layout, started.page, started.seats)
        return _Run(started, watch, asked, show).run(duration)


class Crew(Protocol):
    """Whoever is above the processes of the devices, here or on ranks."""

    #: What was lost besides single devices, each in words, the first one first.
    lost: list[str]
    #: Whether an end was asked for elsewhere, as a batch system does.
    asked: bool

    def ask(self, what: Asked) -> None:
        """Have all processes do something."""

    def ended(self, seconds: float) -> list[tuple[int, int]]:
        """Which processes have ended within some time, by their numbers, and their statuses. Raises ProgramError."""


@dataclass(frozen=True)
class Started:
    """A pipeline whose processes start: the plan as it is carried out, the page, and who is above the processes."""

    plan: Plan
    layout: Layout
    page: Page
    crew: Crew
    seats: Mapping[Instance, Seat]


class _Here:
    """The processes are all on this machine, and write to the page themselves."""

    def __init__(self, page: Page, hosted: Hosted):
        self._page, self._hosted = page, hosted
        self.lost: list[str] = []
        self.asked = False

    def ask(self, what: Asked) -> None:
        self._page.words[ASKED] = what

    def ended(self, seconds: float) -> list[tuple[int, int]]:
        return self._hosted.ended(seconds)


@contextmanager
def _started_here(plan: Plan) -> Iterator[Started]:
    layout = layout_of(plan)
    descriptor = os.memfd_create("nodewise-pipeline")
    try:
        os.ftruncate(descriptor, layout.size)
        page = Page(descriptor, layout.size)
        with Hosted(descriptor) as hosted:
            hosted.begin(parts_of(plan, layout, secrets.token_hex(6)))
            yield Started(plan, layout, page, _Here(page, hosted), {})
    finally:
        os.close(descriptor)


class _Run:
    def __init__(self, started: Started, watch: Watch, asked: list[float], show: Callable[[PipelineResult], None]):
        self._page, self._crew, self._watch, self._asked, self._show = started.page, started.crew, watch, asked, show
        self._names = list(started.layout.instances)
        self._instances = list(started.layout.instances.values())
        self._statuses: dict[Instance, int] = {}
        self._shown = 0.0

    def run(self, duration: float | None) -> PipelineResult:
        for state, then in ((State.BOUND, Asked.CONNECT), (State.READY, Asked.RUN)):
            if (failed := self._await(state)) is not None:
                return failed
            if then == Asked.RUN:
                self._watch.begin()
            self._crew.ask(then)
        begin, ended, draining = time.monotonic(), Ended.WHOLE, False
        while len(self._statuses) < len(self._names):
            over = duration is not None and time.monotonic() - begin >= duration
            if (over or self._asked or self._crew.asked) and not draining:
                ended = Ended.DURATION if over else Ended.DRAINED
                draining = True
                self._crew.ask(Asked.DRAIN)
            if (failed := self._look(_LOOK_S)) is not None:
                return failed
            self._watch.look()
            if time.monotonic() - self._shown >= _SHOW_S:
                self._show(self._watch.result(Ended.RUNNING))
                self._shown = time.monotonic()
        return self._watch.result(ended)

    def _await(self, state: State) -> PipelineResult | None:
        """Wait until all have come so far; what came of it where one fails before."""
        until = time.monotonic() + _START_S
        # one that has failed, as State.FAILED says before its process has ended, gets nowhere: the others are not asked to go on
        while not all(state <= self._page.words[at + Word.STATE] < State.FAILED for at in self._instances):
            if (failed := self._look(_LOOK_S / 10)) is not None:
                return failed
            if self._asked:
                raise KeyboardInterrupt
            if time.monotonic() > until:
                late = [
                    f"{name}.{number} ({State(self._page.words[at + Word.STATE]).name.lower()})"
                    for (name, number), at in zip(self._names, self._instances, strict=True)
                    if self._page.words[at + Word.STATE] < state
                ]
                raise ProgramError(
                    f"not ready within {_START_S:.0f} s: {', '.join(late[:5])}",
                    "is the machine overloaded, or a name of the transport taken?",
                )
        return None

    def _look(self, seconds: float) -> PipelineResult | None:
        """Hear of those that have ended; the result where one has failed."""
        failed = self._heard(seconds)
        if not failed:
            return None
        # others hear of it, and fail in their turn: the first cause is wanted
        until = time.monotonic() + _FAILING_S
        while (left := until - time.monotonic()) > 0 and len(self._statuses) < len(self._names):
            failed |= self._heard(left)
        return self._watch.result(Ended.FAILED, self._cause(), self._statuses)

    def _heard(self, seconds: float) -> bool:
        heard = {self._names[number]: status for number, status in self._crew.ended(seconds)}
        self._statuses.update(heard)
        return any(heard.values()) or bool(self._crew.lost)

    def _cause(self) -> str:
        """Why it failed: what the first to fail by itself says."""
        found = self._watch.result(Ended.FAILED, "", self._statuses)
        if self._crew.lost:
            return self._crew.lost[0]
        causes = []
        for device in found.devices:
            for one in device.instances:
                status = self._statuses.get((device.name, one.number), 0)
                if one.state == "failed":
                    causes.append(f"{device.name}.{one.number}: {one.problem or ended_by(status)}")
        others = len(causes) - 1
        return (causes[0] if causes else "a process was lost") + (f" (and {others} more)" if others > 0 else "")


@contextmanager
def _asked_to_end() -> Iterator[list[float]]:
    """When it was asked to end, by Ctrl-C or as a batch system does; the second time it is KeyboardInterrupt."""
    asked: list[float] = []

    def heard(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if asked and now - asked[-1] < _AT_ONCE_S:
            return
        asked.append(now)
        if len(asked) > 1:
            raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
        before = {n: signal.signal(n, heard) for n in numbers if signal.getsignal(n) != signal.SIG_IGN}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
