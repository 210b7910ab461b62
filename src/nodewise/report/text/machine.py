# SPDX-License-Identifier: BSD-3-Clause
"""A machine drawn with characters, for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from nodewise.base.escaping import painted
from nodewise.base.late import late
from nodewise.base.processors import format_processors
from nodewise.base.units import format_bytes
from nodewise.machine.model import Core, Machine
from nodewise.placement.placement import Placement
from nodewise.report.drawings.seating import Seating

#: Machines with more hardware threads are drawn with a character for each core.
_MANY = 96
_COLOUR = late(r"\x1b\[[\d;]*m")
#: A note is cut where it would need more.
_MOST_LINES = 4
#: Codes of the terminal's colours for ranks, near to those of the pictures.
_CODES = (33, 214, 36, 175, 117, 166, 178, 97)


def machine_text(machine: Machine, placement: Placement | None = None, width: int = 100, colour: bool = False) -> str:
    """Packages as boxes, a cell for each core with its hardware threads; with a placement, who sits on each (`4←t1`).

    Of several ranks thread 1 of rank 0 is `r0t1`. A processor that may not be used stands in brackets. Of a
    placement on a large machine each core is one character: how many threads it has. No line is longer than `width`
    characters, unless one core is.
    `colour` writes ranks in colours, by a terminal's codes.
    """
    seating = None if placement is None else Seating(machine, placement)
    painter = _Painter(machine, seating, colour)
    large = seating is not None and len(machine.pus) > _MANY
    cells = {} if large else {core.logical: painter.core(core) for core in machine.cores}
    cell = max((painter.length(text) for text in cells.values()), default=1)
    lines = _wrapped(_title(machine), width)
    for socket in sorted({c.socket for c in machine.cores}):
        cores = [c for c in machine.cores if c.socket == socket]
        rows = [r for text in (_caches(machine, cores), *_memory(machine, cores)) for r in _wrapped(text, width - 4)]
        groups = _last_level_groups(machine, cores)
        for group in groups:
            if large:
                rows += painter.digits(group, width - 6)
                continue
            if len(groups) > 1:
                rows.append(f"L3 of cores {group[0].logical}–{group[-1].logical}")
            each = max(1, (width - 6) // (cell + 3))
            padded = [painter.pad(cells[c.logical], cell) for c in group]
            rows += [" │ ".join(padded[i : i + each]) for i in range(0, len(group), each)]
        lines += _box(f"socket {socket}", [r for r in rows if r], painter)
    lines += [
        f"NUMA node {n.os_index}: {format_bytes(n.size_bytes)}, no processors" for n in machine.numa_nodes if not n.pus
    ]
    if seating is None:
        lines += [row for text in _devices(machine) for row in _wrapped(text, width)]
    return "\n".join([*lines, *(line for note in painter.notes(large) for line in _wrapped(note, width))])


def _devices(machine: Machine) -> list[str]:
    """`gpu: gpu0 (NVIDIA H200) near 0-15`, a line for each kind; what is as near to every processor is only named."""
    every = set(machine.pus)
    by_kind: dict[str, list[str]] = {}
    for device in machine.devices:
        near = "" if every <= set(device.pus) else f" near {format_processors(device.pus)}"
        model = f" ({device.model})" if device.model and device.kind == "gpu" else ""
        by_kind.setdefault(device.kind, []).append(device.name + model + near)
    return [f"{kind}: {', '.join(names)}" for kind, names in by_kind.items()]


class _Painter:
    """Writes cores with who sits on them, in colour where that is wished."""

    def __init__(self, machine: Machine, seating: Seating | None, colour: bool):
        self._allowed = set(machine.allowed)
        self._seating = seating
        self._colour = colour and seating is not None and seating.ranked

    def _paint(self, text: str, thread: int) -> str:
        if not self._colour or self._seating is None:
            return text
        return painted(text, f"38;5;{_CODES[self._seating.rank(thread) % len(_CODES)]}")

    def length(self, text: str) -> int:
        """How many characters are seen of a text."""
        return _length(text)

    def pad(self, text: str, width: int) -> str:
        """The text with blanks to a width that is seen."""
        return text + " " * (width - self.length(text))

    def _name(self, thread: int) -> str:
        seating = self._seating
        assert seating is not None
        if not seating.ranked:
            return f"t{thread}"
        first = sum(map(len, seating.placement.by_rank[: seating.rank(thread)]))
        return f"r{seating.rank(thread)}t{thread - first}"

    def _names(self, threads: list[int]) -> str:
        """All names, or of many the first and how many there are."""
        if len(threads) > 4:
            return self._paint(f"{self._name(threads[0])}…×{len(threads)}", threads[0])
        return self._paint(",".join(map(self._name, threads)), threads[0])

    def core(self, core: Core) -> str:
        """`0←t0 4←t1`; a thread that floats over the core's hardware threads stands once, after them: `0 4 ←t0`."""
        words = []
        seating = self._seating
        for p in core.pus:
            name = str(p) if p in self._allowed else f"({p})"
            threads = seating.cells.get(p, []) if seating is not None else []
            if threads:
                name += "←" + self._names(threads)
            words.append(name)
        for place, threads in seating.bands.items() if seating is not None else ():
            if set(place) <= set(core.pus):
                over = "" if set(place) == set(core.pus) & self._allowed else f"({format_processors(place)})"
                words.append("←" + over + self._names(threads))
        return " ".join(words)

    def digits(self, cores: Sequence[Core], width: int) -> list[str]:
        """`cores 0–63     1111222…`: for each core how many threads it has, `·` for none, `+` for more than nine."""
        label = f"cores {cores[0].logical}–{cores[-1].logical}"
        room = max(8, (width - 16) // 8 * 8)
        rows = []
        for i in range(0, len(cores), room):
            part = cores[i : i + room]
            name = label if len(cores) <= room else f"cores {part[0].logical}–{part[-1].logical}"
            rows.append(name.ljust(16) + "".join(map(self._digit, part)))
        return rows

    def _digit(self, core: Core) -> str:
        if not self._allowed & set(core.pus):
            return "x"
        seating = self._seating
        assert seating is not None
        threads = [t for p in core.pus for t in seating.cells.get(p, [])]
        threads += [t for place, own in seating.bands.items() if set(place) <= set(core.pus) for t in own]
        if not threads:
            return "·"
        return self._paint(str(len(threads)) if len(threads) < 10 else "+", threads[0])

    def notes(self, large: bool) -> list[str]:
        """What the drawing itself cannot say: how it is to be read, and threads that move between cores."""
        seating = self._seating
        if seating is None:
            return []
        found = []
        if large:
            found.append("each sign is a core: how many threads are on it, · none, + more than nine, x not allowed")
            found += self._in_order(seating)
        lines = seating.loose_lines()
        found += lines[:12]
        if len(lines) > 12:
            found.append(f"… and {len(lines) - 12} more such sets")
        return found

    def _in_order(self, seating: Seating) -> list[str]:
        """The processors of each rank's threads in order, cut where they are many."""
        found = []
        ranks = seating.placement.by_rank
        for rank, places in enumerate(ranks[:16]):
            listed = [format_processors(p) if len(p) == 1 else "{" + format_processors(p) + "}" for p in places]
            if any(len(p) > 1 and len(p) > 8 for p in places):
                continue
            shown = " ".join(listed) if len(listed) <= 16 else " ".join([*listed[:8], "…", *listed[-4:]])
            name = self._paint(f"rank {rank}", sum(map(len, ranks[:rank]))) if seating.ranked else "threads in order"
            found.append(f"{name}: {shown}")
        if len(ranks) > 16:
            found.append(f"… and {len(ranks) - 16} more ranks")
        return found


def _length(text: str) -> int:
    return len(_COLOUR.sub("", text))


def _wrapped(text: str, width: int) -> list[str]:
    """The text in lines, broken behind blanks and commas; of a very long one the beginning."""
    lines = [""]
    for piece in re.findall(r"[^ ,]*[ ,]+|[^ ,]+", text):
        if lines[-1] and _length(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: width - 1].rstrip(', ')}…"]
    return [line.rstrip() for line in lines]


