# SPDX-License-Identifier: BSD-3-Clause
"""A machine, and where threads sit on it, as a self-contained SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape

from nodewise.machine.model import Core, Machine
from nodewise.placement.placement import Placement
from nodewise.report.machine_domains import Domain, cache_line, count_line, domains
from nodewise.report.seating import INK, RANKS, Seating

WIDTH = 1200
MARGIN, PAD, GAP = 24, 10, 8
CELL_WIDTH, CORE_PAD, CORE_HEADER = 34, 5, 17
INDEX_HEIGHT, THREAD_HEIGHT = 18, 20
LABEL_HEIGHT, BAR_HEIGHT = 22, 20
#: Relative to the font size; wide enough for the usual sans-serif fonts, so that text stays inside its box.
CHARACTER = 0.58

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
FAINT, PALE, ALARM = "#5f6b7a", "#a3acb7", "#c0392b"


@dataclass
class _Page:
    """The picture so far: marks, and how threads are seated. `moved` are threads to point out; None points at none."""

    machine: Machine
    seating: Seating | None
    moved: frozenset[int] | None = None
    marks: list[str] = field(default_factory=list)

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", radius: int = 4
    ) -> None:
        self.marks.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" fill="{fill}" stroke="{stroke}"/>'
        )

    def text(self, x: float, y: float, words: str, size: float = 12, style: str = "", fill: str = INK) -> None:
        self.marks.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" {style}>{escape(words)}</text>'
        )


@dataclass(frozen=True)
class _Block:
    """Something of a known size that draws itself at a position."""

    width: float
    height: float
    draw: Callable[[_Page, float, float], None]


def _text_width(words: str, size: float = 12) -> float:
    return len(words) * size * CHARACTER


def _draw_processor(page: _Page, index: int, x: float, y: float) -> None:
    allowed = index in page.machine.limits.processors
    seating = page.seating
    threads = seating.cells.get(index, []) if seating is not None else []
    who = seating.words(threads) if seating is not None and threads else ""
    page.marks.append(
        f"<g><title>processor {index}{f': {who}' if who else '' if allowed else ' (not allowed)'}</title>"
    )
    height = INDEX_HEIGHT + (THREAD_HEIGHT if seating is not None else 0)
    fill, border = ("#ffffff", "#c3cbd5") if allowed else ("#e3e5e8", "#d5d9de")
    if seating is not None and index in seating.crowded:
        border = ALARM
    page.box(x + 1, y + 1, CELL_WIDTH - 2, height - 2, fill, border, 3)
    if seating is not None and index in seating.tints:
        page.marks.append(
            f'<rect x="{x + 2:.1f}" y="{y + 2:.1f}" width="{CELL_WIDTH - 4}" height="{height - 4}" rx="2"'
            f' fill="{seating.tints[index]}" fill-opacity="0.18"/>'
        )
    page.text(x + CELL_WIDTH / 2, y + 13.5, str(index), 11, 'text-anchor="middle"', FAINT if allowed else PALE)
    if threads:
        _draw_threads(page, threads, x + 3, y + INDEX_HEIGHT, CELL_WIDTH - 6)
    page.marks.append("</g>")


def _draw_threads(page: _Page, threads: list[int], x: float, y: float, width: float) -> None:
    """A bar with the threads' labels, a piece of it for each rank; pale where a comparison finds that none moved."""
    seating = page.seating
    assert seating is not None
    moved = page.moved is None or bool(page.moved & set(threads))
    stroke = f' stroke="{INK}" stroke-width="2"' if page.moved is not None and moved else ""
    faded = "" if moved else ' opacity="0.3"'
    pieces: dict[int, list[int]] = {}
    for thread in threads:
        pieces.setdefault(seating.rank(thread), []).append(thread)
    each = width / len(pieces)
    labels = [seating.labels(own, max(1, int(each / 5.5))) for own in pieces.values()]
    narrow = len(pieces) > 1 and any(_text_width(label, 8.5) > each for label in labels)
    if narrow:
        # no room for names: a stripe for each rank, and how many threads there are
        page.text(x + width / 2, y + 8.5, f"×{len(threads)}", 10, 'text-anchor="middle" font-weight="600"')
    for i, (own, label) in enumerate(zip(pieces.values(), labels, strict=True)):
        colour, ink = seating.colour(own[0])
        left, top = x + i * each, y + (THREAD_HEIGHT - 9 if narrow else 0)
        page.marks.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{each:.1f}" height="{y + THREAD_HEIGHT - 3 - top:.1f}" rx="2"'
            f' fill="{colour}"{stroke}{faded}/>'
        )
        if not narrow:
            size = next((z for z in (12.0, 10.0) if _text_width(label, z) <= each), 8.5)
            style = 'text-anchor="middle" font-weight="600"'
            page.text(left + each / 2, y + 12.8, label, size, style, ink if moved else INK)


