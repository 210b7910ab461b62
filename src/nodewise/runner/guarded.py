# SPDX-License-Identifier: BSD-3-Clause
"""A program that is watched from outside, with a guard above it: where this process ends, however it does, so does the program.

The program keeps the terminal, the streams and the group of processes of this one, as if the shell had started it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from nodewise.base.errors import InputError, ProgramError
from nodewise.runner.proc_files import children_of, read_stat

_PR_SET_CHILD_SUBREAPER = 36
#: The number of the program's process and 0, or 0 and the error of its start; then its status and 0. Between them the number
#: of each signal that the guard hears, and 1.
_MESSAGE = struct.Struct("<ii")
#: How long what is asked to end has to do so.
_GRACE_S = 0.5
_INSIST_S = 5.0
#: How long after a signal it is known whether the whole group of processes was sent it.
_TOGETHER_S = 0.1
_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


class Guarded:
    """A running program; a context manager, which ends what is left of it where it is left early.

    `pid` is its process, `guard` that of the guard, to which whatever outlives its parent meanwhile is handed.
    """

    def __init__(self, words: Sequence[str], program: str):
        """Start the file `program`. Raises OSError where the system refuses."""
        self._asked: list[tuple[int, float]] = []
        self._heard: list[int] = []
        self._rest = False
        #: What outlived it and goes on, by its process and name, once it was closed.
        self.left: dict[int, str] = {}
        alive, self._alive = os.pipe()
        self._reports, report = os.pipe()
        adopt(True)
        self.guard = os.fork()
        if self.guard == 0:
            os.close(self._alive)
            os.close(self._reports)
            _stand_guard(words, program, alive, report)
        os.close(alive)
        os.close(report)
        self._status: int | None = None
        message = self._message()
        self.pid, error = message or (0, 0)
        if not self.pid:
            if message is None:
                # the program may run by now, and nobody else would end it
                end_all(0.0)
            self.close()
            if message is None:
                raise _lost(words)
            raise OSError(error, os.strerror(error))
        self._words = words

    def wait(self, seconds: float | None = None) -> int | None:
        """Its status (a signal's number is negative) once it has ended; None where it has not within that many seconds.

        Raises ProgramError where it was ended because its guard was.
        """
        while self._status is None and select.select([self._reports], [], [], seconds)[0]:
            message = self._message()
            if message is None:
                end_all(0.0)
                raise _lost(self._words)
            if message[1]:
                self._heard.append(message[0])
            else:
                self._status = message[0]
        self._pass_on()
        return self._status

    def signalled(self, number: int) -> None:
        """This process was sent a signal: the program is sent it, too, unless all of the group were, as by a terminal."""
        self._asked.append((number, time.monotonic()))

    def _pass_on(self) -> None:
        for number, at in [one for one in self._asked if time.monotonic() - one[1] >= _TOGETHER_S]:
            self._asked.remove((number, at))
            if number in self._heard:
                self._heard.remove(number)
            elif self._status is None:
                _send(self.pid, number)

    def end_rest(self) -> None:
        """What outlives the program is ended with it: it did not end by itself, and nobody else knows of what it started."""
        self._rest = True

    def close(self) -> None:
        """End it where it runs; what outlived it goes on, unless `end_rest` was called."""
        os.close(self._alive)
        os.close(self._reports)
        with suppress(ChildProcessError):
            os.waitpid(self.guard, 0)
        if self._rest:
            end_all(_GRACE_S)
        else:
            for pid in children_of(os.getpid()):
                # it may end meanwhile
                with suppress(OSError, InputError):
                    stat = read_stat(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
                    if stat.state not in "ZX":
                        self.left[pid] = stat.name
        adopt(False)

    def _message(self) -> tuple[int, int] | None:
        data = os.read(self._reports, _MESSAGE.size)
        return _MESSAGE.unpack(data) if len(data) == _MESSAGE.size else None

    def __enter__(self) -> Guarded:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _lost(words: Sequence[str]) -> ProgramError:
    return ProgramError(f"{words[0]} was ended: the guard above it was killed", "run again")


def adopt(does: bool) -> None:
    """Whether what outlives its parent becomes a child of this process."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(does), 0, 0, 0)


def _stand_guard(words: Sequence[str], program: str, alive: int, report: int) -> NoReturn:
    """The guard's whole life: start the program, and wait for its end or for that of the process above."""
    try:
        # what the terminal says is for the program; a handler, unlike what is ignored, is not handed on to it
        for number in _TERMINAL:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        adopt(True)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        ended, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            # kept, since one that nobody holds takes away its process once that has ended
            child = subprocess.Popen(words, executable=program)
        except OSError as problem:
            os.write(report, _MESSAGE.pack(0, problem.errno or 1))
            os._exit(1)
        pid = child.pid
        os.write(report, _MESSAGE.pack(pid, 0))
        status = None
        while status is None:
            ready, _, _ = select.select([alive, ended], [], [])
            if alive in ready:
                end_all(_GRACE_S)
                break
            for heard in os.read(ended, 4096):
                if heard in _TERMINAL:
                    os.write(report, _MESSAGE.pack(heard, 1))
            status = _ended(pid)
            if status is None:
                status = _reaped(pid)
        if status is not None:
            os.write(report, _MESSAGE.pack(status, 0))
            # whoever looks at it finds it, however soon it ended, until nobody wants to
            select.select([alive], [], [])
    finally:
        # nothing of the process above is flushed or cleaned up twice
        os._exit(0)


def _ended(pid: int) -> int | None:
    """The status of a child that has ended, which stays there to be looked at."""
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def _reaped(wanted: int) -> int | None:
    """Take away all children that have ended; the status of the one that is `wanted`, if it was among them."""
    status = None
    while True:
        try:
            pid, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if not pid:
            return status
        if pid == wanted:
            status = os.waitstatus_to_exitcode(code)


def end_all(grace_s: float) -> None:
    """Ask all children to end, and insist after `grace_s` seconds; theirs become ours in their turn.

    Those of other users cannot be ended, and are not waited for.
    """
    until = time.monotonic() + grace_s
    asked: set[int] = set()
    while True:
        _reaped(0)
        left = children_of(os.getpid())
        insist = time.monotonic() >= until
        if not left or time.monotonic() >= until + _INSIST_S:
            return
        for pid in left:
            if insist or pid not in asked:
                _send(pid, signal.SIGKILL if insist else signal.SIGTERM)
                # a stopped one has to be woken to hear it
                _send(pid, signal.SIGCONT)
        asked.update(left)
        time.sleep(0.002)


def _send(pid: int, number: int) -> None:
    # it may have ended, or have become another user's
    with suppress(OSError):
        os.kill(pid, number)
