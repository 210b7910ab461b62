# SPDX-License-Identifier: BSD-3-Clause
"""Running a starter and hearing it: its lines as they come, its last words and how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

_LONGEST_LINE = 4096
#: How long, in seconds, lines of a starter that has ended are waited for: what it has left running may hold its output open for ever
#: (ssh's ControlPersist does).
_HELD_OPEN_S = 1.0


class _Running(asyncio.SubprocessProtocol):
    """Takes in what a process prints. `lines` has its lines as they come, of one that is longer than any of ours the beginning;
    None is the end."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.ended = asyncio.Event()
        self._kept = {1: b"", 2: b""}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *whole, kept = (self._kept[fd] + data).split(b"\n")
        for line in whole:
            self._put(line)
        self._kept[fd] = kept[:_LONGEST_LINE]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd in self._kept and (kept := self._kept.pop(fd)):
            self._put(kept)
        if not self._kept:
            self.lines.put_nowait(None)

    def process_exited(self) -> None:
        self.ended.set()
        asyncio.get_running_loop().call_later(_HELD_OPEN_S, self.lines.put_nowait, None)

    def _put(self, line: bytes) -> None:
        self.lines.put_nowait(line[:_LONGEST_LINE].decode(errors="replace"))


async def heard(
    command: Sequence[str], limit_s: float, hear: Callable[[str], bool], environment: Mapping[str, str]
) -> tuple[str, int | None]:
    """Run a starter and take in what it prints: its last words and its exit code, or None where it did not end in time.

    `hear` takes a line, and says whether it is of words. Raises OSError where it cannot be started, and what `hear` raises.
    """
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            _Running, *command, stdin=asyncio.subprocess.DEVNULL, env=environment, start_new_session=True
        )
    )
    try:
        # taken back half-way, it would wait for ever for pipes that are not there yet
        transport, running = await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _ended(*await starting)
        raise
    last = ""
    try:
        async with asyncio.timeout(limit_s):
            while (line := await running.lines.get()) is not None:
                if hear(line) and line.strip():
                    last = " ".join(line.split())
            await running.ended.wait()
            return last, transport.get_returncode()
    except TimeoutError:
        return last, None
    finally:
        await _ended(transport, running)


async def _ended(transport: asyncio.SubprocessTransport, running: _Running) -> None:
    """End a starter that still runs, with all that it started here: srun and mpirun end what they have on nodes when they are asked to.

    What it has left in its own session ends behind it; ssh's ControlPersist has another one.
    """
    try:
        if transport.get_returncode() is None:
            with suppress(ProcessLookupError):
                os.killpg(transport.get_pid(), signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(running.ended.wait(), 3.0)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
        await running.ended.wait()
    finally:
        # pipes that are held open outlive the loop else
        transport.close()
