# SPDX-License-Identifier: BSD-3-Clause
"""What holds while anything is measured, whoever asked: whose turn it is, waiting for quiet, the launcher, the folder."""

from __future__ import annotations

import inspect
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from nodewise.api.given import StrPath
from nodewise.api.options import HowToRun
from nodewise.base.errors import InputError, NodewiseError
from nodewise.base.units import format_seconds
from nodewise.experiments.progress import Note
from nodewise.records.neighbours import turn
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher

Notify = Callable[[Note], None]
#: Options in a hint, and in what is wrong where no words of a program's can be meant.
_HINTED = re.compile(r"(?<![\w-])(?:--([a-z][a-z-]*[a-z])|-(P)(?= ))")
_NAMED = re.compile(
    r"(?:(?<=^)|(?<=: )|(?<=\band )|(?<=\bof )|(?<=\bthan )|(?<=\bbeside )|(?<=\bhow ))(?:--([a-z][a-z-]*[a-z])|-(P)(?= ))"
)
#: What a hint holds where it shows a whole command line.
_COMMAND_LINE = ("nodewise ", "-- ")
#: Options of the command line that keywords of another name stand for.
_KEYWORDS = {
    "P": "parameters",
    "command-name": "names",
    "constraint": "constraints",
    "env-axis": "env_axes",
    "input": "stdin",
    "limit": "limits",
    "metric": "metrics",
}


def unheard(_: Any) -> None:
    """Who is told and does not listen."""


@contextmanager
def launcher_for(
    options: RunOptions, environment: Mapping[str, str], note: Notify, wait: bool = False
) -> Iterator[LocalLauncher]:
    """What starts programs, which inherit `environment`; at the end all that it started has ended.

    With `wait` it begins once no other experiment runs on this machine; `note` is told for whom it waits.
    """
    waiting = turn(lambda who: note(Note("waiting", who))) if wait else nullcontext()
    with waiting, LocalLauncher(options, environment) as launcher:
        yield launcher


def quiet_wait(limit_s: float | None, processors: Iterable[int], note: Notify) -> Callable[[], None]:
    """What to do before each block: wait until these processors are quiet, at most `limit_s` seconds (None: do not).

    Where that was in vain `note` is told, and it is not tried again: the machine stays as it is.
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

    One that was made here goes where it stays empty, and where it holds an answer that does not name it (`named`). An error
    says where the runs are, if there are any. Raises InputError for `resume` without a folder.
    """
    if resume and out is None:
        raise InputError("resume goes on with what a folder holds, and none is given", "name it by out")
    folder = Path(tempfile.mkdtemp(prefix=f"nodewise-{kind}-")) if out is None else Path(out).absolute()
    try:
        yield folder
        if out is None and not named:
            shutil.rmtree(folder, ignore_errors=True)
    except NodewiseError as problem:
        with suppress(OSError):
            if (folder / "samples.jsonl").stat().st_size and str(folder) not in str(problem):
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


@contextmanager
def in_keywords(function: Callable[..., Any], texts: Iterable[str] = ()) -> Iterator[None]:
    """Errors name the keywords of `function`, and `texts` besides, where the command line has options."""
    names = {*inspect.signature(function).parameters, *HowToRun.__annotations__, *texts}

    def keyword(option: re.Match[str]) -> str:
        word = option[1] or option[2]
        name = _KEYWORDS.get(word, word.replace("-", "_"))
        return name if name in names else option[0]

    try:
        yield
    except NodewiseError as problem:
        problem.what = _NAMED.sub(keyword, problem.what)
        if problem.hint and not any(sign in problem.hint for sign in _COMMAND_LINE):
            problem.hint = _HINTED.sub(keyword, problem.hint)
        problem.args = (problem.what,)
        raise
