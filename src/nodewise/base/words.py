# SPDX-License-Identifier: BSD-3-Clause
"""A text split into words as a shell splits it."""

from __future__ import annotations

import shlex

from nodewise.base.errors import InputError


def split_words(text: str, what: str = "") -> list[str]:
    """The words of a text as a shell splits it; `what` names where it stands.

    Raises InputError where a quotation is not closed, or a backslash stands last.
    """
    try:
        return shlex.split(text)
    except ValueError as problem:
        said = str(problem)
        raise InputError(
            f"{what + ': ' if what else ''}{text!r} cannot be split into words: {said[:1].lower()}{said[1:]}",
            "close its quotes, or quote a backslash: \\\\",
        ) from problem
