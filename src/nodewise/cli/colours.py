# SPDX-License-Identifier: BSD-3-Clause
"""The word of a verdict in colour, where an answer goes to a terminal."""

from __future__ import annotations

import os
from typing import TextIO

from nodewise.base.escaping import painted
from nodewise.base.late import late

#: A terminal's codes by word: green is for what is faster alone.
_CODES = {"faster": "1;32", "slower": "1;31", "no difference": "1;36", "undecided": "1;33"}
_WORD = late(r"\b(?:" + "|".join(_CODES) + r")\b")
#: Labels of the lines that say a verdict; in others such a word is only talked about.
_SAYING = ("ratio", "answer", "pair", "promise", "now")
_LABELLED = late(r"^\S")


def coloured(text: str) -> str:
    """Lines with the verdicts that they say in colour; what is copied, or goes on from another line, is as it was."""
    lines, saying = [], False
    for line in text.split("\n"):
        if _LABELLED.match(line):
            saying = line[:10].rstrip() in _SAYING
        lines.append(_WORD.sub(lambda found: painted(found[0], _CODES[found[0]]), line) if saying else line)
    return "\n".join(lines)


def wants_colour(file: TextIO) -> bool:
    """Whether what is written there is looked at by someone who wants colours: NO_COLOR, set to anything, says no."""
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
