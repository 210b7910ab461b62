# SPDX-License-Identifier: BSD-3-Clause
"""What GCC writes with -fsave-optimization-record, read into attempts.

GCC tries a loop with several kinds of vectors, and -fopt-info prints the reason why the last one failed, which is often one
that concerns this kind alone. The record holds the reasons of all of them: those of the first are reported here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, TextIO

from nodewise.base.frozen import dataclass
from nodewise.runner.compilers.attempt import NOWHERE, Attempt, Outcome, Place

#: Passes, other than the vectorizer, that end a loop's life.
_UNROLLS = ("cunrolli", "cunroll")
_CHUNK = 1 << 20
_PASSES = ("vect", "slp", "ldist", *_UNROLLS)

_BEGIN = re.compile(r"Analyzing loop at ")
_MISSED = "couldn't vectorize loop"
_DONE = re.compile(
    r"(?P<epilogue>epilogue )?loop vectorized using (?:masked )?(?:(?P<bytes>\d+) byte|variable length) vectors"
)
_OUTER = "OUTER LOOP VECTORIZED"
_MODE_FAILED = re.compile(r"\*\*\*\*\* Analysis\s+failed with vector mode (\w+)")
_MODE_WELL = re.compile(r"\*\*\*\*\* Analysis succeeded with vector mode (\w+)")
_FACTOR = re.compile(r"(?:vectorization factor = |updating vectorization factor to )(\d+)")
_STATEMENT = re.compile(r"==> examining (?:pattern )?statement: (.*)", re.DOTALL)
_USEFUL_NOTES = re.compile(
    r"in-order \(fold-left\) reduction|versioned for vectorization|using (?:gather|scatter)|"
    r"using peeling|peeling for alignment will be applied|Detected interleaving|element-?wise access|"
    r"iterations completely unrolled"
)
_DISTANCE = re.compile(r"^dependence distance\s*=\s*(-?\d+)")
_STRAIGHT = re.compile(r"basic block part vectorized using (?:(\d+) byte|variable length) vectors")
_LIBRARY = re.compile(r"distributed: split to (\d+) loops and (\d+) library calls")
_UNROLLED = re.compile(r"loop with (\d+) iterations completely unrolled|loop turned into non-loop; it never loops")
#: Said of loops around others only.
_NEST = re.compile(
    r"Considering outer-loop|multiple nested loops|loop nest containing|Bad inner loop|inner-loop count not|outerloop form|OUTER LOOP VECTORIZED"
)
_FORM = "=== vect_analyze_loop_form ==="


@dataclass(frozen=True)
class _Line:
    """One message of the record, with what it is about."""

    passed: str
    kind: str
    text: str
    function: str
    place: Place | None
    chain: tuple[str, ...]
    sites: tuple[Place, ...] = ()
    depth: int = 0


@dataclass
class _Loop:
    """A loop while the record is still being read."""

    place: Place | None = None
    function: str = ""
    chain: tuple[str, ...] = ()
    sites: tuple[Place, ...] = ()
    nest: bool = False
    form_depth: int | None = None
    first: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    modes_failed: int = 0
    at: Place | None = None
    statement: str = ""
    distance: int = 0
    factor: int | None = None
    widths: list[int] = field(default_factory=list)
    scalable: bool = False
    elements: int | None = None
    outer: bool = False


def message_text(message: Sequence[Any]) -> str:
    """A message of the record as one text; its parts are texts, statements, expressions and symbols."""
    parts = []
    for part in message:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict):
            parts.append(str(part.get("stmt", part.get("expr", part.get("symtab_node", "")))))
    return "".join(parts).strip()


def read_gcc_stream(stream: TextIO, compiler: str) -> list[Attempt]:
    """The attempts in a record's text, in its order. A part that is not as it should be is left out.

    Only a part of the text is held at a time: templates make hundreds of megabytes.
    """
    parts = _Parts(stream)
    if not parts.skip("["):
        return []
    parts.value()
    parts.skip(",")
    passes = parts.value()
    if not (parts.skip(",") and parts.skip("[")):
        return []
    return _read(passes, parts.items(), compiler)


class _Parts:
    """Values of a JSON text, one after another."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._buffer = ""
        self._at = 0
        self._decoder = json.JSONDecoder()

    def _more(self) -> bool:
        fresh = self._stream.read(max(_CHUNK, len(self._buffer) - self._at))
        self._buffer = self._buffer[self._at :] + fresh
        self._at = 0
        return bool(fresh)

    def _next(self) -> str:
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at].isspace():
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def skip(self, sign: str) -> bool:
        """Whether the next sign is this one, which is then passed over."""
        if self._next() != sign:
            return False
        self._at += 1
        return True

    def value(self) -> Any:
        """The next value, None where the text ends in it or is no JSON."""
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except ValueError:
                if not self._more():
                    return None
                continue
            self._at = end
            return value

    def items(self) -> Iterator[Any]:
        """The values of a list whose bracket has been passed over."""
        while self._next() not in ("", "]"):
            value = self.value()
            if value is None:
                return
            yield value
            if not self.skip(","):
                return