def _title(machine: Machine) -> str:
    sockets = len({c.socket for c in machine.cores})
    counts = [(sockets, "socket"), (len(machine.cores), "core"), (len(machine.pus), "hardware thread")]
    words = [f"{n} {name}{'s' * (n != 1)}" for n, name in counts]
    memory = [format_bytes(machine.memory_bytes)] if machine.memory_bytes else []
    name = machine.processor.model or machine.source
    return " · ".join([name if len(name) <= 60 else f"{name[:59]}…", *words, *memory])


def _caches(machine: Machine, cores: Sequence[Core]) -> str:
    """Each level's caches of data, with how many hardware threads share one: `L1 32 KiB and L2 512 KiB each, L3 32 MiB per 2 …`."""
    mine = {p for c in cores for p in c.pus}
    caches: dict[str, tuple[str, int]] = {}
    for cache in machine.caches:
        if cache.content != "instruction" and mine.issuperset(cache.pus):
            size = format_bytes(cache.size_bytes)
            caches.setdefault(f"L{cache.level}", (f"L{cache.level} {size}", len(cache.pus)))
    listed = []
    for sharing, group in groupby((caches[level] for level in sorted(caches)), key=lambda one: one[1]):
        of = "for each hardware thread" if sharing == 1 else f"per {sharing} hardware threads"
        listed.append(f"{' and '.join(name for name, _ in group)} {of}")
    return ", ".join(listed)


def _memory(machine: Machine, cores: Sequence[Core]) -> list[str]:
    mine = {p for c in cores for p in c.pus}
    nodes = [n for n in machine.numa_nodes if n.pus and mine.issuperset(n.pus)]
    # one that is all of the socket has its processors named by the box
    shown = [
        f"NUMA node {n.os_index}"
        + (f": {format_bytes(n.size_bytes)}" if n.size_bytes else "")
        + (f" near {format_processors(n.pus)}" if len(nodes) > 1 else "")
        for n in nodes
    ]
    return shown if len(nodes) > 1 else [", ".join(shown)] if shown else []


def _last_level_groups(machine: Machine, cores: Sequence[Core]) -> list[list[Core]]:
    """The cores by the L3 cache that they share; one group where there is none, or one."""
    group = {p: i for i, c in enumerate(machine.caches) if c.level == 3 for p in c.pus}
    found: dict[int, list[Core]] = {}
    for core in cores:
        found.setdefault(group.get(core.pus[0], -1), []).append(core)
    return list(found.values())


def _box(title: str, rows: Sequence[str], painter: _Painter) -> list[str]:
    inner = max([len(title) + 2, *map(painter.length, rows)])
    top = f"╭ {title} {'─' * (inner - len(title))}╮"
    return [top, *(f"│ {painter.pad(r, inner)} │" for r in rows), f"╰{'─' * (inner + 2)}╯"]
