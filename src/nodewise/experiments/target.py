# SPDX-License-Identifier: BSD-3-Clause
"""What a user names to be run: a program with its arguments, or `study:NAME` with that study's knobs."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.errors import InputError

_STUDY = "study:"


def resolve_command(words: Sequence[str]) -> tuple[str, ...]:
    """The command to start: the words themselves, or for `study:is class=A` the worker that runs the study so.

    Raises InputError for no words, a study that is not known or a knob that it does not have.
    """
    _check_named(words)
    if not words[0].startswith(_STUDY):
        return tuple(words)
    from nodewise.studies.commands import default_command

    return tuple(default_command(words[0].removeprefix(_STUDY), words[1:]))


def resolve_tunable(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The command, and what to try in place of each `{name}` in it: a study's variants and knobs that were not given.

    Raises InputError as `resolve_command` does.
    """
    _check_named(words)
    if not words[0].startswith(_STUDY):
        return tuple(words), {}
    from nodewise.studies.commands import tunable_command

    command, tries = tunable_command(words[0].removeprefix(_STUDY), words[1:])
    return tuple(command), tries


def _check_named(words: Sequence[str]) -> None:
    if not words:
        raise InputError("no program to run", "name it after --, such as: nodewise tune -- ./solver input.dat")