def _draw_bands(page: _Page, core: Core, x: float, y: float) -> None:
    """Threads that float within the core, over the cells that they may use."""
    seating = page.seating
    if seating is None:
        return
    for place, threads in seating.bands.items():
        columns = [i for i, p in enumerate(core.pus) if p in place]
        if not columns:
            continue
        page.marks.append(
            f"<g><title>{escape(seating.words(threads))}: processors {', '.join(map(str, place))}</title>"
        )
        left, right = x + columns[0] * CELL_WIDTH + 3, x + (columns[-1] + 1) * CELL_WIDTH - 3
        _draw_threads(page, threads, left, y + INDEX_HEIGHT, right - left)
        page.marks.append("</g>")


def _core_fill(page: _Page, core: Core) -> str:
    """Slower kinds of core are a shade warmer, where there are several."""
    if not any(p in page.machine.limits.processors for p in core.pus):
        return "#eef0f2"
    kinds = page.machine.kinds
    slower = len(kinds) > 1 and core.kind is not None and kinds[core.kind].efficiency < max(k.efficiency for k in kinds)
    return "#f6ead7" if slower else "#e4ecf5"


def _draw_core(core: Core, width: float, height: float, page: _Page, x: float, y: float) -> None:
    page.box(x, y, width, height, _core_fill(page, core))
    name = f"Core {core.logical}" if width >= _text_width(f"Core {core.logical}", 11) + 4 else str(core.logical)
    page.text(x + CORE_PAD + 1, y + 13, name, 11, fill=FAINT)
    for i, index in enumerate(core.pus):
        _draw_processor(page, index, x + CORE_PAD + i * CELL_WIDTH, y + CORE_HEADER)
    _draw_bands(page, core, x + CORE_PAD, y + CORE_HEADER)


def _core_block(core: Core, cell_height: float, pus: int) -> _Block:
    width = pus * CELL_WIDTH + 2 * CORE_PAD
    height = CORE_HEADER + cell_height + CORE_PAD
    return _Block(width, height, partial(_draw_core, core, width, height))


