# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots found in files, folders and streams, however they follow each other: one a line, over several lines, in lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from nodewise.base.alike_json import AlikeObjects
from nodewise.base.bounded_json import open_regular, parse_json
from nodewise.base.errors import InputError
from nodewise.nodes.asking.silence import silence_of
from nodewise.nodes.checked import problem_of

#: The longest snapshot: one of 256 processors has at most 32 KB.
LONGEST = 1 << 20
#: Of a line of which nothing is taken so much is read, in the hope of its end.
_MOST_SKIPPED = 64 << 20
_TOO_LONG = f"it has more than {LONGEST} bytes"
_SNAPSHOTS = AlikeObjects()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
#: So begins what `nodewise snapshot` writes, and nothing within it.
_OURS = b'{"nodewise_snapshot"'
#: A text in quotation marks, the mark of one that does not end, or a bracket; each by itself, as `re` then skips what begins none four times as fast.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|"|{|}|\[|\]')

_NAMED = "name what `nodewise snapshot -o` wrote, or a folder of such files"

#: Where it stands, and the snapshot or why it is none.
Found = tuple[str, dict[str, Any] | str]


def read_all(sources: Iterable[Path | BinaryIO]) -> Iterator[Found]:
    """Snapshots with where they stand; for what is none, a text that says why. What `silence` wrote comes as it is.

    A file that is named twice is read once. Raises InputError for a path that cannot be read.
    """
    several = list(sources)
    seen: set[str] = set()

    def is_new(path: Path) -> bool:
        if len(several) == 1:
            return True
        place = os.path.realpath(path)
        known = place in seen
        seen.add(place)
        return not known

    for source in several:
        if not isinstance(source, Path):
            yield from snapshots_in(source, "standard input")
        elif source.is_dir():
            for path in _files_of(source):
                if is_new(path):
                    yield from _file(path, alone=False)
        elif is_new(source):
            yield from _file(source, alone=True)


