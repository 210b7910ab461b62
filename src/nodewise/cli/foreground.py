# SPDX-License-Identifier: BSD-3-Clause
"""A program that is started where the user sits: it has the terminal, and the signals that are meant for it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nodewise.base.errors import ProgramError
from nodewise.base.escaping import visible

if TYPE_CHECKING:
    from nodewise.runner.guarded import Guarded

#: How many that outlived a program are named.
_MOST_NAMED = 3


def start_in_foreground(words: Sequence[str]) -> Guarded:
    """The program, started; what it leaves behind goes on, see `note_left`. Raises ProgramError where there is none."""
    from nodewise.runner.guarded import Guarded

    program = shutil.which(words[0])
    if program is None:
        raise ProgramError(f"no such program: {words[0]}", "give its path, or a name that is found on PATH")
    try:
        return Guarded(words, program)
    except OSError as problem:
        raise ProgramError(f"{words[0]} cannot be executed: {problem.strerror}") from problem


def note_left(child: Guarded) -> None:
    """Say what outlived a program that has ended, and goes on."""
    from nodewise.base.note import Note
    from nodewise.cli.experiments import print_note

    if child.left:
        first = list(child.left.items())[:_MOST_NAMED]
        named = ", ".join(f"{visible(name)} (process {pid})" for pid, name in first)
        more = f" and {len(child.left) - len(first)} more" if len(child.left) > len(first) else ""
        go = "go" if len(child.left) > 1 else "goes"
        print_note(Note("note", f"{named}{more} outlived the program and {go} on"))


@contextlib.contextmanager
def output_to_errors() -> Iterator[None]:
    """What is started here prints to standard error: standard output is the answer's."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)


@contextlib.contextmanager
def interrupts_are_the_programs() -> Iterator[list[Guarded]]:
    """Ctrl-C and Ctrl-\\, and the same signals sent to this process alone, end the program; what was seen is still reported.

    Whatever program is put into the list gets them.
    """
    children: list[Guarded] = []

    def forward(number: int, _: object) -> None:
        for child in children:
            child.signalled(number)

    before = {s: signal.signal(s, forward) for s in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
