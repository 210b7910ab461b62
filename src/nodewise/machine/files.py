# SPDX-License-Identifier: BSD-3-Clause
"""Small reads from /proc and /sys, where any file may be missing or forbidden."""

import os
import re
import stat
from pathlib import Path

#: /proc/cpuinfo of some thousand processors has some megabytes; the kernel sets memory aside for as much as is asked for at once.
_MOST_BYTES, _PIECE = 64 << 20, 64 << 10


def read_text(path: Path) -> str | None:
    """The file's text without white space around it; None where it cannot be read, is no regular file or longer than any that the kernel writes."""
    try:
        # a pipe or a device in the place of a file would be waited for, or never end
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        pieces, left = [], _MOST_BYTES
        while left > 0 and (piece := os.read(file, min(_PIECE, left))):
            pieces.append(piece)
            left -= len(piece)
    except OSError:
        return None
    finally:
        os.close(file)
    return b"".join(pieces).decode(errors="replace").strip() if left > 0 else None


#: The kernel's numbers have 64 bits; longer ones are damage, and Python refuses to read those of some thousand digits.
_LONGEST_NUMBER = 24


def integer(text: str | None, base: int = 10) -> int | None:
    """A text as a whole number; None where it is none, or longer than any that the kernel writes."""
    try:
        return None if text is None or len(text.strip()) > _LONGEST_NUMBER else int(text, base)
    except ValueError:
        return None


def read_number(path: Path) -> int | None:
    """The file's one whole number; None where it has none."""
    return integer(read_text(path))


def first_match(pattern: str, text: str) -> str | None:
    """The first group of the first line that matches; None where none does."""
    match = re.search(pattern, text, re.MULTILINE)
    return match[1].strip() if match else None
