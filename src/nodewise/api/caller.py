# SPDX-License-Identifier: BSD-3-Clause
"""How a caller is notified: notes meanwhile, and errors in the words of the keywords that were given."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from nodewise.base.arguments import checked_arguments, keywords_of
from nodewise.base.errors import InputError, NodewiseError, shortened
from nodewise.base.late import late
from nodewise.base.note import Note
from nodewise.base.own_process import what_is_lacking

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
Notify = Callable[[Note], None]
#: Keywords of the functions that are notified.
_HEARD = {"progress", "note"}
#: Options in a hint, and in what is wrong where no words of a program's can be meant.
_HINTED = late(r"(?<![\w-])(?:--([a-z][a-z-]*[a-z])|-(P)(?= ))")
_GO_ON = late(r"(?<![\w-])--resume (/\S+)")
_NAMED = late(
    r"(?:(?<=^)|(?<=: )|(?<=\band )|(?<=\bof )|(?<=\bthan )|(?<=\bbeside )|(?<=\bhow ))(?:--([a-z][a-z-]*[a-z])|-(P)(?= ))"
)
#: A whole command line, as far as it goes.
_COMMAND_LINE = late(
    r"((?<![\w/.-])(?:nodewise (?:\w+ )?|pip |ps |lstopo |taskset |mpirun )[^;`]*?(?=[;`]|, | (?:goes|shows|judges|writes)\b|$))"
)
#: Options of the command line that keywords of another name stand for.
_KEYWORDS = {
    "P": "parameters",
    "command-name": "names",
    "fail-if-slower": "threshold",
    "constraint": "constraints",
    "env-axis": "env_axes",
    "input": "stdin",
    "limit": "limits",
    "metric": "metrics",
    "submit": "sbatch",
}


def unheard(_: Any) -> None:
    """Who is notified and does not listen."""


def question(
    texts: Callable[[], Collection[str]] = tuple,
) -> Callable[[Callable[_Given, _Answer]], Callable[_Given, _Answer]]:
    """A function of the public API: what it is given is checked before anything is done, and errors name its keywords.

    `texts` names more keywords than those that it is written with, each of a text.
    """

    def decorate(function: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
        @functools.wraps(function)
        def asked(*args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
            more = texts()
            with in_keywords(function, more):
                bound = checked_arguments(function, args, kwargs, more)
                if (lacking := what_is_lacking()) is not None:
                    raise InputError(*lacking)
                for name in _HEARD & bound.arguments.keys():
                    bound.arguments[name] = _marking(bound.arguments[name])
                return function(*bound.args, **bound.kwargs)

        return asked

    return decorate


def _marking(heard: Callable[[Any], None] | None) -> Callable[[Any], None] | None:
    """A function of the caller's, by whose errors it can be seen later that they are its own."""
    if heard is None:
        return None

    def hears(said: Any) -> None:
        try:
            heard(said)
        except NodewiseError as problem:
            problem.of_caller = True
            raise

    return hears


@contextmanager
def in_keywords(function: Callable[..., Any], texts: Iterable[str] = ()) -> Iterator[None]:
    """Errors name the keywords of `function`, and `texts` besides, where the command line has options."""
    names = {*keywords_of(function), *texts}

    def keyword(option: re.Match[str]) -> str:
        word = option[1] or option[2]
        name = _KEYWORDS.get(word, word.replace("-", "_"))
        return name if name in names else option[0]

    def outside(sub: re.Pattern[str], text: str) -> str:
        """A text with its options as keywords, but for those of whole command lines in it."""
        parts = _COMMAND_LINE.split(text)
        parts[::2] = [sub.sub(keyword, part) for part in parts[::2]]
        return "".join(parts)

    try:
        yield
    except NodewiseError as problem:
        if problem.of_caller:
            raise
        problem.what = shortened(outside(_NAMED, problem.what))
        if problem.hint:
            hint = _GO_ON.sub(r"out='\1', resume=True", problem.hint) if {"out", "resume"} <= names else problem.hint
            problem.hint = shortened(outside(_HINTED, hint))
        problem.args = (problem.what,)
        raise
