# SPDX-License-Identifier: BSD-3-Clause
"""When to look at a comparison that is still running, so that stopping early keeps the promised error rate.

Group-sequential looks: each of them uses an interval at a level of its own, and the error rates of all looks add up to
alpha, so that by Bonferroni's inequality all intervals hold together with probability 1 - alpha, however one stops. The
numbers of blocks after which one looks never depend on what was measured. Spending alpha over looks: K. K. G. Lan, D. L.
DeMets, Biometrika 70, 1983; here without their use of the looks' correlation, so that nothing is assumed of the noise.
The interval at one look is `compare.ratio_interval`'s, which in blocks of random order is exact under any noise.
"""

import bisect
from dataclasses import dataclass

#: Below this many blocks the signed-rank interval at 95 % does not exist.
FEWEST_BLOCKS = 6
_GROWTH = 1.7
_MOST_LOOKS = 5


@dataclass(frozen=True)
class Looks:
    """`at`: after how many blocks to look, ascending; `alpha`: the error rate of all looks together."""

    at: tuple[int, ...]
    alpha: float = 0.05

    @property
    def level(self) -> float:
        """The level of the interval at each look."""
        return 1 - self.alpha / len(self.at)


def plan_looks(most_blocks: int, alpha: float = 0.05) -> Looks:
    """Looks for a comparison of at most `most_blocks` blocks, the last one at the end, growing geometrically.

    With few blocks there is one look only, since an early one would have no interval. Raises ValueError below
    FEWEST_BLOCKS.
    """
    if most_blocks < FEWEST_BLOCKS:
        raise ValueError(f"{FEWEST_BLOCKS} blocks are the fewest that can decide, not {most_blocks}")
    at = [most_blocks]
    # an interval at 1 - alpha / 5 exists from eight blocks on (2 / 2^8 < 0.01), but says little; a look costs width at the end
    while len(at) < _MOST_LOOKS and at[0] / _GROWTH >= 16:
        at.insert(0, int(at[0] / _GROWTH))
    return Looks(tuple(at), alpha)


@dataclass(frozen=True)
class OpenLooks:
    """Looks without an end, for a comparison that may be continued: after 8, 12, 18, 27, 40 … blocks.

    The k-th look has the share 3 / ((k + 2) (k + 3)) of `alpha`; the shares of all that there can be add up to one.
    Where the time runs out between two looks, the next one is taken there. Several `comparisons` in the same blocks hold
    together, each with its part of alpha.
    """

    alpha: float = 0.05
    comparisons: int = 1

    def due(self, blocks: int) -> bool:
        """Whether there is a look after so many blocks."""
        at = _OPEN[bisect.bisect_left(_OPEN, blocks)]
        return at == blocks

    def level(self, blocks: int) -> float:
        """The level of the interval of one comparison that is looked at after so many blocks."""
        look = bisect.bisect_left(_OPEN, blocks) + 1
        return 1 - self.alpha / self.comparisons * 3 / ((look + 2) * (look + 3))

    @property
    def fewest(self) -> int:
        """The fewest blocks that can give an interval: the smallest n with 2 / 2^n within the level of its look."""
        return next(n for n in range(1, 64) if 2 / 2**n <= 1 - self.level(n))


def _open_looks() -> list[int]:
    at = [8]
    while at[-1] < 10**9:
        at.append(at[-1] * 3 // 2)
    return at


_OPEN = _open_looks()
