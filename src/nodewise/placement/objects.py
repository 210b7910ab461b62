# SPDX-License-Identifier: BSD-3-Clause
"""The objects of a machine by which placements are expressed: sockets, NUMA nodes, caches, cores, hardware threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine, Node

#: From the smallest; every dialect has names of its own for them.
KINDS = ("pu", "core", "l1cache", "l2cache", "l3cache", "numa", "die", "package", "machine")
#: What a kind is called in messages, where that is another word.
NAMES = {"pu": "hardware thread", "numa": "NUMA node", "package": "socket"}


def objects(machine: Machine, kind: str) -> list[tuple[int, ...]]:
    """The processors allowed of each object of a kind, in hwloc's order; objects without any are left out.

    `pu`, `core`, `l1cache` … `l3cache`, `numa`, `die`, `package` and `machine` are kinds; a machine without one of them
    has none. Raises InputError for another name.
    """
    if kind not in KINDS:
        raise InputError(f"no kind of object: {kind!r}", f"kinds are: {', '.join(KINDS)}")
    if kind == "pu":
        return [(p,) for p in machine.allowed]
    if kind == "core":
        return [c.pus for c in machine.allowed_cores]
    if kind == "numa":
        found = [n.pus for n in machine.nodes_as_counted]
    else:
        found = [n.pus for n in _walk(machine.tree) if n.kind == kind]
    permitted = set(machine.allowed)
    kept = (tuple(p for p in pus if p in permitted) for pus in found)
    return [pus for pus in kept if pus]


def last_level_caches(machine: Machine) -> list[tuple[int, ...]]:
    """The processors of each last-level cache; those of each socket where the caches are not known."""
    for kind in ("l3cache", "l2cache", "l1cache", "package"):
        found = objects(machine, kind)
        if found:
            return found
    return objects(machine, "machine")


def numbered_objects(machine: Machine, kind: str) -> dict[int, tuple[int, ...]]:
    """As `objects`, by the operating system's number of each: NUMA nodes may be numbered with gaps."""
    permitted = set(machine.allowed)
    if kind == "numa":
        found = {n.os_index: n.pus for n in machine.numa_nodes}
    else:
        found = {n.os_index: n.pus for n in _walk(machine.tree) if n.kind == kind}
    kept = {number: tuple(p for p in pus if p in permitted) for number, pus in found.items()}
    return {number: pus for number, pus in kept.items() if pus}


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def primary_order(machine: Machine, processors: Sequence[int]) -> list[int]:
    """The processors with the first hardware thread of every core before the second of any."""
    rank = {p: i for core in machine.cores for i, p in enumerate(core.pus)}
    return sorted(processors, key=lambda p: rank[p])
