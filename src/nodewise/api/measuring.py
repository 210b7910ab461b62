# SPDX-License-Identifier: BSD-3-Clause
"""What holds while anything is measured, whoever asked: whose turn it is, waiting for quiet, the launcher, the folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from nodewise.api.caller import Notify
from nodewise.api.given import StrPath
from nodewise.base.errors import InputError, NodewiseError
from nodewise.base.note import Note
from nodewise.base.units import format_seconds
from nodewise.isolation.launcher import IsolatedLauncher
from nodewise.records.neighbours import turn
from nodewise.runner.commands import will
from nodewise.runner.launcher import RunOptions

#: What is told to who removes a folder where this process is killed, in place of a group of processes to be ended; and what that does.
_KEEP = "keep"
_UNLESS_KEPT = f'[ "${{group:-}}" = {_KEEP} ] || rm -rf -- "$1"'


@contextmanager
def launcher_for(
    options: RunOptions, environment: Mapping[str, str], note: Notify, wait: bool = False
) -> Iterator[IsolatedLauncher]:
    """What starts programs, which inherit `environment`; at the end all that it started has ended.

    With `wait` it begins once no other experiment runs on this machine; `note` is called with whom it waits for.
    """
    waiting = turn(lambda who: note(Note("waiting", who))) if wait else nullcontext()
    with waiting, closing(IsolatedLauncher(options, environment)) as launcher:
        yield launcher


def quiet_wait(limit_s: float | None, processors: Iterable[int], note: Notify) -> Callable[[], None]:
    """What to do before each block: wait until these processors are quiet, at most `limit_s` seconds (None: do not).

    Where that failed `note` is called, and it is not tried again: the machine stays as it is.
    """
    if limit_s is None:
        return lambda: None
    from nodewise.machine.quiet_wait import wait_until_quiet

    wanted = tuple(processors)
    left = [limit_s]

    def wait() -> None:
        if not left:
            return
        waited = wait_until_quiet(left[0], wanted)
        if not waited.quiet:
            left.clear()
            spent = format_seconds(waited.seconds)
            note(Note("warning", f"the machine was not quiet in {spent}: {waited.reason}; going on as it is"))

    return wait


@contextmanager
def kept(out: StrPath | None, resume: bool, kind: str, *, named: bool = True) -> Iterator[Path]:
    """The experiment's folder, by its whole path: the one that was asked for, or a new one among the system's temporary ones.

    One that was made here goes where it stays empty, and where it holds an answer that does not name it (`named`), for which nobody would
    look once this process is killed: then it goes, too. An error says where the runs are, if there are any. Raises InputError for `resume` without a folder.
    """
    if resume and out is None:
        raise InputError("resume goes on with what a folder holds, and none is given", "name it by out")
    folder = Path(tempfile.mkdtemp(prefix=f"nodewise-{kind}-")) if out is None else Path(out).absolute()
    passing = out is None and not named
    try:
        with will(_UNLESS_KEPT, str(folder)) if passing else nullcontext(lambda _: None) as follow:
            try:
                yield folder
            except BaseException:
                follow(_KEEP)
                raise
            if passing:
                shutil.rmtree(folder, ignore_errors=True)
    except NodewiseError as problem:
        with suppress(OSError):
            if not problem.of_caller and (folder / "samples.jsonl").stat().st_size and str(folder) not in str(problem):
                where = f"what was measured is kept in {folder}: out with resume=True goes on"
                problem.hint = f"{problem.hint}; {where}" if problem.hint else where
        raise
    finally:
        if out is None:
            with suppress(OSError):
                folder.rmdir()


def unless_interrupted(stopped: str, folder: Path) -> None:
    """Raise KeyboardInterrupt where that was what ended an experiment: by now its programs have ended, and its runs are kept."""
    if stopped == "interrupted":
        raise KeyboardInterrupt(f"what was measured is kept in {folder}")
