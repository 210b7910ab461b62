# SPDX-License-Identifier: BSD-3-Clause
"""Scanner: reads a placement's text from left to right; an error names the column and what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nodewise.base.errors import InputError
from nodewise.base.late import late
from nodewise.base.meant import meant

#: Longer texts than any shell passes on are refused before they are read.
LONGEST = 1 << 20
#: The most numbers that one range may name, as in Intel's runtime.
LONGEST_RANGE = 65536
# those of C: a runtime knows no other blanks and digits
_SPACE = late(r"[ \t\n\v\f\r]*")
_NUMBER = late(r"[0-9]{1,9}(?![0-9])")


class Scanner:
    """A text and how far it has been read. `what` is its name in messages, such as `KMP_AFFINITY`."""

    def __init__(self, what: str, text: str):
        """Raises InputError where the text is longer than `LONGEST` characters."""
        self.what = what
        self.text = text
        self.at = 0
        if len(text) > LONGEST:
            raise InputError(f"{what} is {len(text)} characters long", f"{LONGEST} is the most that is read")

    def error(self, expected: str, at: int | None = None, meant: str = "") -> InputError:
        """The error for what stands at `at` (default: here) where `expected` was; `meant` is what `base.meant` makes of it."""
        place = self.at if at is None else at
        shown = self.text if len(self.text) <= 200 else f"{self.text[:197]}..."
        found = repr(self.text[place : place + 12]) if place < len(self.text) else "its end"
        return InputError(f"{self.what}={shown!r}, column {place + 1}: expected {expected}, found {found}{meant}")

    def skip_space(self) -> None:
        """Go past white space."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    @property
    def done(self) -> bool:
        """Whether nothing but white space is left."""
        self.skip_space()
        return self.at >= len(self.text)

    def peek(self, length: int = 1) -> str:
        """The next characters after white space."""
        self.skip_space()
        return self.text[self.at : self.at + length]

    def take(self, mark: str) -> bool:
        """Go past `mark` where it stands next, whatever its case."""
        self.skip_space()
        if self.text[self.at : self.at + len(mark)].lower() != mark.lower():
            return False
        self.at += len(mark)
        return True

    def need(self, mark: str, expected: str = "") -> None:
        """Go past `mark`; raises InputError where something else stands there."""
        if not self.take(mark):
            raise self.error(expected or repr(mark))

    def number(self, expected: str = "a number") -> int:
        """Read a number without sign, of at most nine digits."""
        self.skip_space()
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            raise self.error(expected)
        self.at = match.end()
        return int(match[0])

    def signed(self, expected: str = "a number") -> int:
        """Read a number after any signs."""
        sign = 1
        while self.peek() in ("+", "-") and self.peek():
            sign *= -1 if self.take("-") else 1
            self.take("+")
        return sign * self.number(expected)

    def upward_range(self, expected: str, strides: bool = False) -> range:
        """Read `a`, `a-b`, and with `strides` `a-b:s`; raises InputError where it runs downwards or is very long."""
        self.skip_space()
        start = self.at
        first = last = self.number(expected)
        stride = 1
        if self.take("-"):
            last = self.number("the number at which the range ends")
            if strides and self.take(":"):
                stride = self.number("a stride")
        if last < first or stride < 1 or last - first > LONGEST_RANGE:
            raise self.error(f"a range that runs upwards, over at most {LONGEST_RANGE} numbers", start)
        return range(first, last + 1, stride)

    def word(self, pattern: str = r"[A-Za-z_][A-Za-z_0-9]*") -> str:
        """The word that stands next, empty where there is none."""
        self.skip_space()
        match = re.compile(pattern).match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def choice(self, words: Iterable[str], expected: str) -> str:
        """Read a word that must be one of `words`, whatever its case; gives it as it stands there."""
        known = {w.lower(): w for w in words}
        self.skip_space()
        start = self.at
        word = self.word().lower()
        if word not in known:
            self.at = start
            raise self.error(f"{expected} ({', '.join(known.values())})", meant=meant(word, known.values()))
        return known[word]

    def end(self, expected: str = "the end") -> None:
        """Raises InputError where anything is left."""
        if not self.done:
            raise self.error(expected)
