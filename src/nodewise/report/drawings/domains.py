# SPDX-License-Identifier: BSD-3-Clause
"""Domains: the tree of a machine as a drawing shows it, without the levels that only repeat the one above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_bytes
from nodewise.machine.model import Cache, Core, Machine, Node, NumaNode

_LABELS = {"package": "Socket", "die": "Die", "group": "Group", "machine": "Machine"}


@dataclass(frozen=True)
class Domain:
    """A box: what it is, the memory and the caches that all of it shares, and the boxes or cores in it, in order."""

    label: str
    memory: tuple[str, ...]
    caches: tuple[str, ...]
    parts: tuple[Domain | Core, ...]

    @property
    def cores(self) -> tuple[Core, ...] | None:
        """The parts, where all of them are cores; None where some are boxes."""
        found = tuple(p for p in self.parts if isinstance(p, Core))
        return found if len(found) == len(self.parts) else None


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def memory_label(node: NumaNode) -> str:
    """`Memory 1 (MCDRAM) 16 GiB`."""
    subtype = f" ({node.subtype})" if node.subtype else ""
    return f"Memory {node.os_index}{subtype}" + (f" {format_bytes(node.size_bytes)}" if node.size_bytes else "")


def _cache_label(kind: str, size: int) -> str:
    name = kind.removesuffix("cache").upper()
    return f"{name} {format_bytes(size)}" if size else name


class _Builder:
    def __init__(self, machine: Machine):
        self._core_of = {p: core for core in machine.cores for p in core.pus}
        self._memory = list(machine.numa_nodes)

    def _take_memory(self, node: Node) -> list[str]:
        """The NUMA nodes that belong to exactly these processors, each given away once: to the outermost box."""
        here = [n for n in self._memory if n.pus and set(n.pus) == set(node.pus)]
        self._memory = [n for n in self._memory if n not in here]
        return [memory_label(n) for n in here]

    def domain(self, node: Node) -> Domain:
        """The box of a node and of everything that has the same processors."""
        labels: list[str] = []
        caches: list[str] = []
        memory = self._take_memory(node)
        while True:
            if node.kind.endswith("cache"):
                caches.append(_cache_label(node.kind, node.size_bytes))
            elif node.kind not in ("machine", "group"):
                labels.append(f"{_LABELS.get(node.kind, node.kind)} {max(node.logical, 0)}")
            if len(node.children) != 1 or self._single(node.children[0]):
                break
            node = node.children[0]
        parts = tuple(self._core_of[c.pus[0]] if self._single(c) else self.domain(c) for c in node.children)
        return Domain(", ".join(labels), tuple(memory), tuple(caches), parts)

    def _single(self, node: Node) -> bool:
        return len({self._core_of[p].logical for p in node.pus}) == 1

    def remaining_memory(self) -> tuple[str, ...]:
        return tuple(
            memory_label(n)
            + (" (no processors of its own)" if not n.pus else f" (of {_plural(len(n.pus), 'processor')})")
            for n in self._memory
        )


def domains(machine: Machine) -> tuple[Domain, tuple[str, ...]]:
    """The outermost box, and the memory that belongs to none of the boxes (fast or far memory without processors)."""
    builder = _Builder(machine)
    outermost = builder.domain(machine.tree)
    return outermost, builder.remaining_memory()


def _private_caches(core: Core, caches: Sequence[Cache]) -> str:
    letters = {"data": "d", "instruction": "i", "unified": ""}
    own = sorted((c for c in caches if set(c.pus) <= set(core.pus)), key=lambda c: (c.level, c.content))
    names = dict.fromkeys(f"L{c.level}{letters[c.content]} {format_bytes(c.size_bytes)}" for c in own)
    return ", ".join(names)


def cache_line(machine: Machine) -> str:
    """What caches each core has to itself: `each core: L1d 32 KiB, L2 1 MiB`; by number of cores where they differ."""
    first = {p: core for core in machine.cores for p in core.pus}
    by_core: dict[int, list[Cache]] = {core.logical: [] for core in machine.cores}
    for cache in machine.caches:
        owners = {first[p].logical for p in cache.pus if p in first}
        if len(owners) == 1:
            by_core[owners.pop()].append(cache)
    kinds = Counter(_private_caches(core, by_core[core.logical]) for core in machine.cores)
    if len(kinds) == 1:
        own = next(iter(kinds))
        return f"each core: {own}" if own else ""
    return "; ".join(f"{_plural(count, 'core')}: {own or 'none of its own'}" for own, count in kinds.items())


def count_line(machine: Machine) -> str:
    """`2 sockets, 28 cores, 56 hardware threads, 2 of them allowed`."""
    sockets = len({c.socket for c in machine.cores})
    total = len(machine.pus)
    allowed = "" if len(machine.allowed) == total else f", allowed {len(machine.allowed)} of {total}"
    parts = (_plural(sockets, "socket"), _plural(len(machine.cores), "core"), _plural(total, "hardware thread"))
    return ", ".join(parts) + allowed
