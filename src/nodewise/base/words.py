# SPDX-License-Identifier: BSD-3-Clause
"""A text split into words as a shell splits it."""

from __future__ import annotations

import shlex

from nodewise.base.errors import InputError

#: A word of a command line has this many bytes at most (Linux: MAX_ARG_STRLEN).
LONGEST_WORD = 128 << 10


def split_words(text: str, what: str = "") -> list[str]:
    """The words of a text as a shell splits it; `what` names where it stands.

    Raises InputError where a quotation is not closed, a backslash stands last, or a word is longer than the system takes.
    """
    # before it is split, which takes time by the square of a word's length
    if len(text) > LONGEST_WORD and any(len(word) > LONGEST_WORD for word in text.split()):
        where = f"{what}: " if what else ""
        raise InputError(f"{where}a word is longer than {LONGEST_WORD >> 10} KiB, which no program can be started with")
    try:
        return shlex.split(text)
    except ValueError as problem:
        said = str(problem)
        raise InputError(
            f"{what + ': ' if what else ''}{text!r} cannot be split into words: {said[:1].lower()}{said[1:]}",
            "close its quotes, or quote a backslash: \\\\",
        ) from problem
