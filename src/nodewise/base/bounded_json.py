# SPDX-License-Identifier: BSD-3-Clause
"""JSON from outside, read with bounds: sizes, depths and numbers that nothing behind it has to fear.

Whole numbers have at most 64 bits, other numbers at most the magnitude `LARGEST`; what is nearer to zero than 1 / LARGEST
is zero, and what is written as no number (NaN, Infinity) is null.
"""

from __future__ import annotations

import errno
import io
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

LARGEST = 1e100
_LARGEST_WHOLE = 1 << 63
_PIECE = 1 << 20
#: How deep lists and objects may be nested.
DEEPEST = 100
_NO_MARKS = bytes(sorted(set(range(256)) - set(b'[]{}"')))
#: The longest file that is read whole; those of a machine with thousands of processors have some megabytes.
MOST_BYTES = 256 << 20


def _whole(text: str) -> int:
    # Python itself refuses to convert some thousand digits
    if len(text) > 20 or not -_LARGEST_WHOLE <= int(text) < _LARGEST_WHOLE:
        raise ValueError(f"the number {_short(text)} has more than 64 bits")
    return int(text)


def bounded(value: float, text: str = "") -> float:
    """The number, or zero where it is next to nothing. Raises ValueError where it is too large or none."""
    if not abs(value) <= LARGEST:
        raise ValueError(f"the number {_short(text or repr(value))} is beyond ±{LARGEST:.0e}")
    return value if abs(value) >= 1 / LARGEST else 0.0


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}…"


#: Reads numbers within the bounds; of depths and halves of characters it says nothing.
decoder = json.JSONDecoder(
    parse_int=_whole, parse_float=lambda text: bounded(float(text), text), parse_constant=lambda _: None
)


def parse_json(text: str | bytes) -> Any:
    """The value of a text. Raises ValueError, in words, where it is no JSON or beyond the bounds."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as problem:
            raise ValueError(f"byte {problem.start + 1} is no UTF-8") from problem
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, " if problem.lineno > 1 else ""
        raise ValueError(
            f"no JSON: {problem.msg[0].lower()}{problem.msg[1:]} at {place}column {problem.colno}"
        ) from problem
    except RecursionError as problem:
        raise ValueError(f"nested deeper than {DEEPEST}") from problem
    if "\\u" in text and "\\ud" in text.lower() and not _whole_characters(value):
        raise ValueError("a text holds half a character")
    if text.count("[") + text.count("{") > DEEPEST and not _is_flat(text) and _depth(value) > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST}")
    return value


def _whole_characters(value: Any) -> bool:
    """Whether all texts are characters and bytes (as `surrogateescape` has them), which files and programs can be named by."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            try:
                one.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                return False
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
    return True


def _is_flat(text: str) -> bool:
    """Whether a JSON text is surely nested no deeper than allowed: its brackets alone say so in a tenth of the time that its value takes."""
    if "\\" in text:
        # a quotation mark behind one ends no text
        return False
    marks = text.encode("utf-8", "surrogatepass").translate(None, _NO_MARKS)
    left = b"".join(marks.split(b'"')[::2])
    for _ in range(DEEPEST // 2):
        # two levels at most are gone with each turn
        left = left.replace(b"[]", b"").replace(b"{}", b"")
        if not left:
            return True
    return False


def _depth(value: Any) -> int:
    """How deep lists and objects are nested; not by recursion, and no deeper than it matters."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        level = [w for v in level for w in (v.values() if isinstance(v, dict) else v) if isinstance(w, dict | list)]
        depth += 1
    return depth


class _AtOnce(io.FileIO):
    """A file that says so where it has nothing yet; Python's own takes that for the end."""

    def readinto(self, buffer: Any) -> int:
        if (count := super().readinto(buffer)) is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return count

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_PIECE), b""))

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return self.readall()
        if (found := super().read(size)) is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return found


def read_bounded(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file. Raises OSError; ValueError where it is no regular file or longer than `most` bytes."""
    pieces, left = [], most
    with open_regular(path) as file:
        # memory for all that it may have would be asked for at once
        while piece := file.read(_PIECE):
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                raise ValueError(f"it has more than {most} bytes")
    return b"".join(pieces)


def open_regular(path: Path) -> BinaryIO:
    """The file, open for reading its bytes. Raises OSError; ValueError for what is no regular file, without waiting for it.

    So does reading what would wait for more, as files of /proc that pass for regular ones do: OSError.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return io.BufferedReader(_AtOnce(file))
    os.close(file)
    raise ValueError("it is no regular file")
