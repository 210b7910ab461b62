# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours: experiments that run on one machine at the same time notice each other.

Each keeps a file, locked for as long as it runs, in a folder that all users of the machine share. The file of one that has
ended, or was killed, stays for those that were there meanwhile and have not looked yet; it goes once there are none of these.
Where the folder cannot be had nobody is noticed.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import math
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from nodewise.base.bounded_json import parse_json
from nodewise.base.shapes import fit
from nodewise.records.sample_lines import Neighbour

_NAME = "nodewise-running"
_TURN = "turn"
#: How often who waits looks.
_EVERY_S = 0.2
_LONGEST = 1 << 16
#: The most files that are looked at: more are not from experiments, and must not cost one its time.
_MOST = 256
#: How far a file's time may lie ahead of the clock's.
_APART_S = 1.0


class Running:
    """One experiment's presence on this machine, from `enter` to `leave`."""

    def __init__(self, kind: str, directory: Path, folder: Path | None = None):
        """`folder` is the shared one, None for that of the machine."""
        self._folder = folder or shared_folder()
        self._own = Neighbour(os.getpid(), user_name(), kind, str(directory.absolute()))
        self._file = -1
        self._name = ""
        self._since = math.inf

    def enter(self) -> None:
        """Be there for others. Never fails: who cannot be seen is not."""
        with contextlib.suppress(OSError):
            _make(self._folder)
            if not _can_be_trusted(self._folder):
                return
            # a name of its own for each, also of one process
            self._file, self._name = tempfile.mkstemp(prefix=f"{os.getpid()}-", dir=self._folder)
            Path(self._name).write_text(json.dumps(asdict(self._own)))
            fcntl.flock(self._file, fcntl.LOCK_EX)
            os.fchmod(self._file, 0o644)
            self._since = os.fstat(self._file).st_mtime
            _clear(self._folder)

    def leave(self) -> None:
        """Be there no longer."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.utime(self._file)
                # where nobody else is there nobody can have met it
                if {path.name for path in islice(self._folder.iterdir(), _MOST)} <= {Path(self._name).name, _TURN}:
                    Path(self._name).unlink()
            os.close(self._file)
            self._file = -1
            _clear(self._folder)

    def others(self) -> list[Neighbour]:
        """Those that are there now besides, or were since this one is. Never fails."""
        return neighbours(self._folder, Path(self._name).name, self._since)


def neighbours(folder: Path | None = None, own: str = "", since: float = math.inf) -> list[Neighbour]:
    """The experiments that run on this machine now, or were there after `since`, in seconds since 1970.

    But for the one whose file is `own`. Never fails.
    """
    folder = folder or shared_folder()
    found: list[Neighbour] = []
    with contextlib.suppress(OSError):
        if not _can_be_trusted(folder):
            return []
        paths = [path for path in sorted(islice(folder.iterdir(), _MOST)) if path.name not in (own, _TURN)]
        found = [one for path in paths if (one := _read(path, since)) is not None]
    return found


def _read(path: Path, since: float) -> Neighbour | None:
    """Whose file it is; None where nobody keeps it and it is from before `since`."""
    with contextlib.suppress(OSError, ValueError), _opened(path) as file:
        # a clock that was set back leaves times that are still to come
        if _locked(file) or since < os.fstat(file).st_mtime <= time.time() + _APART_S:
            found: Neighbour = fit(parse_json(os.read(file, _LONGEST)), Neighbour)
            return found
    return None


def _clear(folder: Path) -> None:
    """Take away files of those that have ended, which nobody that is there can have met; others' stay for them to do so."""
    ended, oldest = {}, time.time()
    with contextlib.suppress(OSError):
        for path in islice(folder.iterdir(), _MOST):
            with contextlib.suppress(OSError), _opened(path) as file:
                state = os.fstat(file)
                if path.name != _TURN and stat.S_ISREG(state.st_mode):
                    if _locked(file):
                        oldest = min(oldest, state.st_mtime)
                    else:
                        ended[path] = state.st_mtime
    for path, last in ended.items():
        # another one may just have made its file, and not locked it yet
        if last < min(oldest, time.time() - 1) or last > time.time() + _APART_S:
            with contextlib.suppress(OSError):
                path.unlink()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


@contextlib.contextmanager
def turn(notify: Callable[[str], None], folder: Path | None = None) -> Iterator[None]:
    """Wait until no other experiment runs here, each in its turn where several wait so; `notify` is called once with each."""
    folder = folder or shared_folder()
    file = _open_turn(folder)
    notified: set[str] = set()

    def wait_for(who: str) -> None:
        if who not in notified:
            notified.add(who)
            notify(who)
        time.sleep(_EVERY_S)

    try:
        while file >= 0:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                wait_for("another experiment that waits, or waited, for its turn")
        while others := neighbours(folder):
            wait_for(str(others[0]))
        yield
    finally:
        if file >= 0:
            os.close(file)


def _open_turn(folder: Path) -> int:
    """The file that a waiting process locks; -1 where there cannot be one."""
    with contextlib.suppress(OSError):
        _make(folder)
        path = folder / _TURN
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            if stat.S_ISREG(os.fstat(file).st_mode):
                return file
            os.close(file)
            return -1
        except FileNotFoundError:
            file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            os.fchmod(file, 0o644)
            return file
    return -1


def shared_folder() -> Path:
    """The folder of this machine, whoever's: in memory, which no other machine has a part in."""
    memory = Path("/dev/shm")
    return (memory if memory.is_dir() else Path("/tmp")) / _NAME


def _make(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        # whatever mask new files have, others need to put theirs there
        folder.chmod(0o1777)


def _can_be_trusted(folder: Path) -> bool:
    """Whether it is a folder and no link to one, in which others can take away nobody's file but their own."""
    state = folder.lstat()
    return stat.S_ISDIR(state.st_mode) and (bool(state.st_mode & stat.S_ISVTX) or not state.st_mode & 0o022)


def user_name() -> str:
    """Who runs this process: the name, the number where it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
