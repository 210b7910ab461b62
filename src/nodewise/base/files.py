# SPDX-License-Identifier: BSD-3-Clause
"""Files written whole or not at all, and what is reported of those that cannot be written."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from nodewise.base.errors import InputError, StoreError
from nodewise.base.escaping import SHOWN
from nodewise.base.late import late

#: In bytes: less than this is no room for what programs record.
_ROOM = 1 << 16
#: The name of a file that is being written, with the process that writes it.
_PART = late(r"\..+\.(?P<pid>\d+)\.part")

#: What helps where the directory was chosen by --out.
_DIRECTORY = late(
    r"choose (another|a) (?:directory|one) (?:(that you may write to|on a writable filesystem) )?with --out"
)


def store_error(path: Path, problem: OSError, named: bool = False) -> StoreError:
    """What is reported of a file or a directory that cannot be written, with what helps; of a file that was `named` for itself another name does."""
    hints = {
        errno.ENOSPC: "free some space, or choose another directory with --out; what was written so far is kept",
        errno.EDQUOT: "the quota is used up: free some space, or choose another directory with --out",
        errno.EFBIG: "a file size limit (ulimit -f) is in force: raise it, or choose another directory with --out",
        errno.EACCES: "choose a directory that you may write to with --out",
        errno.EPERM: "choose a directory that you may write to with --out",
        errno.EROFS: "choose a directory on a writable filesystem with --out",
        errno.ENOTDIR: "a part of that path is a file: choose another directory with --out",
        errno.ENOENT: "the directory that it is to be in is not there: make it first",
        errno.EEXIST: "there is a file of that name: choose another directory with --out",
    }
    hint = hints.get(problem.errno or 0)
    if problem.errno == errno.ENOENT and path.parent.is_dir():
        hint = "nothing can be made in that directory: choose another one with --out"
    if hint is not None and named:
        hint = _DIRECTORY.sub("name another file", hint).removesuffix("; what was written so far is kept")
    return StoreError(f"cannot write {path}: {problem.strerror or problem}", hint)


def no_room(folder: Path) -> StoreError | None:
    """Why nothing of some size can be written into a folder; None where it can."""
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * _ROOM)
            file.flush()
    except OSError as problem:
        return store_error(folder, problem)
    return None


def make_directory(path: Path) -> None:
    """Make a directory, and those above it, where they are missing. Raises StoreError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise store_error(path, problem) from problem


@contextlib.contextmanager
def alone_in(folder: Path, what: str, hint: str) -> Iterator[None]:
    """No other process comes here with this folder meanwhile. Raises InputError, which says `what` and `hint`, where one has; StoreError."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        raise store_error(folder, problem) from problem
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise InputError(what, hint) from problem
        yield
    finally:
        os.close(file)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a kill, sees the old one or the new one and nothing between. Raises StoreError.

    A link is followed, since whoever names a file means it; one that is replaced keeps who may read it.
    """
    data = content.encode(errors=SHOWN) if isinstance(content, str) else content
    try:
        # a device or a pipe is written to, never replaced; what /dev/fd names may have no other path
        if path.exists() and not path.is_file():
            _write_through(path, data)
            return
        # of a link it is what it leads to
        path = path.resolve()
    except (OSError, RuntimeError) as problem:
        reason = problem if isinstance(problem, OSError) else OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        raise store_error(path, reason, named=True) from problem
    _replace(path, data, named=True)


def write_within(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file of a folder that others may have filled: a link of that name is replaced, never followed. Raises StoreError."""
    _replace(folder / name, content.encode(errors=SHOWN) if isinstance(content, str) else content)
    return folder / name


def remove_left_parts(folder: Path) -> None:
    """Remove what a kill left in a folder of files that were being written; those of living processes stay."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            left = _PART.fullmatch(path.name)
            if left and not path.is_dir() and not Path("/proc", left["pid"]).exists():
                with contextlib.suppress(OSError):
                    path.unlink()


def _replace(path: Path, data: bytes, named: bool = False) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            # of a link it is nobody's
            with contextlib.suppress(FileNotFoundError):
                old = path.lstat()
                if stat.S_ISREG(old.st_mode):
                    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(problem, OSError):
            raise store_error(path, problem, named) from problem
        raise


def _write_through(path: Path, data: bytes) -> None:
    """Write to what is there and no regular file. Raises OSError, also for a pipe that nobody reads."""
    file = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.set_blocking(file, True)
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)
