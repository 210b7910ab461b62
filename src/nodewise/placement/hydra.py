# SPDX-License-Identifier: BSD-3-Clause
"""How Hydra, the launcher of MPICH, maps the ranks of a node to objects and binds them.

The rules are those of its topology library (handle_bitmap_binding in topo_hwloc.c, MPICH 4 and 5); tests check them against
answers of the real one. Objects with the same processors count once, and where objects differ in size it reckons with the
average: ranks of uneven machines may share an object while another one stays free.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import gcd

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine, Node
from nodewise.placement.objects import NAMES, objects

#: Hydra's words for kinds of objects; it knows them in lower case only.
WORDS = {
    "machine": "machine",
    **dict.fromkeys(("socket", "package"), "package"),
    "die": "die",
    **dict.fromkeys(("numa", "numanode"), "numa"),
    **{f"l{i}{content}cache": f"l{i}cache" for i in (1, 2, 3) for content in ("", "d", "u")},
    "core": "core",
    "hwthread": "pu",
}
#: One word for each kind, for messages.
SHOWN = (
    "machine",
    "socket",
    "die",
    "numa",
    "l3cache",
    "l2cache",
    "l1cache",
    "core",
    "hwthread",
    "none",
    "rr",
    "user:LIST",
)


def zones(machine: Machine, bind: tuple[str, int], by: tuple[str, int], ranks: int) -> list[tuple[int, ...]]:
    """The processors of each rank: so many objects of a kind, mapped by so many of another, each as kind and number.

    Raises InputError where Hydra refuses.
    """
    targets = [frozenset(pus) for pus in _there(machine, bind[0], "-bind-to")]
    units = _there(machine, by[0], "-map-by")
    processors = len(machine.allowed)
    in_map = processors // len(units) * by[1]
    in_bind = processors // len(targets) * bind[1]
    if in_map > processors:
        raise InputError(
            f"mpiexec refuses to map by {by[1]} of {NAMES.get(by[0], by[0])}: there are {len(units)}", "name fewer"
        )
    domains = len(units) // gcd(len(units), by[1])
    rounds = in_bind // gcd(in_bind, in_map) * in_map // in_bind if in_bind < in_map else 1
    every = [[p for n in range(by[1]) for p in units[(d * by[1] + n) % len(units)]] for d in range(domains)]
    bound = _bound(machine, targets, every, bind[1], in_bind if in_bind < in_map else 0)
    found = list(islice(bound, min(ranks, rounds * domains)))
    return [found[rank % len(found)] for rank in range(ranks)]


def _there(machine: Machine, kind: str, option: str) -> list[tuple[int, ...]]:
    once = {frozenset(pus): pus for pus in reversed(objects(machine, kind))}
    if not once:
        raise InputError(
            f"mpiexec refuses {option}: this machine has no {NAMES.get(kind, kind)}", "name objects that it has"
        )
    return list(reversed(once.values()))


def _bound(
    machine: Machine, targets: list[frozenset[int]], every: list[list[int]], count: int, step: int
) -> Iterator[tuple[int, ...]]:
    """What one rank after the other is bound to, for ever: `count` targets from that which holds the domain's next processor.

    The next is `step` processors on, within the domain in the machine's order. With a step of 0, targets are not smaller than
    domains: each domain is the beginning of one binding, which goes on round the machine.
    """
    position = {p: i for i, p in enumerate(machine.allowed)}
    inside = [sorted(set(domain), key=position.__getitem__) for domain in every]
    at = [row.index(domain[0]) for row, domain in zip(inside, every, strict=True)]
    around = [_covering(machine, frozenset(row)) if step else frozenset(machine.allowed) for row in inside]
    last = targets[0]
    while True:
        for d, row in enumerate(inside):
            first = next((i for i, target in enumerate(targets) if row[at[d]] in target), None)
            # a processor in no target (a cache that some cores lack) leaves what the rank before was bound to
            index = first or 0
            last = last if first is None else targets[first]
            own: set[int] = set()
            for _ in range(min(count, len(targets))):
                own |= last
                turns = ((index + n) % len(targets) for n in range(1, len(targets)))
                index = next((i for i in turns if targets[i] <= around[d]), index)
                last = targets[index] if targets[index] <= around[d] else last
            yield tuple(sorted(own))
            at[d] = (at[d] + step) % len(row)


def _covering(machine: Machine, pus: frozenset[int]) -> frozenset[int]:
    """The processors of the smallest object that holds all of these."""
    allowed = frozenset(machine.allowed)
    node: Node | None = machine.tree
    found = allowed
    while node is not None:
        found = frozenset(node.pus) & allowed
        node = next((child for child in node.children if pus <= frozenset(child.pus)), None)
    return found
