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
from dataclasses import dataclass
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
    """A service in the foreground, out of Ctrl-C's way, from when `ready` says so until it is told to end by `end`.

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
            process_group=0,
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
        for child in children:
            _give_our_share(child.pid)
        time.sleep(1.0)
        yield
    finally:
        for child in children:
            _end(child, signal.SIGKILL)


def _give_our_share(process: int) -> None:
    """Give another session the weight that ours has, where the kernel weighs sessions (`sched(7)`, autogroups)."""
    with contextlib.suppress(OSError, IndexError):
        ours = Path("/proc/self/autogroup").read_text().split()[-1]
        Path(f"/proc/{process}/autogroup").write_text(ours)


@dataclass
class Bystanders:
    """What others took of the processors while the block ran: `share` of their time, known when it is over.

    Others are all that is not this process or a child that has ended by then, such as a service's processes.
    """

    share: float = 0.0

    def __enter__(self) -> Bystanders:
        self._before = self._now()
        return self

    def __exit__(self, *ended: object) -> None:
        wall, busy, own = (now - then for now, then in zip(self._now(), self._before, strict=True))
        self.share = max(0.0, busy - own) / (wall * (os.cpu_count() or 1))

    @staticmethod
    def _now() -> tuple[float, float, float]:
        # user, nice, system, (idle, wait,) irq, softirq, steal: proc(5)
        ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        own = os.times()
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
        return own.elapsed, busy, own.user + own.system + own.children_user + own.children_system


def _end(child: subprocess.Popen[bytes], how: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, how)
    try:
        child.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