def _files_of(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            # a folder of results has other files, too
            names = [e.name for e in entries if e.name.endswith((".json", ".jsonl")) and not e.name.startswith(".")]
    except OSError as problem:
        raise InputError(f"cannot read {folder}: {problem.strerror}", _NAMED) from problem
    return [folder / name for name in sorted(names)]


def _opened(path: Path, alone: bool) -> BinaryIO:
    """The file; what is named by itself may be a pipe, as a shell's `<(…)` and /dev/stdin are."""
    if not alone or not path.is_fifo():
        return open_regular(path)
    # without a writer it is empty, and nobody waits for one
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb")


def _file(path: Path, alone: bool) -> Iterator[Found]:
    try:
        file = _opened(path, alone)
    except OSError as problem:
        if alone:
            raise InputError(f"cannot read {path}: {problem.strerror}", _NAMED) from problem
        yield str(path), f"it cannot be read: {problem.strerror}"
        return
    except ValueError as problem:
        yield str(path), str(problem)
        return
    with file:
        try:
            yield from snapshots_in(file, str(path))
        except OSError as problem:
            # a server that is gone, or a disk with faults: the others are judged
            yield str(path), f"it cannot be read: {problem.strerror}"


def snapshots_in(stream: BinaryIO, origin: str) -> Iterator[Found]:
    """All snapshots of a stream, one after another, as `read_all`."""
    cutter, any_found, any_bytes, skipped = _Cutter(), False, False, 0
    while line := stream.readline(LONGEST + 1):
        if not any_bytes:
            any_bytes = True
            line = line.removeprefix(_BYTE_ORDER_MARK)
        for where, found in cutter.cut(line):
            any_found = True
            yield origin + where, found
        skipped = skipped + len(line) if cutter.skips else 0
        if skipped > _MOST_SKIPPED:
            yield origin, f"a line has more than {_MOST_SKIPPED >> 20} MiB: no more of it is read"
            return
    for where, found in cutter.rest():
        any_found = True
        yield origin + where, found
    if not any_found:
        yield origin, "there is no snapshot in it" if any_bytes else "it is empty"


class _Cutter:
    """Cuts lines where values begin and end, within a list or not: a value that is broken costs no other."""

    def __init__(self) -> None:
        self._number = 1  # of the line
        self._elements: int | None = None  # so many of the list that is being read
        self._depth = 0  # within the value
        self._kept: list[bytes] = []  # of the value, what stood in earlier lines
        self._size = 0
        self._where = ""
        self._first, self._indent = 0, 0  # the value's first line, and how far that is indented
        self._flat = False  # its second line is indented no more
        self._before = b""  # the last mark before the line
        self._carried = b""  # a text in quotation marks that goes on in the next piece of a long line
        self._at_start = True  # of a line
        #: Whether nothing of the rest of a line is taken.
        self.skips = False

    def cut(self, piece: bytes) -> Iterator[Found]:
        """What ends in this piece: a line, or so much of it as is read at once."""
        at_end = piece.endswith(b"\n")
        if not self.skips:
            whole = None if self._depth or self._carried else self._whole_line(piece)
            yield from (whole,) if whole else self._values(piece, at_end)
        self.skips = self.skips and not at_end
        self._number += at_end
        self._at_start = at_end

    def rest(self) -> Iterator[Found]:
        """What has not ended when all is read."""
        if self._depth or self._carried:
            yield self._ended(self._carried)
        if self._elements is not None:
            yield self._place(), "the list that it holds has no end: it was cut off"

    def _place(self) -> str:
        where = "" if self._number == 1 else f", line {self._number}"
        return f"{where}, number {self._elements} of its list" if self._elements else where

    def _whole_line(self, line: bytes) -> Found | None:
        """The one snapshot that a line is, as most are."""
        text = line.strip()
        if self._elements is not None:
            text = text.removesuffix(b",")
        if text[:2] != b'{"' or text[-1:] != b"}" or len(text) > LONGEST:
            return None
        found = parsed(text)
        if isinstance(found, str):
            return None
        self._count()
        self._before = b"}"
        return self._place(), found

    def _values(self, piece: bytes, at_end: bool) -> Iterator[Found]:
        start = piece.lstrip(b" \t")
        if self._at_start and self._depth and self._begins_anew(start, len(piece) - len(start)):
            # it was never closed, and what stands there is another one
            yield self._ended(b"")
        if not self._depth and self._elements is None and not self._carried and start[:1] not in b"{[]},":
            # no JSON at all
            if start.strip():
                yield self._place(), parsed(piece) if len(piece) <= LONGEST else _TOO_LONG
            self.skips = True
            return
        text = self._carried + piece
        self._carried = b""
        if not at_end:
            text = self._without_open_text(text)
        yield from self._cut_at_brackets(text, len(piece) - len(start))
        self._before = text.rstrip()[-1:] or self._before

    def _cut_at_brackets(self, text: bytes, indent: int) -> Iterator[Found]:
        at = 0
        for token in _TOKEN.finditer(text):
            mark = token[0]
            if mark[:1] == b'"':
                continue
            if self._depth:
                self._depth += 1 if mark in b"{[" else -1
                if not self._depth:
                    yield self._ended(text[at : token.end()])
                    at = token.end()
                continue
            yield from self._between(text[at : token.start()])
            yield from self._bracket_outside(mark, indent)
            at = token.start() if self._depth else token.end()
        if self._depth:
            self._keep(text[at:])
        else:
            yield from self._between(text[at:])

    def _bracket_outside(self, mark: bytes, indent: int) -> Iterator[Found]:
        """What a bracket begins or ends that stands in no value."""
        in_list = self._elements is not None
        if mark == b"{" or (mark == b"[" and in_list):
            self._count()
            self._where, self._depth, self._kept, self._size = self._place(), 1, [], 0
            self._first, self._indent, self._flat = self._number, indent, False
        elif mark == b"[":
            self._elements = 0
        elif mark == b"]" and in_list:
            self._elements = None
        else:
            yield self._place(), parsed(mark)

    def _without_open_text(self, text: bytes) -> bytes:
        """The part of a long line before a text that goes on in its next piece, which is carried over."""
        opened = next((t.start() for t in _TOKEN.finditer(text) if t[0] == b'"'), len(text))
        self._carried = text[opened:]
        if len(self._carried) > LONGEST:
            self._carried = b""
            self.skips = True
            self._size = LONGEST + 1
        return text[:opened]

    def _count(self) -> None:
        if self._elements is not None:
            self._elements += 1

    def _begins_anew(self, start: bytes, indent: int) -> bool:
        """Whether a line within a value shows, by its first mark and how far it is indented, that it belongs to another one."""
        opens = start[:1] in (b"{", b"[")
        if self._number == self._first + 1 and not opens:
            self._flat = indent <= self._indent
        if not opens or indent > self._indent:
            return False
        return not self._flat or self._before not in (b",", b"[") or start.startswith(_OURS)

    def _keep(self, text: bytes) -> None:
        self._size += len(text)
        if self._size > LONGEST:
            self._kept = []
        else:
            self._kept.append(text)

    def _ended(self, last: bytes) -> Found:
        self._keep(last)
        text, self._kept, self._depth = b"".join(self._kept), [], 0
        return self._where, parsed(text) if self._size <= LONGEST else _TOO_LONG

    def _between(self, text: bytes) -> Iterator[Found]:
        """What stands between values and is none."""
        for one in text.split(b","):
            if one := one.strip():
                self._count()
                yield self._place(), parsed(one)


def parsed(text: bytes) -> dict[str, Any] | str:
    """The snapshot that a text is, or what `silence` wrote; for what is none, a text that says why. Nobody changes it: others share its parts."""
    try:
        data: dict[str, Any] = _SNAPSHOTS.parse(text)
        # numbers beyond the bounds are said where they are looked for
        if silence_of(data) or problem_of(data) is None:
            return data
        return problem_of(again := parse_json(text)) or dict(again)
    except ValueError as problem:
        return str(problem)
