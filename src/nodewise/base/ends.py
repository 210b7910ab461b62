# SPDX-License-Identifier: BSD-3-Clause
"""Being asked to end: Ctrl-C, and what a batch system, a closing terminal or Ctrl-\\ send, are answered alike."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_AT_ONCE_S = 0.1


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """TERM, HUP and QUIT raise KeyboardInterrupt, as INT does, so that nothing is left behind. Ignored ones (nohup) stay so.

    What comes within a tenth of a second of another is the same request: a closing terminal and a batch system send
    several, and the second would break off what answers the first.
    """
    last = float("-inf")

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _AT_ONCE_S:
            return
        last = now
        raise KeyboardInterrupt

    def once_more(unraisable: sys.UnraisableHookArgs) -> None:
        nonlocal last
        # it came where Python drops what is raised, as in the end of an object: a moment later it is heard, by a signal again,
        # which what waits in the kernel hears, too
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            dropped(unraisable)
            return
        last = float("-inf")
        number = [*before, signal.SIGINT][0]
        again = threading.Timer(0.01, signal.pthread_kill, (threading.main_thread().ident, number))
        again.daemon = True
        again.start()

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
        sys.unraisablehook = dropped
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def heard_later() -> Iterator[list[int]]:
    """Being asked to end is heard at the end of the block, for what is not to be left half made; the list says whether it was."""
    heard: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        asked = [s for s in (signal.SIGINT, *_LIKE_CTRL_C) if signal.getsignal(s) not in (signal.SIG_IGN, None)]
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
        before = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, *_LIKE_CTRL_C)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
