# SPDX-License-Identifier: BSD-3-Clause
"""Two placements on one machine, beside each other, with what differs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from nodewise.machine.model import Machine
from nodewise.placement.facts import LEVELS, Facts, placement_facts
from nodewise.placement.placement import Placement
from nodewise.report.canvas import FAINT, box_mark, picture, text_mark
from nodewise.report.lettering import shorten, text_width
from nodewise.report.machine_drawing import machine_svg
from nodewise.report.seating import INK, number_ranges

_GAP, _ROW, _SIZE = 24, 23, 13
#: Pictures wider than this together stand one above the other.
_MOST_ACROSS = 1700
_NAMES = {"core": "core", "cache": "last-level cache", "numa": "NUMA node", "package": "socket"}


def moved_threads(a: Placement, b: Placement) -> frozenset[int]:
    """The threads whose places differ, and those that only one of the two has."""
    both = min(a.threads, b.threads)
    differ = {t for t in range(both) if set(a.places[t]) != set(b.places[t])}
    return frozenset(differ | set(range(both, max(a.threads, b.threads))))


def compare_rows(machine: Machine, a: Placement, b: Placement) -> list[tuple[str, str, str]]:
    """What differs and what does not, a row each: what, and how it is in either."""
    one, two = placement_facts(machine, a), placement_facts(machine, b)
    moved = len(moved_threads(a, b))

    def row(name: str, shown: Callable[[Facts], str]) -> tuple[str, str, str]:
        return (name, shown(one), shown(two))

    levels = [k for k in (*LEVELS, "far") if one.neighbours.get(k) or two.neighbours.get(k)]
    return [
        row("threads that sit elsewhere", lambda f: f"{moved} of {f.threads}"),
        row("cores used", lambda f: f"{f.cores}, {f.idle_cores} idle"),
        row("hardware threads used", lambda f: str(f.processors)),
        *(
            row(f"threads on each {_NAMES[kind]}", lambda f, kind=kind: _counts(f.by_kind[kind]))  # type: ignore[misc]
            for kind in ("package", "numa", "cache")
            if len(one.by_kind[kind]) > 1
        ),
        row("most threads on a core", lambda f: str(max(f.by_kind["core"], default=0))),
        row("most bound to one processor", lambda f: str(f.most_on_a_processor or "–")),
        *(
            row(f"neighbouring threads {_met(level)}", lambda f, level=level: _share(f, level))  # type: ignore[misc]
            for level in levels
        ),
        row("bound to", lambda f: ", ".join(f"{n} to {_bound(k)}" for k, n in f.bound.items())),
    ]


def _met(level: str) -> str:
    return f"in one {_NAMES[level]}" if level in _NAMES else "on two sockets"


def _bound(kind: str) -> str:
    return {"processor": "a processor", "core": "a core", "wider": "more than a core"}[kind]


def _counts(counts: Sequence[int]) -> str:
    if len(set(counts)) == 1 and len(counts) > 2:
        return f"{counts[0]} on all {len(counts)}"
    text = ", ".join(map(str, counts[:12]))
    return text if len(counts) <= 12 else f"{text}, …"


def _share(facts: Facts, level: str) -> str:
    pairs = sum(facts.neighbours.values())
    return f"{facts.neighbours.get(level, 0)} of {pairs}"


def compare_text(machine: Machine, a: Placement, b: Placement, titles: tuple[str, str]) -> str:
    """The table for a terminal, and which threads sit elsewhere."""
    rows = [("", *titles), *compare_rows(machine, a, b)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    moved = sorted(moved_threads(a, b))
    return "\n".join([*lines, f"elsewhere: threads {number_ranges(moved)}" if moved else "no thread sits elsewhere"])


def compare_svg(machine: Machine, a: Placement, b: Placement, titles: tuple[str, str]) -> str:
    """Both pictures beside each other, or one above the other where they are wide; threads that moved are outlined.

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
