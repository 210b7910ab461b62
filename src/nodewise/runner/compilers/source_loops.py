# SPDX-License-Identifier: BSD-3-Clause
"""The loops that a source file has, by reading its words: C, C++ and Fortran, without a compiler.

Compilers name a loop by its keyword, its condition or a statement in it; the extents found here bring these together.
What a macro expands to is not seen here, but in the preprocessor's output (preprocessed.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from nodewise.base.frozen import dataclass

_KEPT = re.compile(r"[^\n]")
_C_NOISE = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:\\\r?\n|[^\n])*""",
    re.DOTALL | re.MULTILINE,
)
_C_WORD = re.compile(r"\b(for|while|do|if|else|switch|try|catch)\b|[(){}\[\];]")
_FORTRAN_DO = re.compile(r"^\s*(?:\w+\s*:\s*|\d+\s+)?do\b(?!\s*=)\s*,?\s*(?P<label>\d+)?", re.IGNORECASE)
_FORTRAN_END = re.compile(r"^\s*(?:\d+\s+)?end\s*do\b", re.IGNORECASE)
_FORTRAN_LABEL = re.compile(r"^\s*(\d+)\s")
_DEEPEST = 200


@dataclass(frozen=True)
class SourceLoop:
    """From its keyword to its last character, lines and columns from 1; `depth` counts the loops around it.

    A loop that a macro brings (`macro`) begins where the macro is used.
    """

    keyword: str
    line: int
    column: int
    end_line: int
    end_column: int
    depth: int = 0
    macro: bool = False

    def holds(self, line: int, column: int) -> bool:
        """Whether a place is within; a column of 0 is any on its line."""
        if column == 0:
            return self.line <= line <= self.end_line
        return (self.line, self.column) <= (line, column) <= (self.end_line, self.end_column)

    def around(self, other: SourceLoop) -> bool:
        """Whether another loop is within this one."""
        return (
            other is not self and self.holds(other.line, other.column) and self.holds(other.end_line, other.end_column)
        )


def loops_of(text: str, fortran: bool = False) -> tuple[SourceLoop, ...]:
    """The loops of a text, in its order."""
    found = _fortran_loops(text) if fortran else _CReader(text).loops()
    return with_depths(found)


def with_depths(loops: Sequence[SourceLoop]) -> tuple[SourceLoop, ...]:
    """The loops in the order of the text, each with the number of those around it."""
    found = sorted(loops, key=lambda loop: (loop.line, loop.column, -loop.end_line, -loop.end_column))
    return tuple(replace(f, depth=sum(o.around(f) for o in found[:i])) for i, f in enumerate(found))


def innermost(loops: Sequence[SourceLoop], line: int, column: int) -> SourceLoop | None:
    """The loop deepest within which a place is."""
    inside = [loop for loop in loops if loop.holds(line, column)]
    if column == 0:
        # on a line where loops begin, the outermost of these is meant
        begun = [loop for loop in inside if loop.line == line]
        if begun:
            return min(begun, key=lambda loop: loop.depth)
    return max(inside, key=lambda loop: (loop.depth, loop.line, loop.column), default=None)


def without_noise(text: str) -> str:
    """A C or C++ text of the same length, with blanks for comments, literals and lines of the preprocessor."""
    return _C_NOISE.sub(lambda match: _KEPT.sub(" ", match[0]), text)


def without_comments(text: str) -> str:
    """A C or C++ text of the same length, with blanks for comments and literals; lines of the preprocessor stay."""
    return _C_NOISE.sub(lambda match: match[0] if match[0].lstrip().startswith("#") else _KEPT.sub(" ", match[0]), text)


