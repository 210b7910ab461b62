# SPDX-License-Identifier: BSD-3-Clause
"""What a caller gives, as plain Python values or as text, converted to the one form that the engine uses."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TypeAlias

from nodewise.base.errors import InputError
from nodewise.base.late import late
from nodewise.base.processors import format_processors
from nodewise.base.units import MOST_SHARE, parse_seconds, parse_share

#: Seconds as a number, `timedelta`, or as text: `30`, `"30s"`, `"1.5min"`.
Duration: TypeAlias = float | str | timedelta
#: A part of one: `0.01`, or `"1%"`.
Share: TypeAlias = float | str
StrPath: TypeAlias = str | os.PathLike[str]
#: A program with its arguments: its words, or one text that is split as a shell splits it.
Command: TypeAlias = str | Sequence[StrPath]
#: What is tried in one place: values, or text such as `"1..64*2"`.
Values: TypeAlias = str | Sequence[str | int | float]
#: Processors by the system's numbers, or as text: `"0-3,8"`.
Processors: TypeAlias = str | Iterable[int]

_LONGEST_S = 1e9
_VARIABLE = late(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
#: More than any machine has; a runtime crashes at some number, and says nothing.
_MOST_THREADS = 8192


def seconds_of(given: Duration, name: str) -> float:
    """A duration in seconds. Raises InputError where it is not one above zero; `name` is what it is called there."""
    if isinstance(given, str):
        return parse_seconds(given, name)
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds):
        raise InputError(f"not a duration: {name}: {given!r}", "give seconds as a number, or a text such as '30s'")
    if not 0 < seconds <= _LONGEST_S:
        raise InputError(f"a duration must be above zero and below thirty years: {name}: {given!r}")
    return float(seconds)


def share_of(given: Share, name: str, most: float | None = 1.0) -> float:
    """A part of one, less than `most` and above zero; where `most` is None also 0. Raises InputError."""
    if isinstance(given, str):
        return parse_share(given, name, most)
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise InputError(f"{name}: not a share: {given!r}", "give a part of one, such as 0.01, or '1%'")
    if given < 0 or given > MOST_SHARE or (most is not None and not 0 < given < most):
        raise InputError(f"{name}: not a share: {given!r}", "give a part of one, such as 0.01, or '1%'")
    return float(given)


def seed_of(seed: int) -> int:
    """A seed for random numbers. Raises InputError where it is below zero, which not all generators take."""
    if seed < 0:
        raise InputError(f"--seed {seed} is below zero", "give 0 or more")
    return seed


def check_threads(threads: int | None) -> None:
    """Raises InputError for a number of threads that cannot run."""
    if threads is not None and not 1 <= threads <= _MOST_THREADS:
        raise InputError(f"{threads} threads cannot run", f"give --threads from 1 to {_MOST_THREADS}")


def processors_of(given: Processors) -> str:
    """A list of processors as text, which its readers check."""
    return given if isinstance(given, str) else format_processors(given)


def split_variables(words: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables that lead a command, as a shell and env(1) read `NAME=VALUE`, and the words of its program."""
    found: dict[str, str] = {}
    for i, word in enumerate(words):
        if (variable := _VARIABLE.fullmatch(word)) is None:
            return found, tuple(words[i:])
        found[variable[1]] = variable[2]
    return found, ()


def unfilled(command: Sequence[str], filled: Collection[str], remedy: str) -> str:
    """A sentence where a word of a command has the form of what nodewise fills in, `{n}`, and is none of `filled`; else empty.

    `remedy` says what fills it, `{}` in it being the name.
    """
    names = [m[1] for word in command[1:] if (m := re.fullmatch(r"\{([A-Za-z_]\w*)\}", word)) and m[1] not in filled]
    return (
        f"nothing fills {{{names[0]}}}, and {command[0]} is given it as it is: {remedy.format(names[0])}"
        if names
        else ""
    )


def through_env(words: Sequence[str]) -> tuple[str, ...]:
    """A command with the variables that lead it, as env(1) starts it. Raises InputError where no program follows them."""
    variables, program = split_variables(words)
    if variables and not program:
        raise InputError(f"no program follows {' '.join(words)}", "name it behind its variables")
    return ("env", *words) if variables else program


def words_of(command: Command) -> tuple[str, ...]:
    """The words of a program with its arguments.

    Raises InputError for an empty one, one that only a shell can carry out, and what is no text.
    """
    if isinstance(command, str):
        from nodewise.base.words import split_words
        from nodewise.experiments.contenders import needs_shell

        words = tuple(split_words(command))
        # what leads is read here as a shell reads it; behind that there is nothing left for one
        variables, program = split_variables(words)
        leading = re.compile(rf"(\s*[A-Za-z_]\w*=[\w./:,+-]*\s+){{{len(variables)}}}").match(command)
        if needs_shell(command[leading.end() :] if leading and program else command):
            raise InputError(f"only a shell can carry out {command!r}", f"start one for it: ['sh', '-c', {command!r}]")
    else:
        words = tuple(os.fspath(word) for word in command if _is_text(word))
    if not words:
        raise InputError("no program to run", "give a program with its arguments, such as ['./solver', 'input.dat']")
    return words


def _is_text(word: object) -> bool:
    if not isinstance(word, str | os.PathLike) or not isinstance(os.fspath(word), str):
        raise InputError(f"a command's words are text or paths, and {word!r} is none", f"write it as {str(word)!r}")
    return True


def values_of(given: Mapping[str, Values] | None, in_command: bool = True) -> dict[str, tuple[str, ...]]:
    """By name what is tried in that place, of the command or else of the environment, as text.

    Raises InputError for what is not a name or a range, and for no values.
    """
    from nodewise.experiments.contenders import parse_parameter, parse_values

    found = {}
    for name, values in (given or {}).items():
        if in_command:
            parse_parameter(f"{name}=1")
        found[name] = parse_values(values) if isinstance(values, str) else tuple(str(value) for value in values)
        if not found[name]:
            raise InputError(f"{name} has no values", "give at least one, such as [1, 2, 4]")
    return found
