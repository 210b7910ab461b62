# SPDX-License-Identifier: BSD-3-Clause
"""Two placements on one machine, side by side, with what differs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodewise.machine.model import Machine
from nodewise.placement.placement import Placement
from nodewise.report.drawings.canvas import FAINT, box_mark, picture, text_mark
from nodewise.report.drawings.lettering import shorten, text_width
from nodewise.report.drawings.machine import machine_svg
from nodewise.report.drawings.seating import INK
from nodewise.report.text.placements import compare_rows, moved_threads

_GAP, _ROW, _SIZE = 24, 23, 13
#: Pictures wider than this together stand one above the other.
_MOST_ACROSS = 1700


def compare_svg(machine: Machine, a: Placement, b: Placement, titles: tuple[str, str]) -> str:
    """Both pictures side by side, or one above the other where they are wide; threads that moved are outlined.

    Below them is the table of what differs.
    """
    moved = moved_threads(a, b)
    pictures = [machine_svg(machine, p, title, moved) for p, title in zip((a, b), titles, strict=True)]
    sizes = [_size(p) for p in pictures]
    across = sizes[0][0] + _GAP + sizes[1][0] <= _MOST_ACROSS
    second = (sizes[0][0] + _GAP, 0) if across else (0, sizes[0][1] + _GAP)
    width = max(sizes[0][0], second[0] + sizes[1][0], 900)
    y = max(sizes[0][1], second[1] + sizes[1][1]) + 20
    marks, height = _table(compare_rows(machine, a, b), titles, width, y)
    nested = [_nested(pictures[0], 0, 0), _nested(pictures[1], *second)]
    return picture(width, height, " and ".join(titles), nested + marks)


def _table(
    rows: Sequence[tuple[str, str, str]], titles: tuple[str, str], width: int, y: float
) -> tuple[list[str], float]:
    """What differs in black, the rest in grey, a faint line below each row; and where it ends."""
    first = max(text_width(row[0], _SIZE) for row in rows) + 2 * _GAP
    room = (width - 2 * _GAP - first) / 2
    columns = (_GAP, _GAP + first, _GAP + first + room)
    marks = []
    for title, x in zip(titles, columns[1:], strict=True):
        marks.append(text_mark(x, y + 14, shorten(title, room - 12, _SIZE, bold=True), _SIZE, bold=True))
    for name, one, two in rows:
        marks.append(box_mark(_GAP, y + 20, width - 2 * _GAP, 1, "#e3e7ec", radius=0))
        y += _ROW
        marks.append(text_mark(columns[0], y + 14, name, _SIZE, FAINT))
        fill = INK if one != two else FAINT
        for cell, x in zip((one, two), columns[1:], strict=True):
            marks.append(text_mark(x, y + 14, shorten(cell, room - 12, _SIZE), _SIZE, fill))
    return marks, y + _ROW + 16


def _size(svg: str) -> tuple[int, int]:
    match = re.search(r'width="(\d+)"\s+height="(\d+)"', svg)
    assert match is not None
    return int(match[1]), int(match[2])


def _nested(svg: str, x: int, y: int) -> str:
    return svg.replace("<svg ", f'<svg x="{x}" y="{y}" ', 1)
