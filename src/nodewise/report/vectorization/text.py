# SPDX-License-Identifier: BSD-3-Clause
"""A file's loops for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from nodewise.report.vectorization.causes import Found
from nodewise.report.vectorization.tell import LoopTold, Status, Told, counts
from nodewise.runner.compilers.toolchain import Compiler
from nodewise.vectorization.loops import Examined

_CODES = {
    Status.VECTORIZED: "32",
    Status.PARTLY: "33",
    Status.MISSED: "31",
    Status.GONE: "36",
    Status.OUTER: "2",
    Status.COLLAPSED: "2",
    Status.LEFT_OUT: "2",
    Status.UNSEEN: "2",
}
_LEAST_WIDTH = 60
_FUNCTIONS_SHOWN = 3


def vectorization_text(
    found: Examined, told: Sequence[LoopTold], shown: Sequence[LoopTold], width: int = 100, colour: bool = False
) -> str:
    """The head with counts over all loops, then those that are to be shown."""
    name = max((len(c.name) for c in found.compilers), default=0)
    painter = _Painter(max(_LEAST_WIDTH, width), colour, name, found.simd)
    lines = painter.head(found, told)
    for loop in shown:
        lines += ["", *painter.loop(loop)]
    lines += painter.tail(found, told, shown)
    return "\n".join(lines)


class _Painter:
    def __init__(self, width: int, colour: bool, name: int, simd: bool):
        self._width, self._colour, self._name, self._simd = width, colour, max(name, 4), simd

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _wrapped(self, label: str, text: str, indent: int, code: str = "") -> list[str]:
        start = indent + self._name + 2
        lines = textwrap.wrap(text, self._width - start, break_long_words=False, break_on_hyphens=False) or [""]
        first = f"{' ' * indent}{label:<{self._name}}  {self._paint(lines[0], code) if code else lines[0]}"
        return [first, *(" " * start + (self._paint(line, code) if code else line) for line in lines[1:])]

    def head(self, found: Examined, told: Sequence[LoopTold]) -> list[str]:
        lines = [f"{found.file}: {len(told)} loop{'s' * (len(told) != 1)}"]
        lines += self._wrapped("flags", f"{' '.join(found.flags)} ({found.flags_from})", 2)
        for compiler in found.compilers:
            lines += self._wrapped(compiler.name, self._counts(told, compiler), 2)
        for remark in found.remarks:
            lines += self._wrapped("note", remark, 2)
        return lines

    def _counts(self, told: Sequence[LoopTold], compiler: Compiler) -> str:
        return ", ".join(f"{n} {status}" for status, n in counts(told, compiler.name).items()) or "no loops"

    def loop(self, told: LoopTold) -> list[str]:
        where = f"{told.loop.line}:{told.loop.column}"
        names = ", ".join(told.functions[:_FUNCTIONS_SHOWN])
        more = len(told.functions) - _FUNCTIONS_SHOWN
        named = f"in {names}{f' and {more} more' if more > 0 else ''}" if names else ""
        room = self._width - len(where) - 3
        text = told.loop.text if len(told.loop.text) <= room else told.loop.text[: room - 1] + "…"
        lines = [f"{self._paint(where, '1')}  {text}"]
        if named:
            lines += (
                self._wrapped("", named, 2)[0:1]
                if len(named) < self._width - 10
                else [f"  {named[: self._width - 3]}…"]
            )
        if told.loop.directive is not None:
            lines += self._wrapped("", f"under {told.loop.directive.text}", 2)
        causes: list[Found] = []
        for entry in told.told:
            lines += self._compiler(entry, causes)
        return lines + self._advice(causes)

    def _compiler(self, told: Told, causes: list[Found]) -> list[str]:
        times = f" (×{told.instances})" if told.instances > 1 else ""
        done = "; ".join(f"{words}{f' (×{n})' if n > 1 and len(told.how) > 1 else ''}" for words, n in told.how)
        done = told.why or done
        said = f"{told.status}{times}{f': {done}' if done else ''}"
        lines = self._wrapped(told.compiler, said, 2, _CODES[told.status])
        if told.simd is False:
            why = "was not honoured" if self._simd else "is ignored: neither -fopenmp nor -fopenmp-simd is given"
            lines += self._wrapped("", f"omp simd {why}", 2, _CODES[Status.MISSED])
        for note in told.notes:
            lines += self._wrapped("", note.words, 2)
        for reason in told.reasons:
            at = f" ({reason.line}:{reason.column})" if reason.line else ""
            several = f"×{reason.count} " if len(told.reasons) > 1 or told.how else ""
            lines += self._wrapped("", f"{several}{reason.found.words}{at}", 2)
        causes += [*told.notes, *(r.found for r in told.reasons)]
        return lines

    def _advice(self, causes: Sequence[Found]) -> list[str]:
        telling = [c for c in causes if not c.vague] or causes
        lines: list[str] = []
        for text in dict.fromkeys(text for cause in telling for text in cause.do):
            lines += self._wrapped("" if lines else "do", f"- {text}", 2)
        risks = dict.fromkeys(cause.risk for cause in telling if cause.risk)
        for i, risk in enumerate(risks):
            lines += self._wrapped("" if i else "risk", risk, 2)
        return lines

    def tail(self, found: Examined, told: Sequence[LoopTold], shown: Sequence[LoopTold]) -> list[str]:
        lines = []
        if len(shown) < len(told):
            lines.append(f"{len(shown)} of {len(told)} loops shown")
        if found.straight:
            places = sorted({a.place.line for a in found.straight})
            named = ", ".join(map(str, places[:8])) + (" …" if len(places) > 8 else "")
            lines.append(f"straight-line code also made into vectors at line{'s' * (len(places) > 1)} {named}")
        loops = sum(found.elsewhere.values())
        if loops:
            files = sum(1 for n in found.elsewhere.values() if n)
            lines.append(f"{loops} instances of loops of {files} included file{'s' * (files != 1)} are not shown")
        return ["", *lines] if lines else []