class _CReader:
    """Words of a C or C++ text, and the statements that loops are over."""

    def __init__(self, text: str):
        clean = without_noise(text)
        self._words = [(m[0], m.start()) for m in _C_WORD.finditer(clean)]
        self._starts = [0]
        self._starts += [m.end() for m in re.finditer("\n", text)]
        self._found: list[SourceLoop] = []

    def loops(self) -> list[SourceLoop]:
        i = 0
        while i < len(self._words):
            word = self._words[i][0]
            i = self._statement(i, 0) if word in ("for", "while", "do") else i + 1
        return self._found

    def _place(self, offset: int) -> tuple[int, int]:
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._starts[middle] <= offset else (low, middle)
        return low + 1, offset - self._starts[low] + 1

    def _word(self, i: int) -> str:
        return self._words[i][0] if i < len(self._words) else ""

    def _add(self, first: int, last: int) -> None:
        word, offset = self._words[first]
        end = self._words[min(last, len(self._words) - 1)][1]
        self._found.append(SourceLoop(word, *self._place(offset), *self._place(max(offset, end))))

    def _closed(self, i: int, depth: int) -> int:
        """The index after the bracket that closes the one at `i`; loops within (lambdas, statement expressions) are read."""
        opened, i = self._word(i), i + 1
        closing = {"(": ")", "{": "}", "[": "]"}[opened]
        while i < len(self._words):
            word = self._word(i)
            if word == closing:
                return i + 1
            if word in (")", "}", "]"):
                return i
            if word in ("(", "{", "["):
                i = self._closed(i, depth + 1) if depth < _DEEPEST else i + 1
            elif word in ("for", "while", "do"):
                i = self._statement(i, depth + 1)
            else:
                i += 1
        return i

    def _statement(self, i: int, depth: int) -> int:
        """The index after the statement that begins at `i`."""
        word = self._word(i)
        if depth > _DEEPEST:
            return i + 1
        if word in ("for", "while"):
            after = self._closed(i + 1, depth) if self._word(i + 1) == "(" else i + 1
            end = self._statement(after, depth + 1)
            self._add(i, end - 1)
            return end
        if word == "do":
            end = self._statement(i + 1, depth + 1)
            if self._word(end) == "while" and self._word(end + 1) == "(":
                end = self._closed(end + 1, depth)
                end += self._word(end) == ";"
            self._add(i, end - 1)
            return end
        return self._other_statement(i, word, depth)

    def _other_statement(self, i: int, word: str, depth: int) -> int:
        if word in ("if", "switch", "catch"):
            after = self._closed(i + 1, depth) if self._word(i + 1) == "(" else i + 1
            end = self._statement(after, depth + 1)
            return self._statement(end + 1, depth + 1) if word == "if" and self._word(end) == "else" else end
        if word in ("try", "else"):
            return self._statement(i + 1, depth + 1)
        if word == "{":
            return self._closed(i, depth)
        while i < len(self._words) and self._word(i) not in (";", "}", ")", "]"):
            inner = self._word(i)
            if inner in ("(", "{", "["):
                i = self._closed(i, depth)
            elif inner in ("for", "while", "do"):
                i = self._statement(i, depth + 1)
            else:
                i += 1
        return i + 1 if self._word(i) == ";" else max(i, 1)


def _fortran_loops(text: str) -> list[SourceLoop]:
    lines = text.splitlines()
    open_loops: list[tuple[int, int, str | None]] = []
    found = []
    for number, line in enumerate(lines, start=1):
        if line[:1] in "cC*!" and line[:1] and not line[:8].lower().startswith("call"):
            continue
        if begins := _FORTRAN_DO.match(line):
            column = line.lower().index("do", begins.start()) + 1
            open_loops.append((number, column, begins["label"]))
            continue
        if _FORTRAN_END.match(line) and open_loops:
            began, column, _ = open_loops.pop()
            found.append(SourceLoop("do", began, column, number, len(line)))
        elif labelled := _FORTRAN_LABEL.match(line):
            while open_loops and open_loops[-1][2] == labelled[1]:
                began, column, _ = open_loops.pop()
                found.append(SourceLoop("do", began, column, number, len(line)))
    return found
