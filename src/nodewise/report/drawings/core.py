# SPDX-License-Identifier: BSD-3-Clause
"""A core in a drawing: a cell for each hardware thread, and below its index who sits there or floats over several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property, partial
from html import escape

from nodewise.base.frozen import dataclass
from nodewise.machine.model import Core, Machine
from nodewise.report.drawings.canvas import ALARM, FAINT, PALE, box_mark, text_mark
from nodewise.report.drawings.lettering import fitting_size, text_width
from nodewise.report.drawings.seating import INK, Seating

CELL_WIDTH, CORE_PAD, CORE_HEADER = 34, 5, 17
INDEX_HEIGHT, THREAD_HEIGHT = 18, 20
#: Sizes of labels, the first that fits.
_LABEL_SIZES, _NAME_SIZES, _INDEX_SIZES = (12.0, 10.0, 8.5), (11.0, 10.0, 9.0), (11.0, 10.0, 8.5)
#: What a cell is wider than the label in it.
_LABEL_MARGIN = 7
#: A stripe of a rank is no narrower; ranks that have no stripe are named in the cell's words.
_STRIPE = 3.0


@dataclass
class Page:
    """The picture so far: marks, and how threads are seated. `moved` are threads to point out; None points at none."""

    machine: Machine
    seating: Seating | None
    moved: frozenset[int] | None = None
    marks: list[str] = field(default_factory=list)

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", radius: int = 4
    ) -> None:
        """Add a filled rectangle."""
        self.marks.append(box_mark(x, y, width, height, fill, stroke, radius))

    @cached_property
    def lanes(self) -> int:
        """How many rows of threads each core has: one, and more where threads float over cells that are taken."""
        if self.seating is None:
            return 0
        return max((len(_lanes(self.seating, core)) for core in self.machine.cores), default=1) or 1

    @cached_property
    def name_size(self) -> float:
        """The size of cores' names, the same for all."""
        return fitting_size(self._longest_name, self._pus * CELL_WIDTH, _NAME_SIZES) or _NAME_SIZES[-1]

    @cached_property
    def cell_width(self) -> float:
        """How wide a cell is: wide enough for the names of cores with one cell, and for that of any thread alone."""
        alone = [self.seating.label(t[0]) for t in self.seating.cells.values() if len(t) == 1] if self.seating else []
        label = max((text_width(words, _LABEL_SIZES[-1], bold=True) for words in alone), default=0)
        return max(CELL_WIDTH, text_width(self._longest_name, self.name_size) / self._pus, label + _LABEL_MARGIN)

    @cached_property
    def labelling(self) -> tuple[int, float]:
        """How threads in cells are named, so that all are alike: how short, and the size."""
        seating = self.seating
        alone = [t for t in seating.cells.values() if len({seating.rank(i) for i in t}) == 1] if seating else []
        width = self.cell_width - _LABEL_MARGIN
        for form in range(3):
            words = [seating.labels(threads)[form] for threads in alone] if seating else []
            longest = max(words, key=lambda w: text_width(w, 1, bold=True), default="")
            size = fitting_size(longest, width, _LABEL_SIZES, bold=True)
            if size is not None:
                return form, size
        return 2, _LABEL_SIZES[-1]

    @property
    def _pus(self) -> int:
        return min(len(c.pus) for c in self.machine.cores)

    @property
    def _longest_name(self) -> str:
        return f"Core {'0' * max(len(str(c.logical)) for c in self.machine.cores)}"


@dataclass(frozen=True)
class Block:
    """Something of a known size that draws itself at a position."""

    width: float
    height: float
    draw: Callable[[Page, float, float], None]


def core_block(page: Page, core: Core, pus: int) -> Block:
    """A core as wide as one with that many hardware threads."""
    width = pus * page.cell_width + 2 * CORE_PAD
    height = CORE_HEADER + INDEX_HEIGHT + page.lanes * THREAD_HEIGHT + CORE_PAD
    return Block(width, height, partial(_draw_core, core, width, height))


