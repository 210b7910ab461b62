# SPDX-License-Identifier: BSD-3-Clause
"""A machine, and where threads sit on it, as a self-contained SVG."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.machine.model import Core, Machine
from nodewise.placement.placement import Placement
from nodewise.report.drawings.canvas import ALARM, FAINT, picture, text_mark
from nodewise.report.drawings.core import Block, Page, core_block
from nodewise.report.drawings.domains import Domain, cache_line, count_line, domains
from nodewise.report.drawings.lettering import broken, text_width
from nodewise.report.drawings.seating import INK, RANKS, Seating

WIDTH = 1200
MARGIN, PAD, GAP = 24, 10, 8
#: What a phone shows of a page's card, and the margin there.
NARROW, _NARROW_MARGIN = 330, 6
LABEL_HEIGHT, BAR_HEIGHT = 22, 20
#: However small the machine is, there is room for words.
_LEAST = 720


def _rows(blocks: Sequence[Block], width: float) -> list[list[Block]]:
    """Blocks in rows no wider than `width`, as even as can be where all are alike."""
    rows: list[list[Block]] = []
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


def _stack(blocks: Sequence[Block], width: float) -> Block:
    """Blocks in rows, as one block."""
    rows = _rows(blocks, width)
    heights = [max(b.height for b in row) for row in rows]

    def draw(page: Page, x: float, y: float) -> None:
        for row, height in zip(rows, heights, strict=True):
            at = x
            for block in row:
                block.draw(page, at, y)
                at += block.width + GAP
            y += height + GAP

    across = max(sum(b.width + GAP for b in row) - GAP for row in rows)
    return Block(across, sum(heights) + GAP * (len(rows) - 1), draw)


def _bars(domain: Domain) -> list[tuple[str, str, str]]:
    memory = [(words, "#d8eadb", "#2f5d3a") for words in domain.memory]
    return memory + [(words, "#e6e0f0", "#4d3f73") for words in domain.caches]


def _frame(domain: Domain, inside: Block) -> Block:
    """A box with its label, a bar for each memory and cache, and what is in it."""
    bars = _bars(domain)
    needed = max([text_width(words, 12) + 16 for words, _, _ in bars] + [text_width(domain.label, 13, bold=True)])
    content = max(inside.width, needed)
    top = PAD + (LABEL_HEIGHT if domain.label else 0)
    height = top + len(bars) * (BAR_HEIGHT + 5) + inside.height + PAD

    def draw(page: Page, x: float, y: float) -> None:
        page.box(x, y, content + 2 * PAD, height, "#f7f9fb", "#9aa7b5", 6)
        if domain.label:
            page.marks.append(text_mark(x + PAD, y + PAD + 11, domain.label, 13, bold=True))
        at = y + top
        for words, fill, ink in bars:
            page.box(x + PAD, at, content, BAR_HEIGHT, fill, radius=3)
            page.marks.append(text_mark(x + PAD + content / 2, at + 14, words, 12, ink, anchor="middle"))
            at += BAR_HEIGHT + 5
        inside.draw(page, x + PAD, at)

    return Block(content + 2 * PAD, height, draw)


def _part_blocks(page: Page, domain: Domain, width: float) -> list[Block]:
    most = max((len(p.pus) for p in domain.parts if isinstance(p, Core)), default=0)
    return [core_block(page, p, most) if isinstance(p, Core) else _domain_block(page, p, width) for p in domain.parts]


def _domain_block(page: Page, domain: Domain, width: float) -> Block:
    """The box that looks best in a width: of the ways to put its boxes side by side the one nearest to a screen's shape."""
    inner = width - 2 * PAD
    if domain.cores is not None:
        return _frame(domain, _stack(_part_blocks(page, domain, inner), inner))
    layouts = [
        _stack(_part_blocks(page, domain, (inner - GAP * (columns - 1)) / columns), inner)
        for columns in range(1, min(len(domain.parts), 6) + 1)
    ]
    fitting = [w for w in layouts if w.width <= inner + 1] or layouts[:1]
    return _frame(domain, min(fitting, key=lambda w: (round(w.height / 20), w.width)))


