# SPDX-License-Identifier: BSD-3-Clause
"""The process above others (`nodewise.pipelines.host`), as seen from above it: what it started ends with it, and it ends with this one."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from nodewise.base.ends import deaf
from nodewise.base.errors import ProgramError
from nodewise.runner.proc_files import children_of


class Hosted:
    """A context manager; `tell` hands on what the processes print, line by line, where this process's standard error is not its descriptor."""

    def __init__(self, descriptor: int | None = None, tell: bool = True):
        kept = () if descriptor is None else (descriptor,)
        words = [sys.executable, "-P", "-m", "nodewise.pipelines.host", str(-1 if descriptor is None else descriptor)]
        # a session of its own: Ctrl-C of the terminal is for this process alone
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if tell else None,
            bufsize=0,
            pass_fds=kept,
            start_new_session=True,
        )
        self._told = b""
        self._teller: threading.Thread | None = None
        if self._process.stderr is not None:
            self._teller = threading.Thread(target=_hand_on, args=(self._process.stderr,), daemon=True)
            self._teller.start()

    def begin(self, parts: Sequence[dict[str, Any]]) -> None:
        """Start a process for each part: a device, or the `command` that it has."""
        assert self._process.stdin is not None
        data = memoryview(json.dumps(list(parts)).encode() + b"\n")
        while data:
            data = data[self._process.stdin.write(data) :]

    def fileno(self) -> int:
        """A descriptor that can be read where one has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def given_up(self) -> str:
        """Of what its processes started, one that has ended and that nobody asks for, in words; empty where there is none.

        So is left what a launcher connects to a node by, where it cannot, and the launcher waits all the same.
        """
        below = children_of(self._process.pid)
        while below:
            for pid in below:
                with suppress(OSError):
                    name, state, status = _left(pid)
                    if state == "Z":
                        return f"{name} {ended_by(os.waitstatus_to_exitcode(status))}"
            below = [child for pid in below for child in children_of(pid)]
        return ""

    def ended(self, seconds: float) -> list[tuple[int, int]]:
        """Which have ended within some time, and their statuses. Raises ProgramError where the host itself has."""
        if not select.select([self], [], [], seconds)[0]:
            return []
        data = os.read(self.fileno(), 65536)
        if not data:
            raise ProgramError("the process above the devices was killed, and the pipeline with it", "run it again")
        *lines, self._told = (self._told + data).split(b"\n")
        pairs = (line.split() for line in lines)
        return [(int(number), int(status)) for number, status in pairs]

    def __enter__(self) -> Hosted:
        return self

    def __exit__(self, *_: object) -> None:
        with deaf():
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.close()
            # whichever of the two is left has ended all once nobody has it open
            while self._process.stdout.read(65536):
                pass
            self._process.stdout.close()
            self._process.wait()
            if self._teller is not None:
                self._teller.join(1.0)


def _left(pid: int) -> tuple[str, str, int]:
    """The name, the state and, where it has ended, the status of a process. Raises OSError."""
    begin, _, rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")
    fields = rest.split()
    return begin.partition("(")[2], fields[0], int(fields[-1])


def ended_by(status: int) -> str:
    """How a process ended, in words."""
    if status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended with exit code {status}"


def _hand_on(stream: IO[bytes]) -> None:
    """Write what is read to standard error, by which secrets are masked and a terminal's other lines are left whole."""
    while line := stream.readline(65536):
        try:
            sys.stderr.write(line.decode(errors="replace"))
            sys.stderr.flush()
        except (OSError, ValueError):
            # nobody reads it any more: the processes are not to wait for that
            continue
