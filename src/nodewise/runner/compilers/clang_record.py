# SPDX-License-Identifier: BSD-3-Clause
"""What LLVM's compilers write with -fsave-optimization-record, read into attempts.

The record is YAML of a plain kind: documents of lines `Key: value`, and a list `Args` of one pair each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from nodewise.base.frozen import dataclass
from nodewise.runner.compilers.attempt import NOWHERE, Attempt, Outcome, Place

PASSES = "loop-vectorize|slp-vectorizer|loop-unroll|loop-idiom|loop-delete"

_HEAD = re.compile(r"--- !(\w+)")
_PAIR = re.compile(r"(?P<key>\w+):\s*(?P<value>.*)")
_LOCATION = re.compile(r"\{ File: (?P<file>.*), Line: (?P<line>\d+), *Column: (?P<column>\d+) \}")
_WIDTH = re.compile(r"vscale x (\d+)|(\d+)")
#: Missed by the vectorizer's own account, but only a part of what was said of the loop just before.
_SECOND = re.compile(r"interleav", re.IGNORECASE)

_GIVEN_UP = {"loop not vectorized: cannot prove it is safe to reorder memory operations"}
_NO_GAIN = {"VectorizationNotBeneficial", "InterleavingNotBeneficial"}


@dataclass
class Remark:
    """One document of the record."""

    kind: str
    passed: str = ""
    name: str = ""
    function: str = ""
    place: Place | None = None
    args: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The message as it would be printed."""
        return "".join(value for _, value in self.args)

    def number(self, key: str) -> int | None:
        """The number under `key`, of a scalable vector its least."""
        for name, value in self.args:
            if name == key and (found := _WIDTH.search(value)):
                return int(found[1] or found[2])
        return None


def _unquote(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
    return value


def _location(value: str) -> Place | None:
    found = _LOCATION.match(" ".join(value.split()))
    return Place(_unquote(found["file"]), int(found["line"]), int(found["column"])) if found else None


def read_remarks(lines: Iterable[str]) -> Iterator[Remark]:
    """The documents, as they come; lines that are no part of one are left out."""
    remark: Remark | None = None
    pairs: list[tuple[bool, str, str]] = []
    for raw in lines:
        line = raw.rstrip("\n")
        if head := _HEAD.match(line):
            if remark is not None:
                yield _filled(remark, pairs)
            remark, pairs = Remark(head[1]), []
        elif line == "...":
            if remark is not None:
                yield _filled(remark, pairs)
            remark, pairs = None, []
        elif remark is not None:
            entry = line.startswith("  - ")
            stripped = line[4:] if entry else line
            found = _PAIR.match(stripped) if entry or not line.startswith(" ") else None
            if found:
                pairs.append((entry, found["key"], found["value"]))
            elif pairs and line.startswith("      ") and not line.strip().startswith("DebugLoc:"):
                last = pairs[-1]
                pairs[-1] = (last[0], last[1], f"{last[2]} {line.strip()}")
            elif pairs and line.startswith("    DebugLoc:"):
                pairs.append((True, "DebugLoc", line.partition(":")[2].strip()))
            elif pairs and line.startswith(" "):
                last = pairs[-1]
                pairs[-1] = (last[0], last[1], f"{last[2]} {line.strip()}")
    if remark is not None:
        yield _filled(remark, pairs)


def _filled(remark: Remark, pairs: list[tuple[bool, str, str]]) -> Remark:
    for entry, key, value in pairs:
        if entry:
            if key != "DebugLoc":
                remark.args.append((key, _unquote(value)))
        elif key == "Pass":
            remark.passed = value.strip()
        elif key == "Name":
            remark.name = value.strip()
        elif key == "Function":
            remark.function = _unquote(value)
        elif key == "DebugLoc":
            remark.place = _location(value)
    return remark


def read_clang_record(lines: Iterable[str], compiler: str) -> list[Attempt]:
    """The attempts in a record, in its order."""
    attempts: list[Attempt] = []
    waiting: list[Remark] = []
    others: list[Attempt] = []
    for remark in read_remarks(lines):
        if waiting and waiting[0].function != remark.function:
            waiting = []
        if remark.passed != "loop-vectorize":
            others += _other(remark, compiler)
        elif remark.kind.startswith("Analysis"):
            waiting.append(remark)
        elif remark.place is not None or remark.function:
            _take(attempts, remark, waiting, compiler)
            waiting = []
    seen = {(a.place, a.function) for a in attempts}
    gone = [a for a in others if a.outcome is Outcome.STRAIGHT or (a.place, a.function) not in seen]
    return attempts + list(dict.fromkeys(gone))


def _take(attempts: list[Attempt], remark: Remark, waiting: list[Remark], compiler: str) -> None:
    place = remark.place or NOWHERE
    notes = tuple(dict.fromkeys(w.text for w in waiting if w.text))
    at = next((w.place for w in waiting if w.place is not None and w.place != remark.place), None)
    common = Attempt(compiler, place, remark.function, Outcome.MISSED, at=at)
    if remark.kind == "Passed" and remark.name == "Vectorized":
        scalable = any("vscale" in value for key, value in remark.args if key == "VectorizationFactor")
        attempts.append(
            replace(
                common,
                outcome=Outcome.VECTORIZED,
                elements=remark.number("VectorizationFactor"),
                interleave=remark.number("InterleaveCount"),
                scalable=scalable,
                notes=notes,
                at=None,
            )
        )
        return
    last = attempts[-1] if attempts else None
    same = last is not None and (last.place, last.function) == (place, remark.function)
    if last is not None and same and not waiting and _GIVEN_UP & set(last.why) and remark.name in _NO_GAIN:
        # too many tests before the loop: then the compiler goes on with this loop as if there were no gain
        return
    if last is not None and same and not waiting and last.outcome is Outcome.MISSED and _SECOND.search(remark.name):
        attempts[-1] = replace(last, why=(*last.why, remark.text))
        return
    why = (*notes, *([remark.text] if remark.text else []))
    interleave = remark.number("InterleaveCount") if remark.kind == "Passed" else None
    attempts.append(replace(common, why=why, interleave=interleave))


def _other(remark: Remark, compiler: str) -> Iterator[Attempt]:
    if remark.kind != "Passed" or remark.place is None:
        return
    common = Attempt(compiler, remark.place, remark.function, Outcome.STRAIGHT, notes=(remark.text,))
    if remark.passed == "slp-vectorizer":
        yield common
    elif remark.passed == "loop-unroll" and remark.name == "FullyUnrolled":
        yield replace(common, outcome=Outcome.UNROLLED, elements=remark.number("UnrollCount"))
    elif remark.passed == "loop-idiom":
        yield replace(common, outcome=Outcome.LIBRARY)
    elif remark.passed == "loop-delete":
        yield replace(common, outcome=Outcome.REMOVED)
