# SPDX-License-Identifier: BSD-3-Clause
"""A machine drawn with characters, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.units import format_bytes
from nodewise.machine.model import Core, Machine


def machine_text(machine: Machine, places: Sequence[Sequence[int]] | None = None, width: int = 100) -> str:
    """Packages as boxes, a cell for each core with its hardware threads; with `places`, who sits on each (`4←t1`).

    A processor that may not be used stands in brackets. No line is longer than `width` characters, unless one core is.
    """
    seats = _seats(places)
    text = {core.logical: _core(core, set(machine.allowed), seats) for core in machine.cores}
    cell = max(map(len, text.values()), default=1)
    lines = [_title(machine)]
    for package in sorted({c.package for c in machine.cores}):
        cores = [c for c in machine.cores if c.package == package]
        rows = [_caches(machine, cores), *_memory(machine, cores)]
        shared: list[list[Core]] = _last_level_groups(machine, cores)
        for group in shared:
            if len(shared) > 1:
                rows.append(f"L3 of cores {group[0].logical}–{group[-1].logical}")
            each = max(1, (width - 6) // (cell + 3))
            rows += [
                " │ ".join(text[c.logical].ljust(cell) for c in group[i : i + each]).rstrip()
                for i in range(0, len(group), each)
            ]
        lines += _box(f"package {package}", [r for r in rows if r], width)
    lines += [
        f"memory node {n.os_index}: {format_bytes(n.size_bytes)}, no processors"
        for n in machine.numa_nodes
        if not n.pus
    ]
    return "\n".join(lines)


def _seats(places: Sequence[Sequence[int]] | None) -> dict[int, list[int]]:
    seats: dict[int, list[int]] = {}
    for thread, place in enumerate(places or ()):
        for p in place:
            seats.setdefault(p, []).append(thread)
    return seats


def _core(core: Core, allowed: set[int], seats: dict[int, list[int]]) -> str:
    words = []
    for p in core.pus:
        name = str(p) if p in allowed else f"({p})"
        words.append(name + ("←" + ",".join(f"t{t}" for t in seats[p]) if p in seats else ""))
    return " ".join(words)


def _title(machine: Machine) -> str:
    packages = len({c.package for c in machine.cores})
    counts = [(packages, "package"), (len(machine.cores), "core"), (len(machine.pus), "hardware thread")]
    words = [f"{n} {name}{'s' * (n != 1)}" for n, name in counts]
    memory = [format_bytes(machine.memory_bytes)] if machine.memory_bytes else []
    return " · ".join([machine.processor.model or machine.source, *words, *memory])


def _caches(machine: Machine, cores: Sequence[Core]) -> str:
    """Each level's caches of data, with how many processors share one."""
    mine = {p for c in cores for p in c.pus}
    said: dict[str, str] = {}
    for cache in machine.caches:
        if cache.content != "instruction" and mine.issuperset(cache.pus):
            sharing = "" if len(cache.pus) == 1 else f" per {len(cache.pus)} hardware threads"
            said.setdefault(f"L{cache.level}", f"L{cache.level} {format_bytes(cache.size_bytes)}{sharing}")
    return ", ".join(said[level] for level in sorted(said))


def _memory(machine: Machine, cores: Sequence[Core]) -> list[str]:
    mine = {p for c in cores for p in c.pus}
    nodes = [n for n in machine.numa_nodes if n.size_bytes and n.pus and mine.issuperset(n.pus)]
    shown = [f"memory node {n.os_index}: {format_bytes(n.size_bytes)}" for n in nodes]
    return [", ".join(shown)] if shown else []


def _last_level_groups(machine: Machine, cores: Sequence[Core]) -> list[list[Core]]:
    """The cores by the L3 cache that they share; one group where there is none, or one."""
    group = {p: i for i, c in enumerate(machine.caches) if c.level == 3 for p in c.pus}
    found: dict[int, list[Core]] = {}
    for core in cores:
        found.setdefault(group.get(core.pus[0], -1), []).append(core)
    return list(found.values())


def _box(title: str, rows: Sequence[str], width: int) -> list[str]:
    inner = min(width - 4, max([len(title) + 2, *map(len, rows)]))
    top = f"╭ {title} {'─' * (inner - len(title))}╮"
    return [top, *(f"│ {r.ljust(inner)} │" for r in rows), f"╰{'─' * (inner + 2)}╯"]
