# SPDX-License-Identifier: BSD-3-Clause
"""What was measured is printed, or where it is kept: the answer first, then its page, however the command ends."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from nodewise.base.ends import deaf, tell_first, told
from nodewise.base.errors import NodewiseError, StoreError
from nodewise.base.escaping import visible
from nodewise.cli.wrapping import print_wrapped

if TYPE_CHECKING:
    from nodewise.verdicts.stored import Stored

#: The width in columns of output that goes to no terminal.
_WIDE = 140


@contextmanager
def kept_in(folder: Path, kind: str, wait: bool = False) -> Iterator[None]:
    """Measuring: whatever ends it early, Ctrl-C (and what is like it) or an error, says where the runs are.

    Once all runs are made, an end that is asked for waits until `hand_out` has told what came of them. With `wait` it begins once
    no other experiment runs on this machine.
    """
    from nodewise.records.experiment import is_measured

    whole = folder.absolute()
    tell_first(lambda: is_measured(whole))
    try:
        _check_output()
        with _turn() if wait else nullcontext():
            yield
    except KeyboardInterrupt:
        print_note(f"interrupted: {_whereabouts(folder, kind) or 'nothing was measured'}")
        raise
    except NodewiseError as problem:
        kept = _whereabouts(folder, kind)
        if kept and "--resume" not in (problem.hint or ""):
            problem.hint = f"{problem.hint}; {kept}" if problem.hint else kept
        raise
    except BaseException:
        if kept := _whereabouts(folder, kind):
            print_note(kept)
        raise


def _turn() -> AbstractContextManager[None]:
    from nodewise.records.neighbours import turn

    return turn(_waiting)


def print_answer(stored: Stored[Any], file: TextIO | None = None) -> None:
    """The answer in lines, as the kind of experiment defines it."""
    file = file or sys.stdout
    width = shutil.get_terminal_size().columns if file.isatty() else _WIDE
    print_wrapped(stored.kind.load("text")(stored, width), file)


def hand_out(
    folder: Path,
    write_page: Callable[[Path], Path],
    answer: Callable[[], None],
    as_json: Callable[[Path | None], None] | None,
    file: TextIO | None = None,
    again: str | None = None,
) -> None:
    """Print the answer of the experiment in `folder`, and write its page: one that cannot be written costs itself only.

    For people the answer comes first, `as_json` is handed the page's path, None where there is none. `again` is the command that
    writes the page once more, where that is not `nodewise report`. Raises NodewiseError for a page that cannot be written, with
    how to get it later.
    """
    from nodewise.runner.launch import quoted

    page = None
    again, shows = (
        (again, "") if again else (f"nodewise report {quoted(str(folder))}", ", and with --text shows the answer")
    )
    try:
        if as_json is None:
            with _perhaps_unread(again):
                answer()
                # a pipe or a file would have it at the very end only
                sys.stdout.flush()
        # who has asked for an end by now has waited for the answer, and waits for no page
        if told():
            raise KeyboardInterrupt
        page = write_page(folder)
    except KeyboardInterrupt:
        if as_json is not None:
            _hand_json(as_json, None, again)
        print_note(f"interrupted before the page was written: {again} writes it{shows}")
        raise
    except NodewiseError as problem:
        if as_json is not None:
            _hand_json(as_json, None, again)
        kept = f"the answer is kept: {again} writes the page"
        problem.hint = f"{problem.hint}; {kept}" if problem.hint else kept
        raise
    if as_json is not None:
        _hand_json(as_json, page, again)
    else:
        print(f"report    {visible(str(page))}", file=file or sys.stdout)


def _hand_json(as_json: Callable[[Path | None], None], page: Path | None, again: str) -> None:
    """Print it whole, also where an end is asked for meanwhile: half of it is worth nothing."""
    tell_first(lambda: True)
    try:
        with _perhaps_unread(again):
            as_json(page)
            sys.stdout.flush()
    finally:
        told()


@contextmanager
def _perhaps_unread(again: str) -> Iterator[None]:
    """Printing to who may have gone: the rest goes nowhere then, and how to see the answer is said."""
    try:
        yield
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        print_note(f"nobody reads the output any more; the answer is kept: {again} shows it")


def _whereabouts(folder: Path, kind: str) -> str:
    """Where the runs are and how to continue; empty where there are none, or they belong to another process."""
    from nodewise.records.experiment import is_own, read_experiment
    from nodewise.runner.launch import quoted

    # as a continuation will find it: what was measured may have taken it away, or written over it
    try:
        if not is_own(folder) or not len(read_experiment(folder, judged=False).records):
            return ""
    except (NodewiseError, OSError):
        return ""
    where = quoted(str(folder))
    return f"what was measured is kept: nodewise {kind} --resume {where} goes on, nodewise report {where} shows it"


def _check_output() -> None:
    """Raises StoreError where the answer could surely not be written once it is there."""
    try:
        state = os.fstat(sys.stdout.fileno())
        full = state.st_rdev == os.makedev(1, 7) if stat.S_ISCHR(state.st_mode) else False
        if stat.S_ISREG(state.st_mode):
            full = os.fstatvfs(sys.stdout.fileno()).f_bavail == 0
    except (OSError, ValueError, AttributeError):
        return
    if full:
        raise StoreError("cannot write to standard output: no space left", "let it go to another file or device")


def _waiting(who: str) -> None:
    print(f"waiting for {who}", file=sys.stderr, flush=True)


def print_note(text: str) -> None:
    """Print what is said of an end that came early."""
    # said whole, also where the one who waits asks once more
    with deaf():
        print(f"\n{text}", file=sys.stderr, flush=True)