def _draw_core(core: Core, width: float, height: float, page: Page, x: float, y: float) -> None:
    page.box(x, y, width, height, _core_fill(page, core))
    page.marks.append(text_mark(x + CORE_PAD + 1, y + 13, f"Core {core.logical}", page.name_size, FAINT))
    for i, index in enumerate(core.pus):
        _draw_cell(page, index, x + CORE_PAD + i * page.cell_width, y + CORE_HEADER)
    if page.seating is None:
        return
    for number, lane in enumerate(_lanes(page.seating, core)):
        for runs, place, threads in lane:
            top = y + CORE_HEADER + INDEX_HEIGHT + number * THREAD_HEIGHT
            _draw_seated(page, page.seating, place, threads, runs, x + CORE_PAD, top)


#: Cells in a row, as first and last column; the processors that they are; who sits there.
_Seated = tuple[list[tuple[int, int]], tuple[int, ...], list[int]]


def _lanes(seating: Seating, core: Core) -> list[list[_Seated]]:
    """Who sits on a core, in rows such that nobody is over another: threads of one processor first, then those that float."""
    column = {p: i for i, p in enumerate(core.pus)}
    items: list[tuple[set[int], _Seated]] = []
    here: list[tuple[tuple[int, ...], list[int]]]
    here = [((p,), threads) for p in core.pus if (threads := seating.cells.get(p))]
    here += sorted((item for item in seating.bands.items() if item[0][0] in column), key=lambda item: len(item[0]))
    for place, threads in here:
        columns = sorted(column[p] for p in place if p in column)
        span = set(range(columns[0], columns[-1] + 1))
        items.append((span, (_runs(columns), place, threads)))
    lanes: list[list[_Seated]] = []
    taken: list[set[int]] = []
    for span, item in items:
        free = next((i for i, columns in enumerate(taken) if not columns & span), None)
        if free is None:
            lanes.append([item])
            taken.append(set(span))
        else:
            lanes[free].append(item)
            taken[free] |= span
    return lanes


def _runs(columns: list[int]) -> list[tuple[int, int]]:
    """Columns that are side by side, as first and last."""
    found: list[tuple[int, int]] = []
    for c in columns:
        if found and c == found[-1][1] + 1:
            found[-1] = (found[-1][0], c)
        else:
            found.append((c, c))
    return found


def _draw_cell(page: Page, index: int, x: float, y: float) -> None:
    allowed = index in page.machine.limits.processors
    seating = page.seating
    threads = seating.cells.get(index, []) if seating is not None else []
    title = "" if threads or allowed else " (not allowed)"
    height, width = INDEX_HEIGHT + page.lanes * THREAD_HEIGHT, page.cell_width
    fill, border = ("#ffffff", "#c3cbd5") if allowed else ("#e3e5e8", "#d5d9de")
    if seating is not None and index in seating.crowded:
        border = ALARM
    page.marks.append(f"<g><title>processor {index}{title}</title>")
    page.box(x + 1, y + 1, width - 2, height - 2, fill, border, 3)
    if seating is not None and index in seating.tints:
        tint = seating.tints[index]
        page.marks.append(box_mark(x + 2, y + 2, width - 4, height - 4, tint, radius=2, more=' fill-opacity="0.18"'))
    size = fitting_size(str(index), width - 5, _INDEX_SIZES) or _INDEX_SIZES[-1]
    page.marks.append(text_mark(x + width / 2, y + 13.5, str(index), size, FAINT if allowed else PALE, anchor="middle"))
    page.marks.append("</g>")


