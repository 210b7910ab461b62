# SPDX-License-Identifier: BSD-3-Clause
"""Seating: on which node each rank of a job is, by the order in which ranks are dealt out over nodes."""

from __future__ import annotations

from collections.abc import Iterator

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.late import late

_ORDER = late(r"block|even|cyclic|plane=([1-9]\d{0,6})")


@dataclass(frozen=True)
class Seating:
    """How `size` ranks go to `nodes`, at most `full` of them to each.

    `order` is `block`: a node is filled before the next; `even`: node after node, none with more than one rank more than another;
    `cyclic`: dealt out in turn; `plane=N`: N neighbours at a time, fewer where a node has room for no more or another would be left
    without. The last three are srun's, whose block is `even`, as 22.05 was asked. Raises InputError where the order is not known
    or ranks do not fit.
    """

    order: str
    size: int
    nodes: int
    full: int

    def __post_init__(self) -> None:
        if not _ORDER.fullmatch(self.order):
            raise InputError(
                f"ranks cannot be numbered by {self.order!r} over nodes", "write block, even, cyclic or plane=N"
            )
        if self.size > self.full * self.nodes or max(self.counts()) > self.full:
            raise InputError(
                f"{self.size} ranks on {self.nodes} nodes, {self.full} at most on each, cannot be numbered by {self.order!r}"
            )

    @property
    def together(self) -> int:
        """How many neighbouring ranks are dealt to a node at a time, where nodes take turns."""
        match = _ORDER.fullmatch(self.order)
        return int(match[1] or 1) if match else 1

    def counts(self) -> list[int]:
        """How many ranks each node has."""
        if self.order == "block":
            return [max(0, min(self.full, self.size - node * self.full)) for node in range(self.nodes)]
        if not self.order.startswith("plane"):
            each, more = divmod(self.size, self.nodes)
            return [each + (node < more) for node in range(self.nodes)]
        counts, left = [0] * self.nodes, self.size
        while left:
            for node in range(self.nodes):
                # one is kept for each node that has none yet
                kept = 0 if counts[-1] else self.nodes - node - 1
                some = max(0, min(self.together, self.full - counts[node], left - kept))
                counts[node] += some
                left -= some
        return counts

    def turns(self) -> Iterator[tuple[int, int]]:
        """For each rank, in order, its node, and which of the node's ranks it is."""
        counts = self.counts()
        at_a_time = self.full if self.order in ("block", "even") else self.together
        taken = [0] * self.nodes
        left = self.size
        while left:
            for node, count in enumerate(counts):
                some = min(at_a_time, count - taken[node])
                yield from ((node, taken[node] + inside) for inside in range(some))
                taken[node] += some
                left -= some

    @property
    def one_round(self) -> bool:
        """Whether each node's ranks are neighbours."""
        return self.order in ("block", "even") or max(self.counts()) <= self.together


def even(size: int, nodes: int) -> str:
    """The order of ranks that fill nodes evenly, one after the other: `block`, where that is the same."""
    each = -(-size // nodes)
    return "even" if each * nodes - size > 1 else "block"
