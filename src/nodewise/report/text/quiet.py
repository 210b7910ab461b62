# SPDX-License-Identifier: BSD-3-Clause
"""Findings for a terminal: the worst first, each with what it does and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from nodewise.base.escaping import painted
from nodewise.base.units import format_percent, format_seconds
from nodewise.quiet.finding import Finding, Severity, worst_first
from nodewise.quiet.measured import Resolution
from nodewise.report.text.severity import CODES
from nodewise.runner.spin import Spin

_NAME, _LABEL = 21, 10
_MOST_PROCESSORS = 16


def findings_text(findings: Sequence[Finding], width: int = 100, colour: bool = False, everything: bool = False) -> str:
    """Noisy ones and notes with what is said of them, the others as a line each; with `everything` all in full, with sources."""
    painter = _Painter(max(60, width), colour)
    name = max((len(f.name) for f in findings), default=_NAME)
    blocks, brief = [], []
    for f in worst_first(findings):
        full = everything or f.severity in (Severity.WRONG, Severity.NOISY, Severity.NOTE)
        if full:
            blocks.append(painter.full(f, name, everything))
        else:
            brief.append(painter.brief(f, name))
    return "\n\n".join([*blocks, *(["\n".join(brief)] if brief else [])])


def counts_text(findings: Sequence[Finding]) -> str:
    """`2 noisy, 5 notes, 3 unknown, 11 ok`."""
    counts = {s: sum(f.severity is s for f in findings) for s in Severity}
    words = {Severity.NOTE: "note" if counts[Severity.NOTE] == 1 else "notes"}
    return ", ".join(f"{n} {words.get(s, s)}" for s, n in counts.items() if n)


def spins_text(spins: Sequence[Spin], found: Sequence[Resolution]) -> str:
    """What the loop saw, by processor and by length of run."""
    if not spins:
        return ""
    lines = [
        f"{'processor':>9}{'loop':>10}{'spread':>9}{'slowest':>10}{'lost':>9}{'a second':>10}{'longest':>10}{'waited':>10}"
    ]
    shown = spins if len(spins) <= _MOST_PROCESSORS else sorted(spins, key=lambda s: -s.lost)[:_MOST_PROCESSORS]
    for s in shown:
        typical = s.typical_s
        away = sorted(abs(q - typical) for q in s.quanta_s)[len(s.quanta_s) // 2]
        waited = "?" if s.waited_s is None else format_percent(s.waited_s / s.seconds)
        lines.append(
            f"{s.processor:>9}{format_seconds(typical):>10}{format_percent(away / typical):>9}"
            f"{format_seconds(max(s.quanta_s)):>10}{format_percent(s.lost):>9}{s.detours / s.seconds:>10.0f}"
            f"{format_seconds(s.longest_s):>10}{waited:>10}"
        )
    if len(shown) < len(spins):
        lines.append(f"          and {len(spins) - len(shown)} processors that lost less")
    if found:
        lines += [
            "",
            f"{'runs of':>9}{'differ by':>12}{'slowest':>10}{'to detect 1%':>19}{'10 runs of each detect':>25}",
        ]
        for r in found:
            n = r.noise
            lines.append(
                f"{format_seconds(n.seconds):>9}{format_percent(n.mad):>12}{'+' + format_percent(max(0.0, n.worst)):>10}"
                f"{'no number of runs' if r.hopeless else f'{r.runs} runs of each':>19}{format_percent(r.least):>25}"
            )
    return "\n".join(lines)


class _Painter:
    def __init__(self, width: int, colour: bool):
        self._width, self._colour = width, colour

    def _paint(self, text: str, severity: Severity) -> str:
        return painted(text, CODES[severity]) if self._colour else text

    def _head(self, f: Finding, name: int) -> list[str]:
        label = str(f.severity).upper() if f.severity in (Severity.WRONG, Severity.NOISY) else str(f.severity)
        indent = 8 + name + 2
        lines = textwrap.wrap(f.summary, self._width - indent, break_long_words=False) or [""]
        first = f"{self._paint(f'{label:<8}', f.severity)}{f.name:<{name}}  {lines[0]}"
        return [first, *(" " * indent + line for line in lines[1:])]

    def brief(self, f: Finding, name: int) -> str:
        return "\n".join(self._head(f, name))

    def full(self, f: Finding, name: int, everything: bool) -> str:
        lines = self._head(f, name)
        do = f.do + (" (as root)" if f.do and f.root else "")
        rows = [("seen in", e) for e in f.evidence]
        rows += [("effect", f.effect), ("do", do), ("put back", f.undo)]
        if everything or f.severity in (Severity.WRONG, Severity.NOISY):
            rows.append(("source", f.source))
        last = ""
        for label, text in rows:
            if not text:
                continue
            shown = label if label != last else ""
            last = label
            wrapped = textwrap.wrap(text, self._width - 8 - _LABEL, break_long_words=False, break_on_hyphens=False)
            lines += [f"{' ' * 8}{shown if i == 0 else '':<{_LABEL}}{line}" for i, line in enumerate(wrapped)]
        return "\n".join(lines)
