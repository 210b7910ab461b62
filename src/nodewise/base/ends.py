# SPDX-License-Identifier: BSD-3-Clause
"""Being asked to end: Ctrl-C, and what a batch system, a closing terminal or Ctrl-\\ send, are answered alike."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """TERM, HUP and QUIT raise KeyboardInterrupt, as INT does, so that nothing is left behind. Ignored ones (nohup) stay so."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def once_more(unraisable: sys.UnraisableHookArgs) -> None:
        # it came where Python drops what is raised, as in the end of an object: a moment later it is heard, by a signal again,
        # which what waits in the kernel hears, too
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            dropped(unraisable)
            return
        number = [*before, signal.SIGINT][0]
        again = threading.Timer(0.01, signal.pthread_kill, (threading.main_thread().ident, number))
        again.daemon = True
        again.start()

    before = {}
    dropped = sys.unraisablehook
    if threading.current_thread() is threading.main_thread():
        heard = [s for s in _LIKE_CTRL_C if signal.getsignal(s) != signal.SIG_IGN]
        before = {s: signal.signal(s, interrupt) for s in heard}
        sys.unraisablehook = once_more
    try:
        yield
    finally:
        sys.unraisablehook = dropped
        for number, handler in before.items():
            signal.signal(number, handler)


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
