# SPDX-License-Identifier: BSD-3-Clause
"""Lines as a terminal shows them: broken between words, behind their label; what users copy stays one line."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TextIO

from nodewise.base.late import late
from nodewise.cli.colours import coloured, wants_colour
from nodewise.cli.masked_terminal import shown

#: Where the text behind a label begins: `note      …`.
_LABEL = 10
_LABELLED = late(r"(\S.{8}| {9}) (?=\S)")
#: Labels of lines that are copied.
_COPIED = ("launch", "go on", "build", "script", "program", "report")
#: Narrower than that nothing is broken.
_LEAST = 30


def print_wrapped(text: str, file: TextIO | None = None) -> None:
    """Print lines, on a terminal broken between words; elsewhere each stays whole."""
    file = file or sys.stdout
    if file.isatty():
        # a secret with a blank in it is hidden only where it is whole
        text = wrapped(shown(text), shutil.get_terminal_size().columns)
        text = coloured(text) if wants_colour(file) else text
    print(text, file=file, flush=True)


def wrapped(text: str, width: int) -> str:
    """The lines of a text in `width` columns, words kept whole; a line goes on below its own text, behind the label."""
    return text if width < _LEAST else "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    # only a terminal needs it
    from rich.cells import cell_len

    if cell_len(line) <= width or line.startswith(tuple(f"{label:<{_LABEL}}" for label in _COPIED)):
        return [line]
    indent = " " * (_LABEL if _LABELLED.match(line) else 2)
    lines, now = [], ""
    for word in re.findall(r"\s*\S+", line):
        if now and cell_len(now) + cell_len(word) > width:
            lines.append(now)
            now = indent + word.lstrip()
        else:
            now += word
    return [*lines, now]
