# SPDX-License-Identifier: BSD-3-Clause
"""How a caller is told: notes meanwhile, and errors in the words of the keywords that were given."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from nodewise.api.options import HowToRun
from nodewise.base.errors import NodewiseError
from nodewise.experiments.progress import Note

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
