# SPDX-License-Identifier: BSD-3-Clause
"""Processes beside the programs: services on sockets of their own, and a hog. None outlives this one, however it ends."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks._real.catalogue import Missing

_USER = "nobody"
_PATIENCE_S = 30.0


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary directory that belongs to the user whom services run as, short enough for a socket's path."""
    folder = Path(tempfile.mkdtemp(prefix="real-", dir="/tmp"))
    try:
        if os.getuid() == 0:
            account = pwd.getpwnam(_USER)
            os.chown(folder, account.pw_uid, account.pw_gid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged() -> list[str]:
    """What to put before a command so that it never runs as root, and ends when this process does."""
    if os.getuid() != 0:
        return ["setpriv", "--pdeathsig", "KILL"]
    account = pwd.getpwnam(_USER)
    return [
        "setpriv",
        f"--reuid={account.pw_uid}",
        f"--regid={account.pw_gid}",
        "--clear-groups",
        "--pdeathsig",
        "KILL",
    ]


@contextlib.contextmanager
def running(
    command: Sequence[str], folder: Path, ready: Callable[[], bool], end: int = signal.SIGTERM
) -> Iterator[None]:
    """A service in the foreground, in a session of its own, from when `ready` says so until it is told to end by `end`.

    Raises Missing where it ends before, or is not ready in time.
    """
    log = folder / "service.log"
    with log.open("ab") as out:
        child = subprocess.Popen(
            [*unprivileged(), *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        begin = time.monotonic()
        while not ready():
            if child.poll() is not None or time.monotonic() - begin > _PATIENCE_S:
                said = " / ".join(log.read_text(errors="replace").strip().splitlines()[-3:])
                raise Missing(f"{Path(command[0]).name} does not start: {said}")
            time.sleep(0.05)
        yield
    finally:
        _end(child, end)


@contextlib.contextmanager
def hog() -> Iterator[None]:
    """Someone else's work: half of the processors, at least one, kept busy at equal priority from another session."""
    children = [
        subprocess.Popen([*unprivileged(), "sh", "-c", "while :; do :; done"], cwd="/", start_new_session=True)
        for _ in range(max(1, len(os.sched_getaffinity(0)) // 2))
    ]
    try:
        time.sleep(1.0)
        yield
    finally:
        for child in children:
            _end(child, signal.SIGKILL)


def _end(child: subprocess.Popen[bytes], how: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, how)
    try:
        child.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
