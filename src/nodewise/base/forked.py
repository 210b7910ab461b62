# SPDX-License-Identifier: BSD-3-Clause
"""Pipes that say by their end that this process is gone: a process that is forked from it must not hold them open."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import IO, Any

_KEPT: weakref.WeakSet[IO[Any]] = weakref.WeakSet()


def not_inherited(*streams: IO[Any] | None) -> None:
    """Have the pipes led nowhere in every process that is forked from this one, as those of multiprocessing are, and of `os.fork`."""
    _KEPT.update(stream for stream in streams if stream is not None)


def _let_go() -> None:
    # not closed: whoever holds the stream closes its number, which may be another file's by then
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for stream in list(_KEPT):
            with suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno(), inheritable=False)
        os.close(nowhere)


os.register_at_fork(after_in_child=_let_go)
