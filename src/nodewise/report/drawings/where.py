# SPDX-License-Identifier: BSD-3-Clause
"""Where threads ran over time, as a self-contained SVG: a row for each thread, coloured by processor."""

from __future__ import annotations

from html import escape

from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors
from nodewise.base.units import format_seconds
from nodewise.report.drawings.canvas import FAINT, box_mark, picture, text_mark
from nodewise.report.drawings.lettering import shorten, text_width
from nodewise.report.drawings.seating import ramp_colour
from nodewise.runner.agreement import Agreement
from nodewise.runner.observe import Observation, SeenThread

_WIDTH, _MARGIN, _GAP = 1200, 24, 14
#: Columns of words are as wide as these need, from and to.
_NAMES, _ROOM = (130.0, 230.0), (120.0, 430.0)
_ROW, _THIN, _SIZE = 18, 8, 12
#: Where the threads' numbers end: there are at most as many of them as there are rows with words.
_NUMBER = 26
#: More rows than this are drawn thinner, so that the picture stays one screen or two.
_MANY = 80


@dataclass(frozen=True)
class _Frame:
    """Where the picture's columns are: the time's left end, pixels for a second, and where words to its right begin."""

    left: float
    scale: float
    right: float
    row: int


def where_svg(seen: Observation, agreed: Agreement) -> str:
    """Threads from top to bottom, time from left to right; to the right what each may use and what came of it.

    Of many threads those of a process are numbered at its first and its last row, and nothing stands to their right.
    """
    processors = sorted({p for process in seen.processes.values() for t in process.threads.values() for p in t.ran})
    place = {p: i for i, p in enumerate(processors)}
    frame = _frame(seen, agreed)
    marks: list[str] = []
    y = 64.0
    for process in seen.working:
        rank = f"rank {process.rank}: " if process.rank is not None else ""
        label = shorten(f"{rank}{process.command}", _WIDTH - 2 * _MARGIN, 13, bold=True)
        marks.append(text_mark(_MARGIN, y + 12, label, 13, bold=True))
        y += 22
        words = agreed.verdicts[process.pid].words if process.pid in agreed.verdicts else {}
        threads = process.in_order
        for number, thread in enumerate(threads):
            if frame.row == _ROW:
                marks += _words(number, thread, words.get(thread.tid, ""), frame, y)
            marks += _stays(number, thread, place, frame, y)
            y += frame.row
        if frame.row == _THIN:
            begin = y - len(threads) * _THIN
            first = shorten(f"thread 0 {threads[0].name}", frame.left - _GAP - _MARGIN - 10, 9)
            marks.append(text_mark(_MARGIN + 10, begin + 8, first, 9, FAINT))
            if len(threads) > 2:
                marks.append(text_mark(_MARGIN + 10, y - 1, f"thread {len(threads) - 1}", 9, FAINT))
        y += 12
    marks += _axis(y, seen.seconds, frame)
    y += 34
    marks += _legend(processors, place, frame.left, y)
    many = sum(len(p.threads) for p in seen.working)
    title = f"Where {many} thread{'s' * (many != 1)} ran, {seen.samples} sample{'s' * (seen.samples != 1)} in {format_seconds(seen.seconds)}"
    return picture(_WIDTH, y + 30, title, [text_mark(_MARGIN, 40, title, 18, bold=True), *marks])


def _frame(seen: Observation, agreed: Agreement) -> _Frame:
    row = _ROW if sum(len(p.threads) for p in seen.working) <= _MANY else _THIN
    names, labels = [0.0], [0.0]
    for process in seen.working if row == _ROW else ():
        words = agreed.verdicts[process.pid].words if process.pid in agreed.verdicts else {}
        names += [_NUMBER + 8 + text_width(t.name, _SIZE) for t in process.in_order]
        labels += [text_width(_described(t, words.get(t.tid, "")), _SIZE) for t in process.in_order]
    left = _MARGIN + min(max(*names, _NAMES[0]), _NAMES[1]) + _GAP
    right = _WIDTH - _MARGIN - (min(max(*labels, _ROOM[0]), _ROOM[1]) if row == _ROW else 30)
    return _Frame(left, (right - _GAP - left) / max(seen.seconds, 1e-6), right, row)


def _described(thread: SeenThread, words: str) -> str:
    """What a thread may use, shortened where that is a long list, and what came of it."""
    allowed = shorten(f"may use {format_processors(thread.allowed)}", _ROOM[1] / 2, _SIZE)
    return f"{allowed}, {words}" if words else allowed


def _words(number: int, thread: SeenThread, words: str, frame: _Frame, y: float) -> list[str]:
    """What stands on both sides of a thread's row, in full where one points at it."""
    name = shorten(thread.name, frame.left - _GAP - _MARGIN - _NUMBER - 8, _SIZE)
    label = shorten(_described(thread, words), _WIDTH - _MARGIN - frame.right, _SIZE)
    full = f"may use {format_processors(thread.allowed)}" + (f", {words}" if words else "")
    return [
        text_mark(_MARGIN + _NUMBER, y + 13, str(number), _SIZE, FAINT, anchor="end"),
        text_mark(_MARGIN + _NUMBER + 8, y + 13, name, _SIZE, FAINT),
        f"<g><title>{escape(full)}</title>{text_mark(frame.right, y + 13, label, _SIZE, FAINT)}</g>",
    ]


def _stays(number: int, thread: SeenThread, place: dict[int, int], frame: _Frame, y: float) -> list[str]:
    begin, end = frame.left + thread.first_s * frame.scale, frame.left + thread.last_s * frame.scale
    marks = [box_mark(begin, y + frame.row / 2 - 0.5, max(end - begin, 0.5), 1, "#c3cbd5", radius=0)]
    for a, b, processor in thread.track:
        colour = ramp_colour(place[processor], len(place))[0]
        tip = f"thread {number}, processor {processor}, {format_seconds(a)} to {format_seconds(b)}"
        wide = max((b - a) * frame.scale, 1)
        mark = box_mark(frame.left + a * frame.scale, y + 2, wide, frame.row - 4, colour, radius=0)
        marks.append(f"<g><title>{tip}</title>{mark}</g>")
    return marks


def _axis(y: float, length: float, frame: _Frame) -> list[str]:
    right = frame.right - _GAP
    marks = [f'<line x1="{frame.left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="{FAINT}"/>']
    for i in range(5):
        x = frame.left + (right - frame.left) * i / 4
        marks.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{y + 5:.1f}" stroke="{FAINT}"/>')
        words = format_seconds(length * i / 4) if i else "0"
        marks.append(text_mark(x, y + 19, words, _SIZE, FAINT, anchor="middle"))
    return marks


def _legend(processors: list[int], place: dict[int, int], left: float, y: float) -> list[str]:
    """A swatch for each processor, or for the first, some between and the last where they are many."""
    shown = processors
    if len(processors) > 16:
        shown = [processors[i * (len(processors) - 1) // 8] for i in range(9)]
    marks = [text_mark(_MARGIN, y + 11, "processor", _SIZE, FAINT)] if shown else []
    x = left
    for i, p in enumerate(shown):
        if i and len(shown) < len(processors):
            marks.append(text_mark(x, y + 11, "…", _SIZE, FAINT))
            x += 20
        marks.append(box_mark(x, y, 14, 14, ramp_colour(place[p], len(place))[0], radius=2))
        marks.append(text_mark(x + 19, y + 11, str(p), _SIZE, FAINT))
        x += 19 + text_width(str(p), _SIZE) + 14
    return marks
