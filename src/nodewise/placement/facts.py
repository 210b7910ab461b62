# SPDX-License-Identifier: BSD-3-Clause
"""Facts of a placement: what it uses of a machine, and how near its threads are to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.placement.objects import last_level_caches, objects
from nodewise.placement.placement import Placement

#: Kinds of objects that neighbours may share, from the nearest.
LEVELS = ("core", "cache", "numa", "package")


@dataclass(frozen=True)
class Facts:
    """Counts over the threads of one node.

    `by_kind` has, for each kind of `LEVELS`, how many threads each of its objects holds whole; `loads` how many threads
    each processor holds, where a place is one processor; `neighbours` how many pairs of threads i, i+1 of a rank first
    meet in each kind (`far`: in none), where it is known of threads that may move, `sharing` how many meet there or in something nearer. `bound` counts threads by how tightly they are held: to a `processor`, a `core`,
    or `wider`.
    """

    threads: int
    processors: int
    cores: int
    idle_cores: int
    by_kind: dict[str, tuple[int, ...]]
    loads: dict[int, int]
    neighbours: dict[str, int]
    sharing: dict[str, int]
    bound: dict[str, int]

    @property
    def most_on_a_processor(self) -> int:
        """The most threads that are bound to one processor."""
        return max(self.loads.values(), default=0)

    @property
    def crowded(self) -> bool:
        """Whether threads share a processor by being bound to it while an allowed core has none."""
        return self.most_on_a_processor > 1 and self.idle_cores > 0


def placement_facts(machine: Machine, placement: Placement) -> Facts:
    """The facts of a placement on a machine."""
    parts = {
        "core": objects(machine, "core"),
        "cache": last_level_caches(machine) if machine.caches else [],
        "numa": objects(machine, "numa") or [machine.allowed],
        "package": objects(machine, "package") or [machine.allowed],
    }
    number = {kind: {p: i for i, pus in enumerate(found) for p in pus} for kind, found in parts.items()}
    held: dict[str, list[int]] = {kind: [0] * len(found) for kind, found in parts.items()}
    for place in placement.places:
        for kind, counts in held.items():
            where = {number[kind].get(p, -1) for p in place}
            if len(where) == 1 and -1 not in where:
                counts[where.pop()] += 1
    used = {p for place in placement.places for p in place}
    cores = {number["core"][p] for p in used if p in number["core"]}
    levels = _levels(parts)
    neighbours = _neighbours(placement, levels, number)
    return Facts(
        threads=placement.threads,
        processors=len(used),
        cores=len(cores),
        idle_cores=len(parts["core"]) - len(cores),
        by_kind={kind: tuple(counts) for kind, counts in held.items()},
        loads=Counter(place[0] for place in placement.places if len(place) == 1),
        neighbours=neighbours,
        sharing={
            **{kind: sum(neighbours.get(k, 0) for k in levels[: i + 1]) for i, kind in enumerate(levels)},
            "far": neighbours.get("far", 0),
        },
        bound=Counter(_tightness(place, number["core"]) for place in placement.places),
    )


def _tightness(place: Sequence[int], core_of: dict[int, int]) -> str:
    if len(place) == 1:
        return "processor"
    return "core" if len({core_of.get(p, -1 - p) for p in place}) == 1 else "wider"


def _parts(number: dict[int, int], place: Sequence[int]) -> set[int]:
    return {number[p] for p in place if p in number}


def _levels(parts: dict[str, list[tuple[int, ...]]]) -> list[str]:
    """The kinds from the nearest on this machine; a single NUMA node is left out, and what it has not."""
    levels = [kind for kind in LEVELS if len(parts[kind]) > (kind == "numa")]
    return sorted(levels, key=lambda kind: max(map(len, parts[kind])))


def _neighbours(placement: Placement, levels: list[str], number: dict[str, dict[int, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for rank in placement.by_rank:
        for a, b in pairwise(rank):
            apart = True
            met = "far"
            for kind in levels:
                where = {number[kind].get(p, -1) for p in (*a, *b)}
                if len(where) == 1 and -1 not in where:
                    met = kind
                    break
                apart = _parts(number[kind], a).isdisjoint(_parts(number[kind], b))
            # threads that may move, and then be nearer, say nothing of how near they are
            if met == levels[0] or apart:
                found[met] += 1
    return dict(found)
