# SPDX-License-Identifier: BSD-3-Clause
"""The standard streams: open, whatever they were given as, and written to as a command that measures has to."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nodewise.base.ends import asked_to_end
from nodewise.base.escaping import SHOWN

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: Nobody hears what is written, or there is no room for it.
_UNHEARD = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


#: How long whoever reads may take no more, once an end was asked for, in seconds.
_LAST_S = 2.0


class _Patient(io.FileIO):
    """Waits where a program that was run has left the stream, which it shares, as one that does not; and not for long at the end."""

    _given_up = False

    def write(self, data: ReadableBuffer, /) -> int:
        """See `io.RawIOBase.write`."""
        if asked_to_end():
            # a pipe that is said to have room has it for this much
            return len(memoryview(data)) if self._is_stuck() else self._written(memoryview(data)[: select.PIPE_BUF])
        return self._written(data)

    def _is_stuck(self) -> bool:
        waiting = select.poll()
        waiting.register(self.fileno(), select.POLLOUT)
        self._given_up = self._given_up or not waiting.poll(_LAST_S * 1000)
        return self._given_up

    def _written(self, data: ReadableBuffer) -> int:
        written: int | None = super().write(data)
        if written is None:
            os.set_blocking(self.fileno(), True)
            return super().write(data)
        return written


class _Unheard(_Patient):
    """Loses what cannot be written: the progress and the notes are not worth a measurement that goes on."""

    def write(self, data: ReadableBuffer, /) -> int:
        """See `io.RawIOBase.write`."""
        try:
            return super().write(data)
        except OSError as problem:
            if problem.errno not in _UNHEARD:
                raise
            return len(memoryview(data))


def open_standard_streams() -> None:
    """Where one is closed, nothing is read from it and what is written to it is lost; no other file may take its number.

    What is written to standard error and not read is lost as well, and a character that its encoding lacks is written out.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # the lowest number that is free
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115 - for good
    for name, raw in (("stdout", _Patient), ("stderr", _Unheard)):
        stream: IO[str] = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            if stream is getattr(sys, f"__{name}__"):
                stream.flush()
                setattr(sys, name, _over(raw(stream.fileno(), "w", closefd=False), stream))
            getattr(sys, name).reconfigure(errors=SHOWN)


def _over(raw: io.FileIO, stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """A stream of texts that is as another one, but for what it is written by."""
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        stream.encoding,
        stream.errors,
        # what PYTHONUNBUFFERED asks for has no buffer of its own here, so that lines are not to stay in this one
        line_buffering=stream.line_buffering or stream.write_through,
        write_through=stream.write_through,
    )
