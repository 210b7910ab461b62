# SPDX-License-Identifier: BSD-3-Clause
"""Placement: for each rank and thread, the set of processors that it may use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.placement.seating import Seating


@dataclass(frozen=True)
class PlaceList:
    """The places among which an OpenMP runtime deals out threads, and its policies by level, from the outermost on."""

    places: tuple[tuple[int, ...], ...]
    binds: tuple[str, ...]


@dataclass(frozen=True)
class Placement:
    """Places of the threads of one node's ranks, rank after rank: operating-system indexes each.

    `policy` names the rule that made it. `ranks` is how many threads each of the node's ranks has; empty means that the
    program is one process with all of the threads. Every one of the `nodes` is filled alike, with its first ranks where it has
    fewer than a full one; `total` is how many ranks there are (None: all nodes are full), which `order` deals out (see `Seating`). `held` is what each of a node's ranks may use
    as a process, where that is more than its threads' places.

    `levels` is how many threads an OpenMP team of each level has, where each thread of a rank's outer team has one of its own:
    the threads of a rank are then those of its innermost teams, one team after the other. `inner` is for each rank what
    its runtime has for inner teams of which it is not known how large they are.
    """

    policy: str
    places: tuple[tuple[int, ...], ...]
    ranks: tuple[int, ...] = ()
    nodes: int = 1
    order: str = "block"
    total: int | None = None
    held: tuple[tuple[int, ...], ...] = ()
    levels: tuple[int, ...] = ()
    inner: tuple[PlaceList | None, ...] = ()

    def __post_init__(self) -> None:
        if self.ranks and sum(self.ranks) != len(self.places):
            raise InputError(f"{sum(self.ranks)} threads of {len(self.ranks)} ranks have {len(self.places)} places")
        # looked at where it is made
        self.seating.counts()

    @property
    def threads(self) -> int:
        """How many threads are placed on a node."""
        return len(self.places)

    @property
    def per_node(self) -> int:
        """How many ranks a full node has."""
        return max(1, len(self.ranks))

    @property
    def size(self) -> int:
        """How many ranks there are on all nodes."""
        return self.per_node * self.nodes if self.total is None else self.total

    @cached_property
    def by_rank(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The places of each rank's threads on one node."""
        if not self.ranks:
            return (self.places,)
        return tuple(self.places[a:b] for a, b in pairwise(accumulate(self.ranks, initial=0)))

    @cached_property
    def used(self) -> tuple[tuple[int, ...], ...]:
        """For each of a node's ranks all processors of its places, sorted."""
        return tuple(tuple(sorted({p for place in places for p in place})) for places in self.by_rank)

    @property
    def zones(self) -> tuple[tuple[int, ...], ...]:
        """For each of a node's ranks the affinity mask of its process."""
        return self.held or self.used

    @cached_property
    def mask(self) -> tuple[int, ...]:
        """All processors of all places, sorted."""
        return tuple(sorted({p for place in self.places for p in place}))

    @cached_property
    def seating(self) -> Seating:
        """How the job's ranks go to its nodes."""
        return Seating(self.order, self.size, self.nodes, self.per_node)

    def seats(self) -> Iterator[tuple[int, int]]:
        """For each rank of the job, in order, its node and which of the node's ranks it is."""
        return self.seating.turns()

    def to_json(self) -> dict[str, Any]:
        """`{"policy", "threads", "places": [[processor, …], …], "ranks", "nodes", "order", "size", "zones"}`."""
        return {
            "policy": self.policy,
            "threads": self.threads,
            "places": [list(p) for p in self.places],
            "ranks": list(self.ranks),
            "nodes": self.nodes,
            "order": self.order,
            "size": self.size,
            "zones": [list(z) for z in self.zones],
            "levels": list(self.levels),
        }