def _read(passes: Any, records: Iterable[Any], compiler: str) -> list[Attempt]:
    names: dict[str, str] = {}
    _pass_names(passes, names)
    done: list[_Line] = []
    attempts = list(_loops(_vectorizers(_lines(records, names, ""), done), compiler))
    seen = {(a.place, a.function) for a in attempts}
    return attempts + list(_others(done, compiler, seen))


def _vectorizers(lines: Iterable[_Line], done: list[_Line]) -> Iterator[_Line]:
    """Its lines; successes of the other passes are put into `done`."""
    for line in lines:
        if line.passed == "vect":
            yield line
        elif line.kind == "success":
            done.append(line)


def _pass_names(passes: Any, names: dict[str, str]) -> None:
    for entry in passes if isinstance(passes, list) else ():
        if isinstance(entry, dict):
            names[str(entry.get("id"))] = str(entry.get("name"))
            _pass_names(entry.get("children"), names)


def _lines(records: Iterable[Any], names: dict[str, str], passed: str, depth: int = 0) -> Iterator[_Line]:
    for entry in records:
        if not isinstance(entry, dict):
            continue
        own = names.get(str(entry["pass"]), "") if "pass" in entry else passed
        if own not in _PASSES:
            continue
        inlined = entry.get("inlining_chain")
        chain = [c for c in inlined if isinstance(c, dict)] if isinstance(inlined, list) else []
        functions = tuple(str(c.get("fndecl", "")) for c in chain)
        message = entry.get("message")
        text = message_text(message) if isinstance(message, list) else ""
        yield _Line(
            own,
            str(entry.get("kind", "")),
            text,
            functions[-1] if functions else str(entry.get("function", "")),
            _place(entry.get("location")),
            functions,
            tuple(site for c in chain if (site := _place(c.get("site"))) is not None),
            depth,
        )
        children = entry.get("children")
        yield from _lines(children if isinstance(children, list) else (), names, own, depth + 1)


def _place(location: Any) -> Place | None:
    if not isinstance(location, dict) or not isinstance(location.get("line"), int):
        return None
    column = location.get("column")
    return Place(str(location.get("file", "")), location["line"], column if isinstance(column, int) else 0)


def _loops(lines: Iterable[_Line], compiler: str) -> Iterator[Attempt]:
    loop: _Loop | None = None
    for line in lines:
        text, begins, rest = _split(line.text)
        if loop is not None:
            if text.startswith(_MISSED):
                yield from _finished(loop, line, compiler)
                loop = None
            else:
                _take(loop, line, text)
        if begins or (line.kind == "note" and text.startswith("vectorized ") and text.endswith("in function.")):
            if loop is not None:
                yield from _finished(loop, None, compiler)
            loop = _Loop() if begins else None
        if rest and loop is not None:
            _take(loop, line, rest)
    if loop is not None:
        yield from _finished(loop, None, compiler)


def _split(text: str) -> tuple[str, bool, str]:
    """What is said before a new loop begins, whether one does, and what is said after its heading."""
    found = _BEGIN.search(text)
    if not found:
        return text, False, ""
    return text[: found.start()].strip(), True, text[found.end() :].partition("\n")[2].strip()


def _locate(loop: _Loop, line: _Line) -> None:
    loop.place, loop.function, loop.chain, loop.sites = line.place, line.function, line.chain, line.sites


def _take(loop: _Loop, line: _Line, text: str) -> None:
    if _FORM in text:
        # the form of a loop within is looked at from within its own
        loop.nest = loop.nest or (loop.form_depth is not None and line.depth > loop.form_depth)
        loop.form_depth = line.depth if loop.form_depth is None else loop.form_depth
    loop.nest = loop.nest or _NEST.search(text) is not None
    done = _DONE.search(text)
    if loop.place is None and line.place is not None:
        _locate(loop, line)
    if done or _OUTER in text:
        _take_success(loop, line, text, done)
    elif found := _MODE_FAILED.search(text):
        loop.modes_failed += 1
    elif _MODE_WELL.search(text):
        if loop.elements is None and not loop.widths:
            loop.elements = loop.factor
    elif found := _STATEMENT.search(text):
        loop.statement = found[1].strip()
    elif line.kind == "failure" or "can tell at compile time" in text:
        _take_failure(loop, line, text)
    if factor := _FACTOR.search(text):
        loop.factor = int(factor[1])
    if text not in loop.notes and _USEFUL_NOTES.search(text) and (line.kind == "success" or not loop.modes_failed):
        loop.notes.append(text)
    if distance := _DISTANCE.search(text):
        loop.distance = int(distance[1]) or loop.distance