def _legend(page: Page, x: float, y: float, width: float) -> float:
    """What the marks mean, in lines no wider than the picture; gives how far down it reaches."""
    by = "operating system's" if width > NARROW else "system's"
    words = [("#ffffff", "#c3cbd5", f"hardware thread, by the {by} index")]
    seating = page.seating
    if seating is not None and seating.ranked:
        ranks = len(seating.placement.by_rank)
        words += [(RANKS[r], "none", f"rank {r}") for r in range(min(ranks, len(RANKS)))]
        if ranks > len(RANKS):
            words.append(("#ffffff", "none", f"… to rank {ranks - 1}, colours again; 9:0 is thread 0 of rank 9"))
    elif seating is not None:
        words.append((seating.colour(0)[0], "none", f"thread in it, 0 to {seating.count - 1}"))
    if page.moved:
        words.append(("#ffffff", INK, "outlined: elsewhere in the other picture"))
    if seating is not None and seating.crowded:
        words.append(("#ffffff", ALARM, "shared while cores are idle"))
    if len(page.machine.allowed) < len(page.machine.pus):
        words.append(("#e3e5e8", "#d5d9de", "not allowed for this process"))
    kinds = page.machine.kinds
    if len(kinds) > 1:
        words.append(("#f6ead7", "none", "core of a slower kind"))
    left = x
    for fill, stroke, meaning in words:
        if x > left and x + 22 + text_width(meaning, 12) > left + width:
            x, y = left, y + 20
        page.box(x, y - 10, 16, 12, fill, stroke, 2)
        page.marks.append(text_mark(x + 22, y, meaning, 12, FAINT))
        x += 22 + text_width(meaning, 12) + 16
    return y


#: A line above the picture: its words, size, colour, and whether it is bold.
_Heading = tuple[str, int, str, bool]


def _headings(page: Page, title: str) -> list[_Heading]:
    machine = page.machine
    name = machine.processor.model or machine.source
    first = title or (f"{machine.hostname}: {name}" if machine.hostname else name)
    second = f"{name}, {count_line(machine)}" if title else count_line(machine)
    caches = cache_line(machine)
    lines = [(first, 18, INK, True), (second, 13, FAINT, False)]
    return [*lines, *([(caches, 13, FAINT, False)] if caches else []), *_loose(page)]


def machine_svg(
    machine: Machine,
    placement: Placement | None,
    title: str = "",
    moved: frozenset[int] | None = None,
    across: int = WIDTH,
) -> str:
    """Draw a machine: sockets, memory, caches, cores and hardware threads, about `across` pixels wide.

    With a placement its threads are drawn in place, coloured by rank where there are several, else by number; a thread
    that floats within a core is a band over what it may use, one that moves further is named below the heading.
    Processors that are not allowed are grey. `moved` are threads to outline, all others are then pale.
    """
    outermost, apart = domains(machine)
    if not outermost.label and outermost.cores is not None:
        outermost = Domain("Machine", outermost.memory, outermost.caches, outermost.parts)
    page = Page(machine, None if placement is None else Seating(machine, placement), moved)
    margin = MARGIN if across > NARROW else _NARROW_MARGIN
    most = across - 2 * margin
    block = _domain_block(page, outermost, most)
    bar = max([block.width, *(text_width(words, 12) + 16 for words in apart)])
    headings = _headings(page, title)
    # a picture is made wider for its words, but no wider than a large machine's; not where another stands next to it
    asked = max(text_width(words, size, bold) for words, size, _, bold in headings)
    width = max(bar, min(_LEAST, most), min(asked, most) if moved is None else 0)
    y = float(margin)
    for words, size, fill, bold in headings:
        for line in broken(words, width, size, bold):
            y += size
            page.marks.append(text_mark(margin, y, line, size, fill, bold=bold))
            y += 7
    y += 8
    block.draw(page, margin, y)
    y += block.height
    for words in apart:
        y += GAP
        page.box(margin, y, bar, BAR_HEIGHT + 4, "#d8eadb")
        page.marks.append(text_mark(margin + bar / 2, y + 16, words, 12, "#2f5d3a", anchor="middle"))
        y += BAR_HEIGHT + 4
    y = _legend(page, margin, y + 26, width)
    return picture(width + 2 * margin, y + max(margin - 6, 8), headings[0][0], page.marks)


def _loose(page: Page) -> list[_Heading]:
    """Lines on threads that may move between cores, the first few of many."""
    lines = page.seating.loose_lines() if page.seating is not None else []
    shown = [line if len(line) <= 300 else f"{line[:299]}…" for line in lines[:8]]
    if len(lines) > len(shown):
        shown.append(f"… and {len(lines) - len(shown)} more such sets")
    return [(line, 13, INK, False) for line in shown]
