# SPDX-License-Identifier: BSD-3-Clause
"""The end of a user's source: one that gives nothing for a while after the pipeline was asked to drain is interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

_Given = TypeVar("_Given")
#: How often it is looked whether the end is asked for, and how long a source that is busy then has to give one more, in seconds.
_LOOK_S, _GRACE_S = 0.05, 2.0


class _Over(BaseException):
    """Raised where the source is; no Exception, which user's code often catches."""


def until_drained(each: Iterator[_Given], draining: Callable[[], bool], grace_s: float = _GRACE_S) -> Iterator[_Given]:
    """What an iterator gives, until `draining`: one that then waits or works for longer than `grace_s` is interrupted, as by Ctrl-C.

    To be called in the main thread, which signals interrupt. Code that neither returns to Python nor lets a system call be
    interrupted goes on: the second Ctrl-C ends it.
    """
    within, over = False, threading.Event()

    def heard(number: int, frame: FrameType | None) -> None:
        if within:
            raise _Over

    def watch(main: int) -> None:
        while not draining():
            if over.wait(_LOOK_S):
                return
        while not over.wait(grace_s):
            signal.pthread_kill(main, signal.SIGUSR2)

    before = signal.signal(signal.SIGUSR2, heard)
    threading.Thread(target=watch, args=(threading.get_ident(),), daemon=True).start()
    try:
        while True:
            within = True
            try:
                one = next(each)
            except StopIteration:
                return
            finally:
                within = False
            yield one
            if draining():
                return
    except _Over:
        return
    finally:
        over.set()
        signal.signal(signal.SIGUSR2, before)
