# SPDX-License-Identifier: BSD-3-Clause
"""In which order the contenders of a block run, so that what ran before favours none of them.

A run may leave caches cold, memory fragmented or a disk busy for whatever follows. A block begins with the contender that
ended the block before. So over time each contender follows each, itself too, equally often (changeover designs balanced for
first residual effects: E. J. Williams, Australian Journal of Scientific Research A 2, 1949, here extended over the edges
of the blocks), and of two contenders both runs of a block follow the same one. The rest of a block is random, and of two
random orders the one is taken whose neighbours have met less often.

Two contenders alone would leave nothing to chance: one, other, other, one, again and again, which has a period of four
runs, and so may have what disturbs them. Therefore now and then, at random, their block begins with the other one; that
block has unequal predecessors and counts for nothing (`carryover.comparable`).
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from random import Random

#: After this many blocks of two contenders that begin as the one before ended, at random between these, one does not. The
#: first ones come later, since most comparisons are short, and the block that does not counts for nothing.
_KEPT_FIRST, _KEPT = (9, 16), (7, 14)


class BalancedOrder:
    """Orders of blocks, one after the other, drawn from `random`: the same seed and names give the same orders."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._last: str | None = None
        self._met: Counter[tuple[str, str]] = Counter()
        self._kept = random.randint(*_KEPT_FIRST)

    def next(self, names: Sequence[str]) -> list[str]:
        """The order of the next block: each of `names` once, which may be others than in the block before.

        Raises ValueError where a name is there twice.
        """
        if len(set(names)) != len(names):
            raise ValueError(f"each contender runs once in a block: {list(names)}")
        first = self._first(names)
        drawn = [self._drawn(names, first) for _ in range(2)]
        order = min(drawn, key=self._familiar)
        for pair in self._neighbours(order):
            self._met[pair] += 1
        self._last = order[-1] if order else self._last
        return order

    def restart(self) -> None:
        """Say that what comes next is judged by itself: the first blocks of two contenders then all count."""
        self._kept = self._random.randint(*_KEPT_FIRST)

    def ran(self, name: str) -> None:
        """Say that `name` ran outside of a block (a warm-up, a run made again): what comes next follows it."""
        self._last = name

    def _first(self, names: Sequence[str]) -> str | None:
        """Who begins, where that is not left to chance."""
        if self._last is None or self._last not in names:
            return None
        if len(names) != 2:
            return self._last
        self._kept -= 1
        if self._kept >= 0:
            return self._last
        self._kept = self._random.randint(*_KEPT)
        return next(name for name in names if name != self._last)

    def _drawn(self, names: Sequence[str], first: str | None) -> list[str]:
        rest = [name for name in names if name != first]
        self._random.shuffle(rest)
        return rest if first is None else [first, *rest]

    def _neighbours(self, order: Sequence[str]) -> list[tuple[str, str]]:
        before = [] if self._last is None else [self._last]
        run = [*before, *order]
        return list(itertools.pairwise(run))

    def _familiar(self, order: Sequence[str]) -> int:
        """How often the neighbours of an order have met."""
        return sum(self._met[pair] for pair in self._neighbours(order))
