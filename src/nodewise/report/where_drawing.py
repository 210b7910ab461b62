# SPDX-License-Identifier: BSD-3-Clause
"""Where threads ran over time, as a self-contained SVG: a row for each thread, coloured by processor."""

from __future__ import annotations

from html import escape

from nodewise.base.processors import format_processors
from nodewise.base.units import format_seconds
from nodewise.report.machine_drawing import FAINT, FONT
from nodewise.report.seating import INK, ramp_colour
from nodewise.runner.agreement import Agreement
from nodewise.runner.observe import Observation, SeenThread

_WIDTH, _LEFT, _RIGHT, _MARGIN = 1200, 190, 330, 24
_ROW = 18
#: More rows than this are drawn thinner, so that the picture stays one screen or two.
_MANY = 80


def where_svg(seen: Observation, agreed: Agreement) -> str:
    """Threads from top to bottom, time from left to right; to the right what each may use and what came of it."""
    processors = sorted({p for process in seen.processes.values() for t in process.threads.values() for p in t.ran})
    place = {p: i for i, p in enumerate(processors)}
    row = _ROW if sum(len(p.threads) for p in seen.working) <= _MANY else 8
    length = max(seen.seconds, 1e-6)
    scale = (_WIDTH - _LEFT - _RIGHT) / length
    marks: list[str] = []
    y = 64.0
    for process in seen.working:
        rank = f"rank {process.rank}: " if process.rank is not None else ""
        marks.append(_text(_MARGIN, y + 12, f"{rank}{process.command}"[:120], 13, INK, "600"))
        y += 22
        words = agreed.verdicts[process.pid].words if process.pid in agreed.verdicts else {}
        for number, thread in enumerate(process.in_order):
            if row == _ROW:
                marks.append(_text(_MARGIN + 10, y + 13, f"{number}  {thread.name}", 12, FAINT))
            marks += _stays(thread, place, y, row, scale)
            if row == _ROW:
                told = f"may use {format_processors(thread.allowed)}"[:30] + (
                    f", {words[thread.tid]}" if words.get(thread.tid) else ""
                )
                marks.append(_text(_WIDTH - _RIGHT + 14, y + 13, told[:52], 12, FAINT))
            y += row
        y += 12
    marks += _axis(y, length, scale)
    y += 34
    marks += _legend(processors, place, y)
    height = y + 30
    title = f"Where {sum(len(p.threads) for p in seen.working)} threads ran, {seen.samples} samples in {format_seconds(seen.seconds)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" height="{height:.0f}"'
        f' font-family="{escape(FONT)}" role="img">\n<title>{escape(title)}</title>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{_text(_MARGIN, 40, title, 18, INK, "600")}\n'
        + "\n".join(marks)
        + "\n</svg>\n"
    )


def _stays(thread: SeenThread, place: dict[int, int], y: float, row: int, scale: float) -> list[str]:
    begin, end = _LEFT + thread.first_s * scale, _LEFT + thread.last_s * scale
    marks = [
        f'<rect x="{begin:.1f}" y="{y + row / 2 - 0.5:.1f}" width="{max(end - begin, 0.5):.1f}" height="1" fill="#c3cbd5"/>'
    ]
    for a, b, processor in thread.track:
        colour = ramp_colour(place[processor], len(place))[0]
        tip = f"processor {processor}, {format_seconds(a)} to {format_seconds(b)}"
        marks.append(
            f'<rect x="{_LEFT + a * scale:.1f}" y="{y + 2:.1f}" width="{max((b - a) * scale, 1):.1f}" height="{row - 4}"'
            f' fill="{colour}"><title>{tip}</title></rect>'
        )
    return marks


def _axis(y: float, length: float, scale: float) -> list[str]:
    right = _LEFT + length * scale
    marks = [f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="{FAINT}"/>']
    for i in range(5):
        x = _LEFT + length * scale * i / 4
        marks.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{y + 5:.1f}" stroke="{FAINT}"/>')
        marks.append(_text(x, y + 19, format_seconds(length * i / 4) if i else "0", 12, FAINT, anchor="middle"))
    return marks


def _legend(processors: list[int], place: dict[int, int], y: float) -> list[str]:
    """A swatch for each processor, or for the first and the last where they are many."""
    shown = processors if len(processors) <= 16 else [processors[0], processors[len(processors) // 2], processors[-1]]
    marks = [_text(_MARGIN, y + 11, "processor", 12, FAINT)]
    x = float(_LEFT)
    for p in shown:
        marks.append(
            f'<rect x="{x:.1f}" y="{y}" width="14" height="14" fill="{ramp_colour(place[p], len(place))[0]}"/>'
        )
        marks.append(_text(x + 19, y + 11, str(p), 12, FAINT))
        x += 32 + 8 * len(str(p))
    return marks


def _text(x: float, y: float, words: str, size: int, fill: str, weight: str = "400", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )
