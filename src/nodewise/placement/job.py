# SPDX-License-Identifier: BSD-3-Clause
"""Job: how many ranks and threads are to be placed; and the zones that ranks get where no launcher says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.placement.placement import Placement
from nodewise.placement.policies import MOST_THREADS

#: More nodes than any cluster has.
MOST_NODES = 1 << 20


@dataclass(frozen=True)
class Job:
    """`threads` of each rank; `ranks` in all (0: one process, started by no launcher) over `nodes` alike, `each` on a full one (0: evenly).

    Raises InputError where a number makes no sense.
    """

    threads: int
    ranks: int = 0
    nodes: int = 1
    each: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= MOST_THREADS:
            raise InputError(f"cannot place {self.threads} threads", f"give a number from 1 to {MOST_THREADS}")
        if not 0 <= self.ranks <= MOST_NODES * 1024 or not 1 <= self.nodes <= MOST_NODES:
            raise InputError(f"cannot place {self.ranks} ranks on {self.nodes} nodes", "give numbers from 1")
        if self.nodes > self.ranks > 0:
            raise InputError(
                f"{self.ranks} rank{'s do' if self.ranks > 1 else ' does'} not fill {self.nodes} nodes",
                "give as many ranks as nodes, or more",
            )
        if self.per_node * self.threads > MOST_THREADS:
            raise InputError(
                f"cannot place {self.per_node} ranks of {self.threads} threads on one node",
                f"give at most {MOST_THREADS} threads a node",
            )

    @property
    def per_node(self) -> int:
        """How many ranks a full node has."""
        return self.each or max(1, ceil(self.ranks / self.nodes))

    def placement(
        self,
        policy: str,
        by_rank: Sequence[Sequence[tuple[int, ...]]],
        order: str = "block",
        held: Sequence[tuple[int, ...]] = (),
    ) -> Placement:
        """A Placement of this shape from the places of one node's ranks, and what each is held to."""
        places = tuple(place for rank in by_rank for place in rank)
        if not self.ranks:
            return Placement(policy, places)
        return Placement(policy, places, tuple(map(len, by_rank)), self.nodes, order, self.ranks, tuple(held))

    def floating(self, policy: str, zones: Sequence[tuple[int, ...]], order: str = "block") -> Placement:
        """A Placement where every thread may use all of its rank's zone."""
        return self.placement(policy, [[zone] * self.threads for zone in zones], order)


def share_zones(machine: Machine, ranks: int) -> list[tuple[int, ...]]:
    """Each of a node's ranks gets as many neighbouring cores, with all of their hardware threads; some may be left over.

    With more ranks than cores, ranks get a hardware thread each, and those are shared in turn where they do not suffice.
    """
    cores = [c.pus for c in machine.allowed_cores]
    each = len(cores) // ranks
    if each:
        return [tuple(sorted(p for core in cores[r * each : (r + 1) * each] for p in core)) for r in range(ranks)]
    processors = machine.allowed
    return [(processors[r % len(processors)],) for r in range(ranks)]


def within(machine: Machine, zone: Sequence[int]) -> Machine:
    """The machine as a process held to a zone sees it."""
    return replace(machine, limits=replace(machine.limits, processors=tuple(sorted(zone))))
