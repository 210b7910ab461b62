# SPDX-License-Identifier: BSD-3-Clause
"""The terminal: secrets that this process was given are printed as names of variables, and it obeys nothing that a record holds."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from nodewise.base.escaping import harmless, unmarked
from nodewise.base.late import late
from nodewise.base.masking import MASK, Masks, naming

#: A text in JSON, and whether it is the name of a field.
_JSON_TEXT = late(r'"(?:[^"\\]|\\.)*"(\s*:)?')
#: What is known to those that are running, the innermost last; of each what was named first.
_running: list[list[Masks]] = []
#: Lines that are printed with what they hold of secrets.
_as_it_is: set[str] = set()


class _Masking:
    """A stream that masks what is written to it; in all else the one that it writes to."""

    def __init__(self, stream: TextIO, known: list[Masks]):
        self._stream = stream
        self._known = known

    def write(self, text: str) -> int:
        """Write a text; in JSON the names of fields stay. What a terminal would obey is written out."""
        self._stream.write(unmarked(harmless(_shown(text, self._known) if text.strip() else text)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _shown(text: str, known: Sequence[Masks]) -> str:
    if _as_it_is and not _as_it_is.isdisjoint(lines := text.split("\n")):
        return "\n".join(line if line in _as_it_is else _masked(line, known) for line in lines)
    return _masked(text, known)


def _masked(text: str, known: Sequence[Masks]) -> str:
    # what is not known yet may become known, as a record comes upon it
    known = [masks for masks in known if masks.known]
    if text.startswith(("{", "[")):
        for masks in known:
            text = _in_json(text, masks)
        return text
    for masks in known:
        text = masks.masked(text, within=True)
    # those that were there before are of a record
    return MASK.sub(lambda m: f'"${m[1]}"' if m[1] else "<masked:", text)


def _in_json(text: str, masks: Masks) -> str:
    def veil(found: re.Match[str]) -> str:
        return found[0] if found[1] else str(masks.veiled(found[0], within=True))

    return _JSON_TEXT.sub(veil, text)


def shown(text: str) -> str:
    """A text as it may be cut to the terminal's width."""
    return harmless(_shown(text, _running[-1]) if _running else text)


def redrawn(stream: TextIO) -> TextIO:
    """The stream itself, for a line that is drawn again and again, of texts that are `shown`."""
    return stream._stream if isinstance(stream, _Masking) else stream


@contextmanager
def masked_terminal(words: Sequence[str]) -> Iterator[None]:
    """While a command runs whose words these are: nothing that they, or variables, hold of secrets is printed."""
    known: list[Masks] = []
    own: Any = [_Masking(stream, known) for stream in (sys.stdout, sys.stderr)]
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = own
    _running.append(known)
    masks = Masks()
    masks.masked(list(words))
    named_before = len(naming)
    hide(masks)
    try:
        yield
    finally:
        del naming[named_before:]
        _running.pop()
        _as_it_is.clear()
        # one that is closed has been put in its place on purpose
        for name, made, stream in zip(("stdout", "stderr"), own, before, strict=True):
            if getattr(sys, name) is made:
                setattr(sys, name, stream)


def hide(masks: Masks) -> None:
    """Print nothing of these either, up to the end of the command, and call it as they do."""
    if _running:
        _running[-1].insert(0, masks)
        naming.append(masks)


def show_as_it_is(lines: Iterable[str]) -> None:
    """Print these lines with the true values in them: whoever decides about a command must see it."""
    _as_it_is.update(lines)