def _rows(blocks: Sequence[_Block], width: float) -> list[list[_Block]]:
    """Blocks in rows no wider than `width`, as even as can be where all are alike."""
    rows: list[list[_Block]] = []
    used = 0.0
    for block in blocks:
        if not rows or used + GAP + block.width > width:
            rows.append([])
            used = -GAP
        rows[-1].append(block)
        used += GAP + block.width
    if len({b.width for b in blocks}) == 1 and len(rows) > 1:
        columns = -(-len(blocks) // len(rows))
        rows = [list(blocks[i : i + columns]) for i in range(0, len(blocks), columns)]
    return rows


def _stack(blocks: Sequence[_Block], width: float) -> _Block:
    """Blocks in rows, as one block."""
    rows = _rows(blocks, width)
    heights = [max(b.height for b in row) for row in rows]

    def draw(page: _Page, x: float, y: float) -> None:
        for row, height in zip(rows, heights, strict=True):
            at = x
            for block in row:
                block.draw(page, at, y)
                at += block.width + GAP
            y += height + GAP

    across = max(sum(b.width + GAP for b in row) - GAP for row in rows)
    return _Block(across, sum(heights) + GAP * (len(rows) - 1), draw)


def _bars(domain: Domain) -> list[tuple[str, str, str]]:
    memory = [(words, "#d8eadb", "#2f5d3a") for words in domain.memory]
    return memory + [(words, "#e6e0f0", "#4d3f73") for words in domain.caches]


def _frame(domain: Domain, inside: _Block) -> _Block:
    """A box with its label, a bar for each memory and cache, and what is in it."""
    bars = _bars(domain)
    needed = max([_text_width(words) + 16 for words, _, _ in bars] + [_text_width(domain.label, 13)])
    content = max(inside.width, needed)
    top = PAD + (LABEL_HEIGHT if domain.label else 0)
    height = top + len(bars) * (BAR_HEIGHT + 5) + inside.height + PAD

    def draw(page: _Page, x: float, y: float) -> None:
        page.box(x, y, content + 2 * PAD, height, "#f7f9fb", "#9aa7b5", 6)
        if domain.label:
            page.text(x + PAD, y + PAD + 11, domain.label, 13, 'font-weight="600"')
        at = y + top
        for words, fill, ink in bars:
            page.box(x + PAD, at, content, BAR_HEIGHT, fill, radius=3)
            page.text(x + PAD + content / 2, at + 14, words, 12, 'text-anchor="middle"', ink)
            at += BAR_HEIGHT + 5
        inside.draw(page, x + PAD, at)

    return _Block(content + 2 * PAD, height, draw)


def _part_blocks(domain: Domain, cell_height: float, width: float) -> list[_Block]:
    most = max((len(p.pus) for p in domain.parts if isinstance(p, Core)), default=0)
    return [
        _core_block(p, cell_height, most) if isinstance(p, Core) else _domain_block(p, cell_height, width)
        for p in domain.parts
    ]


def _domain_block(domain: Domain, cell_height: float, width: float) -> _Block:
    """The box that looks best in a width: of the ways to put its boxes side by side the one nearest to a screen's shape."""
    inner = width - 2 * PAD
    if domain.cores is not None:
        return _frame(domain, _stack(_part_blocks(domain, cell_height, inner), inner))
    ways = [
        _stack(_part_blocks(domain, cell_height, (inner - GAP * (columns - 1)) / columns), inner)
        for columns in range(1, min(len(domain.parts), 6) + 1)
    ]
    fitting = [w for w in ways if w.width <= inner + 1] or ways[:1]
    return _frame(domain, min(fitting, key=lambda w: (round(w.height / 20), w.width)))


def _legend(page: _Page, x: float, y: float, width: float) -> float:
    """What the marks mean, in lines no wider than the picture; gives how far down it reaches."""
    words = [("#ffffff", "#c3cbd5", "hardware thread, by the operating system's index")]
    seating = page.seating
    if seating is not None and seating.ranked:
        ranks = len(seating.placement.by_rank)
        words += [(RANKS[r], "none", f"rank {r}") for r in range(min(ranks, len(RANKS)))]
        if ranks > len(RANKS):
            words.append(("#ffffff", "none", f"… to rank {ranks - 1}, colours again; 9:0 is thread 0 of rank 9"))
    elif seating is not None:
        words.append((seating.colour(0)[0], "none", f"thread in it, 0 to {seating.count - 1}"))
    if seating is not None and seating.crowded:
        words.append(("#ffffff", ALARM, "shared while cores are idle"))
    if len(page.machine.allowed) < len(page.machine.pus):
        words.append(("#e3e5e8", "#d5d9de", "not allowed for this process"))
    kinds = page.machine.kinds
    if len(kinds) > 1:
        words.append(("#f6ead7", "none", "core of a slower kind"))
    left = x
    for fill, stroke, meaning in words:
        if x > left and x + 22 + _text_width(meaning) > max(width, 720.0):
            x, y = left, y + 20
        page.box(x, y - 10, 16, 12, fill, stroke, 2)
        page.text(x + 22, y, meaning, 12, fill=FAINT)
        x += 22 + _text_width(meaning) + 18
    return y


def _headings(machine: Machine, title: str) -> list[tuple[str, int, str, str]]:
    """Lines above the picture: words, size, style and colour."""
    name = machine.processor.model or machine.source
    first = title or (f"{machine.hostname}: {name}" if machine.hostname else name)
    second = f"{name}, {count_line(machine)}" if title else count_line(machine)
    lines = [(first, 18, 'font-weight="600"', INK), (second, 13, "", FAINT)]
    caches = cache_line(machine)
    return [*lines, (caches, 13, "", FAINT)] if caches else lines


def machine_svg(
    machine: Machine, placement: Placement | None, title: str = "", moved: frozenset[int] | None = None
) -> str:
    """Draw a machine: packages, memory, caches, cores and hardware threads, about 1200 pixels wide.

    With a placement its threads are drawn in place, coloured by rank where there are several, else by number; a thread
    that floats within a core is a band over what it may use, one that moves further is named below the heading.
    Processors that are not allowed are grey. `moved` are threads to outline, all others are then pale.
    """
    outermost, apart = domains(machine)
    cell_height = INDEX_HEIGHT + (THREAD_HEIGHT if placement is not None else 0)
    if not outermost.label and outermost.cores is not None:
        outermost = Domain("Machine", outermost.memory, outermost.caches, outermost.parts)
    block = _domain_block(outermost, cell_height, WIDTH - 2 * MARGIN)
    page = _Page(machine, None if placement is None else Seating(machine, placement), moved)
    y = float(MARGIN)
    headings = [*_headings(machine, title), *_loose(page)]
    for words, size, style, fill in headings:
        y += size
        page.text(MARGIN, y, words, size, style, fill)
        y += 7
    y += 8
    block.draw(page, MARGIN, y)
    y += block.height
    for words in apart:
        y += GAP
        page.box(MARGIN, y, block.width, BAR_HEIGHT + 4, "#d8eadb")
        page.text(MARGIN + block.width / 2, y + 16, words, 12, 'text-anchor="middle"', "#2f5d3a")
        y += BAR_HEIGHT + 4
    y = _legend(page, MARGIN, y + 26, block.width)
    texts = [_text_width(words, size) for words, size, _, _ in headings] + [_text_width(w) for w in apart] + [720.0]
    width = max(block.width, *texts) + 2 * MARGIN
    height = y + MARGIN - 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" font-family="{escape(FONT)}" role="img">\n'
        f"<title>{escape(headings[0][0])}</title>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(page.marks) + "\n</svg>\n"
    )


def _loose(page: _Page) -> list[tuple[str, int, str, str]]:
    """Lines on threads that may move between cores, the first few of many."""
    lines = page.seating.loose_lines() if page.seating is not None else []
    shown = [line if len(line) <= 150 else f"{line[:149]}…" for line in lines[:8]]
    if len(lines) > len(shown):
        shown.append(f"… and {len(lines) - len(shown)} more such sets")
    return [(line, 13, "", INK) for line in shown]
