# SPDX-License-Identifier: BSD-3-Clause
"""A machine as tables: every hardware thread, the groups that share a cache, and the NUMA domains with their distances."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.processors import format_processors
from nodewise.base.units import format_bytes
from nodewise.machine.model import Cache, Machine

_UNKNOWN = "–"


def topology_tables(machine: Machine) -> str:
    """Four tables with a blank line between them.

    Hardware threads have their number within the core, the core's within the machine, and the number of their NUMA domain by the
    system; `*` marks those that may be used. A cache's groups are the processors that share one. Distances are the
    firmware's (10 is local), in the order of the domains.
    """
    parts = {
        "Hardware threads": _threads(machine),
        "Sockets": _sockets(machine),
        "Caches": _caches(machine.caches),
        "NUMA domains": _domains(machine),
    }
    return "\n\n".join(f"{heading}\n{_table(rows)}" for heading, rows in parts.items() if len(rows) > 1)


def _threads(machine: Machine) -> list[Sequence[str]]:
    allowed = set(machine.allowed)
    kinds = {pu: kind.name for kind in machine.kinds for pu in kind.pus} if len(machine.kinds) > 1 else {}
    rows: list[Sequence[str]] = [
        ("processor", "thread", "core", "socket", "NUMA", *(["kind"] if kinds else []), "available")
    ]
    found = [(pu, thread, core) for core in machine.cores for thread, pu in enumerate(core.pus)]
    for pu, thread, core in sorted(found, key=lambda one: one[0]):
        numbers = map(str, (pu, thread, core.logical, core.socket, core.numa_node))
        rows.append((*numbers, *([kinds.get(pu, _UNKNOWN)] if kinds else []), "*" if pu in allowed else ""))
    return rows


def _sockets(machine: Machine) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [("socket", "cores", "processors")]
    for socket in sorted({core.socket for core in machine.cores}):
        cores = [core for core in machine.cores if core.socket == socket]
        rows.append((str(socket), str(len(cores)), format_processors([pu for core in cores for pu in core.pus])))
    return rows


def _caches(caches: Sequence[Cache]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [("cache", "size", "line", "shared by", "groups of processors")]
    alike: dict[tuple[int, str, int, int, int], list[Cache]] = {}
    for cache in caches:
        alike.setdefault((cache.level, cache.content, cache.size_bytes, cache.line_bytes, len(cache.pus)), []).append(
            cache
        )
    for (level, content, size, line, shared), several in sorted(alike.items()):
        letter = {"data": "d", "instruction": "i"}.get(content, "")
        groups = " ".join(f"({format_processors(cache.pus)})" for cache in sorted(several, key=lambda c: min(c.pus)))
        rows.append((f"L{level}{letter}", format_bytes(size), f"{line} B" if line else _UNKNOWN, str(shared), groups))
    return rows


def _domains(machine: Machine) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [("domain", "memory", "processors", "distances")]
    for at, node in enumerate(machine.numa_nodes):
        distances = " ".join(map(str, machine.distances[at])) if at < len(machine.distances) else _UNKNOWN
        memory = format_bytes(node.size_bytes) if node.size_bytes else _UNKNOWN
        rows.append((str(node.os_index), memory, format_processors(node.pus) or "none", distances))
    return rows


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
