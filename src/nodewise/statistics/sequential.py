# SPDX-License-Identifier: BSD-3-Clause
"""When to look at a comparison that is still running, so that stopping early keeps the promised error rate.

Group-sequential looks, planned before the first run: each of K looks uses an interval at level 1 - alpha / K, so that by
Bonferroni's inequality all K hold together with probability 1 - alpha, however one stops.
"""

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
