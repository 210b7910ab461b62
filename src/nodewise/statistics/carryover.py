# SPDX-License-Identifier: BSD-3-Clause
"""Which blocks may be compared, by what ran before each of two contenders.

A program may slow down or speed up whatever follows it. Where that is a factor of its own for each predecessor, the ratio of
two contenders is free of it if each predecessor came before the one as often as before the other; a contender that often
follows the other, and never itself, pays for what the other leaves behind. `order.BalancedOrder` makes orders of which all
blocks but a few are used; of any other orders enough blocks are left out to have that balance.
Which they are depends on the orders alone, never on a time, so that nothing is selected.
"""

from collections import Counter
from collections.abc import Sequence

#: A predecessor that came before one of the two this many times more than before the other is chance in balanced orders.
_CHANCE = 2


def comparable(one: str, other: str, after: Sequence[tuple[str | None, str | None]]) -> list[int]:
    """The indices of the blocks that count in the ratio of two contenders, ascending.

    `after` has for each of n blocks the names of what ran directly before `one` and before `other`, None where nothing did
    or nobody knows. A block with equal or unknown predecessors counts, one in which each ran after the other or itself
    (and not the same) does not; of the rest the latest are left out until no predecessor came before either more than twice
    more often than before the other.
    """
    own = {one, other}
    kept = [i for i, (a, b) in enumerate(after) if a is None or b is None or a == b or not {a, b} <= own]
    arcs = {i: (a, b) for i in kept if (a := after[i][0]) and (b := after[i][1]) and a != b}
    surplus = Counter(a for a, _ in arcs.values())
    surplus.subtract(b for _, b in arcs.values())
    while surplus and max(map(abs, surplus.values())) > _CHANCE:
        worst = max(arcs, key=lambda i: (surplus[arcs[i][0]] - surplus[arcs[i][1]], i))
        a, b = arcs.pop(worst)
        if surplus[a] - surplus[b] < 2:
            break
        surplus[a] -= 1
        surplus[b] += 1
        kept.remove(worst)
    return kept
