# SPDX-License-Identifier: BSD-3-Clause
"""The processes above those of the devices: one starts them, tells of their ends, and ends all of them once the one above it is gone.

That one is a second one, which does nothing but end what is left where the first is killed.

`python -m nodewise.pipelines.host DESCRIPTOR`: one line of JSON on standard input has their parts. Standard input stays open for as
long as they may live; on standard output there is a line for each that ended: its number and status. A part that has a `command` is that, and no device.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nodewise.pipelines.leftovers import remove_left_in_shared_memory
from nodewise.runner.guarded import adopt, end_all

_PR_SET_PDEATHSIG = 1
_DEAF = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)


def main() -> None:
    """Start the devices, and stay until nobody is above."""
    descriptor = int(sys.argv[1])
    for number in _DEAF:
        # a handler, unlike what is ignored, is not handed on to a launcher, which ends its ranks by them
        signal.signal(number, lambda *_: None)
    # what a device's own children leave behind comes here, and is ended, too; what this one leaves, to the one above
    adopt(True)
    above = os.getpid()
    if child := os.fork():
        os.close(0)
        os.close(1)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
        _end()
    adopt(True)
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(ended, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    # it is woken where the one above is killed, and ends what it started
    signal.signal(signal.SIGUSR1, lambda *_: None)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)
    numbers: dict[int, int] = {}
    try:
        parts = json.loads(sys.stdin.buffer.readline())
        kept = []
        for place, part in enumerate(parts):
            if "command" in part:
                kept.append(process := _started(part))
                numbers[process.pid] = place
            else:
                numbers[_forked(part, descriptor, (ended, wake))] = place
        _tell(numbers)
        while os.getppid() == above:
            ready, _, _ = select.select([0, ended], [], [])
            if 0 in ready and not os.read(0, 4096):
                return
            if ended in ready:
                os.read(ended, 4096)
                _tell(numbers)
    except BrokenPipeError:
        return
    finally:
        _end()


def _end() -> None:
    end_all(0.0)
    remove_left_in_shared_memory()
    os._exit(0)


def _started(part: dict[str, Any]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        part["command"],
        env={**os.environ, **part["environment"]},
        stdin=subprocess.DEVNULL,
        stdout=2,
        process_group=0,
    )


def _forked(part: dict[str, Any], descriptor: int, own: Sequence[int]) -> int:
    """The process of a device, which has all modules from here: to load them anew takes ten times as long."""
    from nodewise.pipelines import device

    # what is there by now stays where it is: memory that nobody writes to is one for all
    gc.freeze()
    above = os.getpid()
    if pid := os.fork():
        return pid
    try:
        signal.set_wakeup_fd(-1)
        for deaf in (signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(deaf, signal.SIG_DFL)
        for file in own:
            os.close(file)
        device.begin(part, descriptor, above)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # nothing of this one is done twice
        os._exit(1)


def _tell(numbers: dict[int, int]) -> None:
    """Say which have ended, and how."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        if pid in numbers:
            os.write(1, f"{numbers.pop(pid)} {os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
