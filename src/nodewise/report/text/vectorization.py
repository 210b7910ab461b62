# SPDX-License-Identifier: BSD-3-Clause
"""A file's loops for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from nodewise.base.escaping import painted
from nodewise.runner.compilers.toolchain import Compiler
from nodewise.vectorization.causes import Found
from nodewise.vectorization.loop_reports import CompilerReport, LoopReport, Status, counts
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
    found: Examined, reports: Sequence[LoopReport], shown: Sequence[LoopReport], width: int = 100, colour: bool = False
) -> str:
    """The head with counts over all loops, then those that are to be shown."""
    name = max((len(c.name) for c in found.compilers), default=0)
    painter = _Painter(max(_LEAST_WIDTH, width), colour, name, found.simd)
    lines = painter.head(found, reports)
    for loop in shown:
        lines += ["", *painter.loop(loop)]
    lines += painter.tail(found, reports, shown)
    return "\n".join(lines)


class _Painter:
    def __init__(self, width: int, colour: bool, name: int, simd: bool):
        self._width, self._colour, self._name, self._simd = width, colour, max(name, 4), simd

    def _paint(self, text: str, code: str) -> str:
        return painted(text, code) if self._colour else text

    def _wrapped(self, label: str, text: str, indent: int, code: str = "") -> list[str]:
        start = indent + self._name + 2
        lines = textwrap.wrap(text, self._width - start, break_long_words=False, break_on_hyphens=False) or [""]
        first = f"{' ' * indent}{label:<{self._name}}  {self._paint(lines[0], code) if code else lines[0]}"
        return [first, *(" " * start + (self._paint(line, code) if code else line) for line in lines[1:])]

    def head(self, found: Examined, reports: Sequence[LoopReport]) -> list[str]:
        lines = [f"{found.file}: {len(reports)} loop{'s' * (len(reports) != 1)}"]
        lines += self._wrapped("flags", f"{' '.join(found.flags)} ({found.flags_from})", 2)
        for compiler in found.compilers:
            lines += self._wrapped(compiler.name, self._counts(reports, compiler), 2)
        for remark in found.remarks:
            lines += self._wrapped("note", remark, 2)
        return lines

    def _counts(self, reports: Sequence[LoopReport], compiler: Compiler) -> str:
        return ", ".join(f"{n} {status}" for status, n in counts(reports, compiler.name).items()) or "no loops"

    def loop(self, report: LoopReport) -> list[str]:
        where = f"{report.loop.line}:{report.loop.column}"
        names = ", ".join(report.functions[:_FUNCTIONS_SHOWN])
        more = len(report.functions) - _FUNCTIONS_SHOWN
        named = f"in {names}{f' and {more} more' if more > 0 else ''}" if names else ""
        room = self._width - len(where) - 3
        text = report.loop.text if len(report.loop.text) <= room else report.loop.text[: room - 1] + "…"
        lines = [f"{self._paint(where, '1')}  {text}"]
        if named:
            lines += (
                self._wrapped("", named, 2)[0:1]
                if len(named) < self._width - 10
                else [f"  {named[: self._width - 3]}…"]
            )
        if report.loop.directive is not None:
            lines += self._wrapped("", f"under {report.loop.directive.text}", 2)
        causes: list[Found] = []
        for entry in report.by_compiler:
            lines += self._compiler(entry, causes)
        return lines + self._advice(causes)

    def _compiler(self, report: CompilerReport, causes: list[Found]) -> list[str]:
        times = f" (×{report.instances})" if report.instances > 1 else ""
        done = "; ".join(f"{words}{f' (×{n})' if n > 1 and len(report.how) > 1 else ''}" for words, n in report.how)
        done = report.why or done
        outcome = f"{report.status}{times}{f': {done}' if done else ''}"
        lines = self._wrapped(report.compiler, outcome, 2, _CODES[report.status])
        if report.simd is False:
            why = "was not honoured" if self._simd else "is ignored: neither -fopenmp nor -fopenmp-simd is given"
            lines += self._wrapped("", f"omp simd {why}", 2, _CODES[Status.MISSED])
        notes = [text for note in report.notes for text in self._wrapped("", note.words, 2)]
        reasons: list[str] = []
        for reason in report.reasons:
            at = f" ({reason.line}:{reason.column})" if reason.line else ""
            several = f"×{reason.count} " if len(report.reasons) > 1 or report.how else ""
            reasons += self._wrapped("", f"{several}{reason.found.words}{at}", 2)
        found = [r.found for r in report.reasons]
        # notes are about how it was vectorized; where it was not, why comes first
        causes += [*report.notes, *found] if report.how else [*found, *report.notes]
        return [*lines, *notes, *reasons] if report.how else [*lines, *reasons, *notes]

    def _advice(self, causes: Sequence[Found]) -> list[str]:
        specific = [c for c in causes if not c.vague] or causes
        lines: list[str] = []
        for text in dict.fromkeys(text for cause in specific for text in cause.do):
            lines += self._wrapped("" if lines else "do", f"- {text}", 2)
        risks = dict.fromkeys(cause.risk for cause in specific if cause.risk)
        for i, risk in enumerate(risks):
            lines += self._wrapped("" if i else "risk", risk, 2)
        return lines

    def tail(self, found: Examined, reports: Sequence[LoopReport], shown: Sequence[LoopReport]) -> list[str]:
        lines = []
        if len(shown) < len(reports):
            lines.append(f"{len(shown)} of {len(reports)} loops shown")
        if found.straight:
            places = sorted({a.place.line for a in found.straight})
            named = ", ".join(map(str, places[:8])) + (" …" if len(places) > 8 else "")
            lines.append(f"straight-line code also made into vectors at line{'s' * (len(places) > 1)} {named}")
        loops = sum(found.elsewhere.values())
        if loops:
            files = sum(1 for n in found.elsewhere.values() if n)
            lines.append(f"{loops} instances of loops of {files} included file{'s' * (files != 1)} are not shown")
        return ["", *lines] if lines else []
