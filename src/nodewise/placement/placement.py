# SPDX-License-Identifier: BSD-3-Clause
"""Placement: for each rank and thread, the set of processors that it may use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.late import late

#: How ranks are numbered over nodes: `block` fills a node before the next, `cyclic` deals them out in turn, and
#: `plane=N` deals out N neighbours at a time.
_ORDER = late(r"block|cyclic|plane=([1-9]\d{0,6})")


@dataclass(frozen=True)
class PlaceList:
    """The places among which an OpenMP runtime deals out threads, and its policies by level, from the outermost on."""

    places: tuple[tuple[int, ...], ...]
    binds: tuple[str, ...]


@dataclass(frozen=True)
class Placement:
    """Places of the threads of one node's ranks, rank after rank: operating-system indexes each.

    `policy` names the rule that made it. `ranks` is how many threads each of the node's ranks has; empty means that the
    program is one process with all of the threads. Every one of the `nodes` is filled alike, until `total` ranks are
    placed (None: all nodes are full), which `order` numbers over the nodes. `held` is what each of a node's ranks may use
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
        if not _ORDER.fullmatch(self.order) or self.per_node % self._together:
            raise InputError(
                f"{self.per_node} ranks a node cannot be numbered by {self.order!r}",
                "write block, cyclic, or plane=N where N divides the ranks of a node",
            )

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

    def seats(self) -> Iterator[tuple[int, int]]:
        """For each rank of the job, in order, its node and which of the node's ranks it is."""
        if self.order == "block":
            yield from (divmod(rank, self.per_node) for rank in range(self.size))
            return
        together = self._together
        for rank in range(self.size):
            hand, inside = divmod(rank, together)
            yield hand % self.nodes, hand // self.nodes * together + inside

    @property
    def _together(self) -> int:
        """How many neighbouring ranks are dealt to a node at a time; 1 also where a node is filled before the next."""
        match = _ORDER.fullmatch(self.order)
        return int(match[1] or 1) if match else 1

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
