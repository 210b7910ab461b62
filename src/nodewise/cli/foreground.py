# SPDX-License-Identifier: BSD-3-Clause
"""A program that is started where the user sits: it has the terminal, and the signals that are meant for it."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ParamSpec

import click

from nodewise.base.ends import asked_to_end_by
from nodewise.base.errors import ProgramError

if TYPE_CHECKING:
    from nodewise.runner.guarded import Guarded

P = ParamSpec("P")


def start_in_foreground(words: Sequence[str]) -> Guarded:
    """The program, started; what it leaves behind is ended with it. Raises ProgramError where there is none."""
    from nodewise.runner.guarded import Guarded

    program = shutil.which(words[0])
    if program is None:
        raise ProgramError(f"no such program: {words[0]}", "give its path, or a name that is found on PATH")
    try:
        return Guarded(words, program)
    except OSError as problem:
        raise ProgramError(f"{words[0]} cannot be executed: {problem.strerror}") from problem


def ended_as_by_a_shell(function: Callable[P, None]) -> Callable[P, None]:
    """A command that ends as its program does: by TERM and HUP, too, it has the exit code that a shell gives what these end."""

    @functools.wraps(function)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        try:
            function(*arguments, **named)
        except KeyboardInterrupt:
            if (number := asked_to_end_by()) in (signal.SIGTERM, signal.SIGHUP):
                raise click.exceptions.Exit(128 + number) from None
            raise

    return run


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