def _draw_seated(
    page: Page,
    seating: Seating,
    place: tuple[int, ...],
    threads: list[int],
    runs: list[tuple[int, int]],
    x: float,
    y: float,
) -> None:
    """Threads over the cells that they may use, with their names in the widest run of those."""
    named = "processor" if len(place) == 1 else "processors"
    numbers = ", ".join(map(str, place))
    words = seating.words(threads)
    title = f"{named} {numbers}: {words}" if len(place) == 1 else f"{words}: {named} {numbers}"
    page.marks.append(f"<g><title>{escape(title)}</title>")
    widest = max(runs, key=lambda run: run[1] - run[0])
    for first, last in runs:
        left, right = x + first * page.cell_width + 3, x + (last + 1) * page.cell_width - 3
        alike = len(place) == 1
        _draw_bar(page, seating, threads, (left, y, right - left), alike=alike, labelled=(first, last) == widest)
    page.marks.append("</g>")


def _draw_bar(
    page: Page,
    seating: Seating,
    threads: list[int],
    where: tuple[float, float, float],
    *,
    alike: bool,
    labelled: bool,
) -> None:
    """A bar with the threads' labels, a piece of it for each rank; pale where a comparison finds that none moved.

    `where` is its left end, top and width; `alike` says whether its label is to look as those of other cells.
    """
    x, y, width = where
    moved = page.moved is None or bool(page.moved & set(threads))
    outline = f' stroke="{INK}" stroke-width="2"' if page.moved is not None and moved else ""
    faded = "" if moved else ' opacity="0.3"'
    pieces: dict[int, list[int]] = {}
    for thread in threads:
        pieces.setdefault(seating.rank(thread), []).append(thread)
    each = width / len(pieces)
    labels = [_label(seating.labels(own), each - 1) for own in pieces.values()]
    if len(pieces) == 1 and alike:
        form, size = page.labelling
        labels = [_label(seating.labels(threads)[form:], each - 1, size)]
    narrow = len(pieces) > 1 and not all(labels)
    if narrow and labelled:
        # no room for names: a stripe for each rank, and how many threads there are
        words, size = _label([f"×{len(threads)}"], width) or (_short_count(len(threads)), _LABEL_SIZES[-1])
        page.marks.append(text_mark(x + width / 2, y + 8.5, words, min(size, 10), bold=True, anchor="middle"))
    stripes = list(pieces.values())[: max(1, int(width / _STRIPE))]
    each = width / len(stripes)
    top = y + (THREAD_HEIGHT - 9 if narrow else 0)
    for i, own in enumerate(stripes):
        colour, ink = seating.colour(own[0])
        left = x + i * each
        page.marks.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{each:.1f}" height="{y + THREAD_HEIGHT - 3 - top:.1f}" rx="2"'
            f' fill="{colour}"{outline}{faded}/>'
        )
        if not narrow and labelled:
            words, size = labels[i] or (_short_count(len(own)), _LABEL_SIZES[-1])
            page.marks.append(
                text_mark(left + each / 2, y + 12.8, words, size, ink if moved else INK, bold=True, anchor="middle")
            )


def _label(candidates: Sequence[str], width: float, largest: float = _LABEL_SIZES[0]) -> tuple[str, float] | None:
    """The first label that fits, and at which size."""
    for words in candidates:
        size = fitting_size(words, width, [s for s in _LABEL_SIZES if s <= largest], bold=True)
        if size is not None:
            return words, size
    return None


def _short_count(count: int) -> str:
    """`×12`, `×5k`, `×2M`: always short enough for a cell."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if count >= unit:
            return f"×{count // unit}{name}"
    return f"×{count}"


def _core_fill(page: Page, core: Core) -> str:
    """Slower kinds of core are a shade warmer, where there are several."""
    if not any(p in page.machine.limits.processors for p in core.pus):
        return "#eef0f2"
    kinds = page.machine.kinds
    slower = len(kinds) > 1 and core.kind is not None and kinds[core.kind].efficiency < max(k.efficiency for k in kinds)
    return "#f6ead7" if slower else "#e4ecf5"