def _take_success(loop: _Loop, line: _Line, text: str, done: re.Match[str] | None) -> None:
    if not loop.widths and line.place is not None:
        _locate(loop, line)
    loop.outer = loop.outer or _OUTER in text
    if done:
        loop.widths.append(int(done["bytes"] or 0))
        loop.scalable = loop.scalable or done["bytes"] is None


def _take_failure(loop: _Loop, line: _Line, text: str) -> None:
    if not text:
        # the statement that the problem is about; its words come later, for the last kind of vectors alone
        if not loop.modes_failed:
            loop.at = line.place
        return
    if "not vectorizable" in text and loop.statement:
        text = f"{text} [{loop.statement}]"
    if "bad data dependence" in text and loop.distance and not loop.modes_failed:
        text = f"{text} [dependence distance {loop.distance}]"
    (loop.later if loop.modes_failed else loop.first).append(text)


def _finished(loop: _Loop, last: _Line | None, compiler: str) -> Iterator[Attempt]:
    place = last.place if last is not None and last.place is not None else loop.place
    function = loop.function or (last.function if last is not None else "")
    if last is not None and last.place is not None:
        _locate(loop, last)
    common = Attempt(
        compiler,
        place or NOWHERE,
        function,
        Outcome.MISSED,
        chain=loop.chain,
        sites=loop.sites,
        nest=loop.nest,
        at=loop.at,
    )
    if loop.widths:
        notes = (*loop.notes, *(["outer loop vectorized"] if loop.outer else []))
        yield replace(
            common,
            outcome=Outcome.VECTORIZED,
            width_bytes=loop.widths[0] or None,
            elements=loop.elements,
            scalable=loop.scalable,
            epilogues=tuple(loop.widths[1:]),
            notes=tuple(dict.fromkeys(notes)),
            at=None,
        )
    elif last is not None:
        yield replace(common, why=_reasons(loop), notes=tuple(loop.notes))


def _reasons(loop: _Loop) -> tuple[str, ...]:
    """The reasons of the first kind of vectors, then what was said at the end, unless it is a later kind's own."""
    reasons = list(loop.first)
    if loop.later:
        counts = {text: loop.later.count(text) for text in loop.later}
        last = loop.later[-1]
        own_of_later = counts[last] > 1 and last not in loop.first and loop.first
        if not (own_of_later or ("no vectype" in last and loop.first and _decided(loop.first))):
            reasons.append(last)
    return tuple(dict.fromkeys(reasons))


def _decided(reasons: Sequence[str]) -> bool:
    """Whether they say more than that something cannot be analysed."""
    return not all("cannot be analyzed" in r for r in reasons)


def _others(lines: Iterable[_Line], compiler: str, seen: set[tuple[Place, str]]) -> Iterator[Attempt]:
    """Straight-line code, and loops that were gone before the vectorizer came."""
    reported: set[tuple[Place, str, Outcome]] = set()
    for line in lines:
        if line.kind != "success" or line.place is None:
            continue
        attempt = _other(line, compiler)
        if attempt is None:
            continue
        gone = attempt.outcome in (Outcome.LIBRARY, Outcome.UNROLLED) and not attempt.early
        if gone and (attempt.place, attempt.function) in seen:
            continue
        key = (attempt.place, attempt.function, attempt.outcome)
        if key not in reported:
            reported.add(key)
            yield attempt


def _other(line: _Line, compiler: str) -> Attempt | None:
    assert line.place is not None
    common = Attempt(compiler, line.place, line.function, Outcome.STRAIGHT, chain=line.chain, sites=line.sites)
    if line.passed == "slp" and (found := _STRAIGHT.search(line.text)):
        return replace(common, width_bytes=int(found[1]) if found[1] else None, scalable=not found[1])
    if line.passed == "ldist" and (found := _LIBRARY.search(line.text)) and int(found[2]) > 0:
        return replace(common, outcome=Outcome.LIBRARY, notes=(line.text,)) if int(found[1]) == 0 else None
    if line.passed in _UNROLLS and (found := _UNROLLED.search(line.text)):
        times = int(found[1]) if found[1] else 1
        early = line.passed == _UNROLLS[0]
        return replace(common, outcome=Outcome.UNROLLED, elements=times, early=early, notes=(line.text,))
    return None
