# SPDX-License-Identifier: BSD-3-Clause
"""Small reads from /proc and /sys, where any file may be missing or forbidden."""

import re
from pathlib import Path


def read_text(path: Path) -> str | None:
    """The file's text without white space around it; None where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


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
