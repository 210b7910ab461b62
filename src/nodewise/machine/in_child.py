# SPDX-License-Identifier: BSD-3-Clause
"""Work done in a child process: what crashes there, or does not end, crashes and stays there."""

from __future__ import annotations

import faulthandler
import os
import resource
import select
import signal
import time
import warnings
from collections.abc import Callable
from typing import NoReturn, TypeVar

_Made = TypeVar("_Made")


class ChildError(Exception):
    """The child ended without an answer; the text says how."""


def in_child(work: Callable[[], _Made], limit_s: float = 60.0) -> _Made:
    """What `work` returns, made by a copy of this process; an exception of its own is raised here again.

    Raises ChildError where the copy dies or takes longer than `limit_s` seconds.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        # other threads are not copied, and the work needs none of them
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(read)
        # its crash is reported by its parent: no traceback, no core
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _answer(work, write)
    os.close(write)
    try:
        data = _received(read, time.monotonic() + limit_s)
    finally:
        os.close(read)
        if not (ended := os.waitpid(child, os.WNOHANG))[0]:
            # it has said what it had to say, or is not to say it any more
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
    if data is None:
        raise ChildError(f"reading it did not end in {limit_s:g} s")
    if not data:
        code = os.waitstatus_to_exitcode(ended[1])
        raise ChildError(
            f"reading it crashed ({signal.Signals(-code).name})" if code < 0 else f"reading it ended with code {code}"
        )
    import pickle

    good, made = pickle.loads(data)
    if not good:
        raise made
    result: _Made = made
    return result


def _answer(work: Callable[[], _Made], write: int) -> NoReturn:
    import pickle

    code = 1
    try:
        try:
            data = pickle.dumps((True, work()))
        except Exception as problem:
            data = pickle.dumps((False, problem))
        with os.fdopen(write, "wb") as file:
            file.write(data)
        code = 0
    finally:
        # nothing of this process's is flushed or cleaned up twice
        os._exit(code)


def _received(read: int, until: float) -> bytes | None:
    """All that the child sends; None where it has not ended by then."""
    parts: list[bytes] = []
    while select.select([read], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(read, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None
