# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of a user's own on what programs print: one that would take for ever is stopped, and named."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

#: Some megabytes are searched in a fraction of this; what takes longer doubles with each further character.
LIMIT_S = 5.0
_Found = TypeVar("_Found")


class PatternError(Exception):
    """A pattern took too long; the text names it and says how to mend it."""


class _ExpiredError(Exception):
    pass


def limited(pattern: re.Pattern[str], search: Callable[[], _Found], limit_s: float = LIMIT_S) -> _Found:
    """What a search for a pattern finds. Raises PatternError where it takes more than `limit_s` seconds.

    Python's engine heeds signals while it matches, so a timer ends it; in the main thread, which alone can have one.
    """
    if threading.current_thread() is not threading.main_thread():
        return search()
    running = True

    def expire(number: int, frame: FrameType | None) -> None:
        if running:
            raise _ExpiredError

    before = signal.signal(signal.SIGALRM, expire)
    left, interval = signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        return search()
    except _ExpiredError:
        raise PatternError(
            f"the pattern {pattern.pattern!r} took more than {limit_s:g} s on the output: it tries the same text in too many "
            "ways, as repetitions inside repetitions do"
        ) from None
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, before)
