# SPDX-License-Identifier: BSD-3-Clause
"""Runs a pipeline: starts its processes, joins them, watches, drains, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from nodewise.base.ends import deaf
from nodewise.base.errors import ProgramError
from nodewise.pipelines.layout import Instance, layout_of, parts_of
from nodewise.pipelines.page import ASKED, Asked, Page, State, Word
from nodewise.pipelines.plan import Plan
from nodewise.pipelines.result import Ended, PipelineResult
from nodewise.pipelines.watch import Watch

#: How long processes may take to start, and how long is waited for others to say that they failed, too, in seconds.
_START_S, _FAILING_S = 120.0, 0.5
_LOOK_S, _SHOW_S = 0.05, 0.5
#: What comes within it is the same request, as of a closing terminal, which sends several signals.
_AT_ONCE_S = 0.1


def run_pipeline(
    plan: Plan, duration: float | None = None, show: Callable[[PipelineResult], None] = lambda _: None
) -> PipelineResult:
    """Run it until its sources end, `duration` seconds are over or Ctrl-C asks for the end, and drain it; `show` is told how it goes.

    A second Ctrl-C ends it at once: KeyboardInterrupt. Raises ProgramError where its processes cannot be started.
    """
    layout = layout_of(plan)
    descriptor = os.memfd_create("nodewise-pipeline")
    try:
        os.ftruncate(descriptor, layout.size)
        page = Page(descriptor, layout.size)
        with _asked_to_end() as asked, _Host(descriptor) as host:
            host.begin(parts_of(plan, layout, secrets.token_hex(6)))
            return _Run(plan, page, Watch(plan, layout, page), host, asked, list(layout.instances), show).run(
                duration, list(layout.instances.values())
            )
    finally:
        os.close(descriptor)


class _Host:
    """The process above those of the devices; what it started ends with it, and it ends with this one."""

    def __init__(self, descriptor: int):
        words = [sys.executable, "-P", "-m", "nodewise.pipelines.host", str(descriptor)]
        # a session of its own: Ctrl-C of the terminal is for this process alone
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            pass_fds=(descriptor,),
            start_new_session=True,
        )
        self._told = b""

    def begin(self, parts: list[dict[str, object]]) -> None:
        assert self._process.stdin is not None
        data = memoryview(json.dumps(parts).encode() + b"\n")
        while data:
            data = data[self._process.stdin.write(data) :]

    def ended(self, seconds: float) -> list[tuple[int, int]]:
        """Which have ended within some time, and their statuses. Raises ProgramError where the host itself has."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return []
        data = os.read(self._process.stdout.fileno(), 65536)
        if not data:
            raise ProgramError("the process above the devices was killed, and the pipeline with it", "run it again")
        *lines, self._told = (self._told + data).split(b"\n")
        pairs = (line.split() for line in lines)
        return [(int(number), int(status)) for number, status in pairs]

    def __enter__(self) -> _Host:
        return self

    def __exit__(self, *_: object) -> None:
        with deaf():
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process.wait()


class _Run:
    def __init__(
        self,
        plan: Plan,
        page: Page,
        watch: Watch,
        host: _Host,
        asked: list[float],
        names: list[Instance],
        show: Callable[[PipelineResult], None],
    ):
        self._plan, self._page, self._watch, self._host, self._asked = plan, page, watch, host, asked
        self._names, self._show = names, show
        self._statuses: dict[Instance, int] = {}
        self._shown = 0.0

    def run(self, duration: float | None, instances: list[int]) -> PipelineResult:
        for word, value, then in (
            (Word.BOUND, 1, Asked.CONNECT),
            (Word.STATE, State.READY, Asked.RUN),
        ):
            if (failed := self._await(instances, word, value)) is not None:
                return failed
            if then == Asked.RUN:
                self._watch.begin()
            self._page.words[ASKED] = then
        begin, ended = time.monotonic(), Ended.WHOLE
        while len(self._statuses) < len(self._names):
            over = duration is not None and time.monotonic() - begin >= duration
            if (over or self._asked) and self._page.words[ASKED] == Asked.RUN:
                ended = Ended.DRAINED if self._asked else Ended.DURATION
                self._page.words[ASKED] = Asked.DRAIN
            if (failed := self._look(_LOOK_S)) is not None:
                return failed
            self._watch.look()
            if time.monotonic() - self._shown >= _SHOW_S:
                self._show(self._watch.result(Ended.RUNNING))
                self._shown = time.monotonic()
        return self._watch.result(ended)

    def _await(self, instances: list[int], word: Word, value: int) -> PipelineResult | None:
        """Wait until all say so; what came of it where one fails before."""
        until = time.monotonic() + _START_S
        while not all(self._page.words[at + word] >= value for at in instances):
            if (failed := self._look(_LOOK_S / 10)) is not None:
                return failed
            if self._asked:
                raise KeyboardInterrupt
            if time.monotonic() > until:
                late = [
                    f"{name}.{number}"
                    for (name, number), at in zip(self._names, instances, strict=True)
                    if self._page.words[at + word] < value
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
        heard = {self._names[number]: status for number, status in self._host.ended(seconds)}
        self._statuses.update(heard)
        return any(heard.values())

    def _cause(self) -> str:
        """Why it failed: what the first to fail by itself says."""
        found = self._watch.result(Ended.FAILED, "", self._statuses)
        causes = []
        for device in found.devices:
            for one in device.instances:
                status = self._statuses.get((device.name, one.number), 0)
                if one.state == "failed":
                    causes.append(f"{device.name}.{one.number}: {one.problem or _status(status)}")
        others = len(causes) - 1
        return (causes[0] if causes else "a process was lost") + (f" (and {others} more)" if others > 0 else "")


def _status(status: int) -> str:
    if status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended with exit code {status}"


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
