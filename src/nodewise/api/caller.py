# SPDX-License-Identifier: BSD-3-Clause
"""How a caller is notified: notes meanwhile, and errors in the words of the keywords that were given."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from nodewise.base.arguments import checked_arguments, keywords_of
from nodewise.base.errors import NodewiseError
from nodewise.base.late import late
from nodewise.experiments.progress import Note

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
Notify = Callable[[Note], None]
#: Options in a hint, and in what is wrong where no words of a program's can be meant.
_HINTED = late(r"(?<![\w-])(?:--([a-z][a-z-]*[a-z])|-(P)(?= ))")
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
                return function(*bound.args, **bound.kwargs)

        return asked

    return decorate


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
        problem.what = outside(_NAMED, problem.what)
        if problem.hint:
            problem.hint = outside(_HINTED, problem.hint)
        problem.args = (problem.what,)
        raise
