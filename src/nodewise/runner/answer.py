# SPDX-License-Identifier: BSD-3-Clause
"""The answer of a run: the part of what it printed or wrote that is compared, as a digest and as text."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.runner.patterns import PatternError
from nodewise.runner.same_output import MOST_BYTES, Kind, SameOutput, matches, repeatable

#: A file's time of writing may lie this much before the clock's, by the kernel's tick.
_TICK_S = 0.02
#: A longer output has to repeat byte for byte: looking for times in it would take longer than many a run.
_MOST_LOOKED_THROUGH = 1 << 20
#: What the runner keeps of the end of an output.
_END = 64 << 10


@dataclass(frozen=True)
class Answer:
    """What is compared: its digest, and its text where that is not too long; `problem` says why there is none.

    Bytes that are no UTF-8 are escaped in the text (as `surrogateescape` does), so that equal texts are equal bytes.
    """

    digest: str = ""
    text: str | None = None
    problem: str | None = None


NO_ANSWER = Answer()


class AnswerReader:
    """Gets the answer of each run of a launcher: before the run, with it, and after it."""

    def __init__(self, rule: SameOutput, cwd: Path | None):
        self._rule = rule
        self._file = Path(cwd or ".", rule.what).absolute()
        self._pattern = re.compile(rule.what, re.MULTILINE) if rule.kind is Kind.PATTERN else None
        self._printed = rule.kind in (Kind.AUTO, Kind.OUTPUT, Kind.PATTERN)
        self._copy = -1
        self._before: os.stat_result | None = None
        self._digest = ""
        self._last = NO_ANSWER

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the runner has to inherit: the file that it copies what is printed to."""
        if self._printed and self._copy < 0:
            # in memory, and not in the runner's, whose own size a program's peak counts
            self._copy = os.memfd_create("answer")
        return (self._copy,) if self._printed else ()

    def request(self) -> dict[str, Any]:
        """What the request of a run says of it."""
        return {"answer": {"file": self.descriptors[0], "most": MOST_BYTES}} if self._printed else {}

    def before(self) -> None:
        """To be called before a run: how the file is that the run is to write."""
        self._before = _state(self._file) if self._rule.kind is Kind.FILE else None

    def read(self, reply: Mapping[str, Any]) -> Answer:
        """The answer of a run that ended well, from the runner's reply. Never raises."""
        if self._rule.kind is Kind.OFF:
            return NO_ANSWER
        if self._rule.kind is Kind.FILE:
            return self._written(float(reply["started_at"]))
        if self._digest != reply["answer"]["digest"]:
            self._digest = reply["answer"]["digest"]
            text = self._copied(int(reply["answer"]["bytes"]))
            self._last = Answer(self._digest if self._rule.kind is not Kind.AUTO else _own(self._digest, text), text)
        try:
            return self._last if self._pattern is None else self._found(self._pattern, reply)
        except PatternError as problem:
            return Answer(problem=f"--same-output: {problem}")

    def close(self) -> None:
        """Give back the file; the next runner gets another one."""
        if self._copy >= 0:
            os.close(self._copy)
            self._copy = -1

    def _copied(self, count: int) -> str | None:
        size = os.fstat(self._copy).st_size
        # for a pattern the beginning is better than nothing; the end is added to it
        if size < count and self._pattern is None:
            return None
        data, at = bytearray(), 0
        while at < size and (part := os.pread(self._copy, size - at, at)):
            data += part
            at += len(part)
        return _text(bytes(data))

    def _found(self, pattern: re.Pattern[str], reply: Mapping[str, Any]) -> Answer:
        text = self._last.text or ""
        left_out = int(reply["answer"]["bytes"]) - MOST_BYTES
        if left_out > 0:
            text += "\n" + reply["out"]["text"][-min(left_out, _END) :]
        found = matches(pattern, text)
        if found is None:
            found = matches(pattern, reply["err"]["text"])
        if found is None:
            return Answer(problem=f"wrong result: '{pattern.pattern}' is nowhere in the output")
        return Answer(_digest(found), found)

    def _written(self, started_at: float) -> Answer:
        state = _state(self._file)
        if state is None:
            plain = re.fullmatch(r"[\w -]+", self._rule.what)
            hint = f"; a regular expression has a group, such as '{self._rule.what} (\\S+)'" if plain else ""
            return Answer(problem=f"wrong result: the run left no file {self._rule.what}{hint}")
        # what an earlier run left is no answer of this one
        if state.st_mtime < started_at - _TICK_S and self._before is not None and _same(state, self._before):
            return Answer(problem=f"wrong result: the run did not write {self._rule.what}")
        digest, head = hashlib.blake2b(digest_size=8), bytearray()
        try:
            with self._file.open("rb") as file:
                while part := file.read(1 << 20):
                    digest.update(part)
                    head += part[: max(0, MOST_BYTES + 1 - len(head))]
        except OSError as problem:
            return Answer(problem=f"wrong result: {self._rule.what} cannot be read: {problem.strerror}")
        return Answer(digest.hexdigest(), _text(bytes(head)) if len(head) <= MOST_BYTES else None)


def _own(digest: str, text: str | None) -> str:
    """The digest of what of a text is to repeat; `digest` is that of all of it."""
    if text is None or len(text) > _MOST_LOOKED_THROUGH:
        return digest
    rest = repeatable(text)
    return digest if rest == text else _digest(rest)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _state(path: Path) -> os.stat_result | None:
    """The state of a regular file; None where there is none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state if stat.S_ISREG(state.st_mode) else None


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_mtime_ns, one.st_ctime_ns, one.st_size, one.st_ino) == (
        *(other.st_mtime_ns, other.st_ctime_ns),
        *(other.st_size, other.st_ino),
    )
