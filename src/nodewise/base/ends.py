# SPDX-License-Identifier: BSD-3-Clause
"""Being asked to end: Ctrl-C, and what a batch system, a closing terminal or Ctrl-\\ send, are answered alike."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: The signals that ask for an end.
ENDS = (signal.SIGINT, *_LIKE_CTRL_C)
#: What comes within this time of another, in seconds, is the same request.
AT_ONCE_S = 0.1
#: How long what was measured has to be told in, once an end was asked for: who reads it may not read at all.
_TO_TELL_S = 5.0


class _Telling:
    """Whether an end that is asked for waits until the answer is told."""

    def __init__(self) -> None:
        self.free()

    def free(self) -> None:
        """From now on it ends at once."""
        self.answered: Callable[[], bool] = lambda: False
        self.asked = self.late = False

    def waits(self, number: int) -> bool:
        """Whether the end asked for by this signal waits. To be called where the signal is handled."""
        if self.late or not self.answered():
            return False
        if not self.asked:
            self.asked = True
            # of the threading module's own a handler may not start one: what it interrupts may hold the locks
            _thread.start_new_thread(self._hurry, (number, self.answered, threading.main_thread().ident or 0))
        return True

    def _hurry(self, number: int, answered: Callable[[], bool], main: int) -> None:
        time.sleep(_TO_TELL_S)
        if self.answered is answered:
            self.late = True
            # what waits in the kernel hears it, too
            signal.pthread_kill(main, number)


_telling = _Telling()
#: The signal by which this process was first asked to end; None as long as it was not.
_asked_by: int | None = None


def asked_to_end() -> bool:
    """Whether an end was asked for, of the command that runs: what it still says is not to be waited for long."""
    return _asked_by is not None


def asked_to_end_by() -> int | None:
    """The signal by which an end was asked for first, of the command that runs; None where it was not."""
    return _asked_by


def tell_first(answered: Callable[[], bool]) -> None:
    """An end that is asked for once there is an answer (`answered`, which a signal's handler calls) waits until `told`, five seconds at most."""
    _telling.free()
    _telling.answered = answered


def told() -> bool:
    """The answer is told, or never will be: from now on asking for an end ends at once. Whether it was asked for meanwhile."""
    asked = _telling.asked
    _telling.free()
    return asked


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """TERM, HUP and QUIT raise KeyboardInterrupt, as INT does, so that nothing is left behind. Ignored ones (nohup) stay so.

    What comes within a tenth of a second of another is the same request: a closing terminal and a batch system send
    several, and the second would break off what answers the first.
    """
    global _asked_by  # noqa: PLW0603 - a process has one end
    last = float("-inf")
    _asked_by = None
    hooked = missed = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        global _asked_by  # noqa: PLW0603
        nonlocal last, missed
        now = time.monotonic()
        _asked_by = number if _asked_by is None else _asked_by
        if hooked:
            # in the hook below it would be dropped once more
            missed = True
            return
        if now - last < AT_ONCE_S and not _telling.late:
            return
        last = now
        if not _telling.waits(number):
            raise KeyboardInterrupt

    def once_more(unraisable: sys.UnraisableHookArgs) -> None:
        nonlocal last, hooked, missed
        # it came where Python drops what is raised, as in the end of an object: a moment later it is heard, by a signal again,
        # which what waits in the kernel hears, too
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            dropped(unraisable)
            return
        last = float("-inf")
        number = [*before, signal.SIGINT][0]
        hooked = missed = True
        # a busy machine may take longer to start the thread than that one waits
        while missed:
            missed = False
            again = threading.Timer(0.01, signal.pthread_kill, (threading.main_thread().ident, number))
            again.daemon = True
            again.start()
        hooked = False

    before = {}
    dropped = sys.unraisablehook
    if threading.current_thread() is threading.main_thread():
        heard = [s for s in _LIKE_CTRL_C if signal.getsignal(s) != signal.SIG_IGN]
        heard += [s for s in (signal.SIGINT,) if signal.getsignal(s) is signal.default_int_handler]
        before = {s: signal.signal(s, interrupt) for s in heard}
        sys.unraisablehook = once_more
    try:
        yield
    finally:
        told()
        sys.unraisablehook = dropped
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def heard_later() -> Iterator[list[int]]:
    """Being asked to end is heard at the end of the block, for what is not to be left half made; the list says whether it was."""
    heard: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        asked = [s for s in ENDS if signal.getsignal(s) not in (signal.SIG_IGN, None)]
        before = {s: signal.signal(s, lambda number, frame: heard.append(number)) for s in asked}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])


@contextmanager
def deaf() -> Iterator[None]:
    """Asking once more changes nothing meanwhile: for what is done at an end, and must not be left half done."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {s: signal.signal(s, signal.SIG_IGN) for s in ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
