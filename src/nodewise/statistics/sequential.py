# SPDX-License-Identifier: BSD-3-Clause
"""When to look at a comparison that is still running, so that stopping early keeps the promised error rate.

Each look uses an interval at a level of its own. The levels are such that the chance that any of the intervals misses the
true ratio is at most alpha, however one stops: the share of alpha that is spent by each look is fixed beforehand (K. K. G.
Lan, D. L. DeMets, Biometrika 70, 1983), and its level follows from the chance that a sum of independent steps first leaves
its bounds at that look (P. Armitage, C. K. McPherson, B. C. Rowe, JRSS A 132, 1969). The sums of sign-flipped scores of
`compare.ratio_interval` are such sums, and normal but for their discreteness; what that and the changing scale of the scores
cost is held back (`_HELD_BACK`), and simulated (`./dev bench errors`). The numbers of blocks after which one looks never
depend on what was measured.
"""

import bisect
import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nodewise.base.frozen import dataclass

#: How often at most something of what one result says may be wrong: all its comparisons share this rate.
ALPHA = 0.05
#: Of fewer blocks even equal signs of all are no rare luck: 2 / 2^5 is above 5%.
FEWEST_BLOCKS = 6
#: This share of alpha is not spent, since the sums are only nearly normal.
_HELD_BACK = 0.15
#: Equal signs of all blocks may cost this share of alpha: with fewer blocks nobody looks.
_FIRST_SHARE = 0.4
#: What is left of alpha after n blocks falls as n to this power: more spends it too early for small differences, less too late.
_DECAY = 1.0
#: Looks after every block up to here, beyond at numbers that grow by a tenth.
_EACH_UP_TO, _GROWTH = 40, 1.1
#: The looks of a comparison whose most blocks are known grow so.
_PLANNED_GROWTH = 1.25
_GRID = 121
#: A level nearer to 1 could not be distinguished from it.
_LEAST = 1e-12


@dataclass(frozen=True)
class _Walk:
    """The density of a sum of `steps` steps of variance 1 that has not left its bounds yet, on a grid; None at the start."""

    steps: int
    at: NDArray[np.float64]
    weights: NDArray[np.float64]

    def beyond(self, bound: float, steps: int) -> float:
        """The chance that it is outside ± `bound` after `steps` steps in all, without having left before."""
        scale = math.sqrt(2 * (steps - self.steps))
        return float(self.weights @ [math.erfc(d) for d in ((bound - self.at) / scale).tolist()])

    def inside(self, bound: float, steps: int) -> "_Walk":
        """The same after `steps` steps in all, with those gone that are outside ± `bound` then."""
        at = np.linspace(-bound, bound, _GRID)
        width = np.full(_GRID, at[1] - at[0])
        width[[0, -1]] /= 2
        variance = steps - self.steps
        kernel = np.exp(-((at[:, None] - self.at[None, :]) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        return _Walk(steps, at, width * (kernel @ self.weights))


_START = _Walk(0, np.zeros(1), np.ones(1))


def _bound(walk: _Walk, steps: int, chance: float) -> float:
    """The bound that the walk is outside of after `steps` steps with this chance, not having left before."""
    low, high = 0.0, 12 * math.sqrt(steps)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if walk.beyond(middle, steps) > chance else (low, middle)
    return high


@dataclass(frozen=True)
class Looks:
    """`at`: after how many blocks to look, ascending; `alpha`: the error rate of all looks together."""

    at: tuple[int, ...]
    alpha: float = ALPHA

    @property
    def level(self) -> float:
        """The level of the interval at each look, one for all (S. J. Pocock, Biometrika 64, 1977)."""
        return 1 - _common_chance(self.at, self.alpha)


@lru_cache(maxsize=256)
def _common_chance(at: tuple[int, ...], alpha: float) -> float:
    """The two-sided chance at each look that adds up to alpha over all of them, less what is held back of several."""
    if len(at) == 1:
        return alpha
    low, high = 0.0, alpha
    for _ in range(12):
        middle = (low + high) / 2
        deviations = NormalDist().inv_cdf(1 - middle / 2)
        walk, spent = _START, 0.0
        for steps in at:
            bound = deviations * math.sqrt(steps)
            spent += walk.beyond(bound, steps)
            walk = walk.inside(bound, steps)
        low, high = (middle, high) if spent <= alpha * (1 - _HELD_BACK) else (low, middle)
    return low


def plan_looks(most_blocks: int, alpha: float = ALPHA, before_end: int | None = None) -> Looks:
    """Looks for a comparison of at most `most_blocks` blocks, the last one at the end, growing geometrically; where it is given,
    up to one after `before_end` blocks, which comes before the last.

    With few blocks there is one look only, since an early one would have no interval. Raises ValueError below
    FEWEST_BLOCKS.
    """
    if most_blocks < FEWEST_BLOCKS:
        raise ValueError(f"{FEWEST_BLOCKS} blocks are the fewest that can decide, not {most_blocks}")
    at = [most_blocks] if before_end is None or before_end >= most_blocks else [before_end, most_blocks]
    while (earlier := int(at[0] / _PLANNED_GROWTH)) >= FEWEST_BLOCKS:
        at.insert(0, earlier)
    # a look that has no interval even where all signs are equal costs width at the others
    while len(at) > 1 and 2.0 ** (1 - at[0]) > _common_chance(tuple(at), alpha):
        del at[0]
    return Looks(tuple(at), alpha)


@dataclass(frozen=True)
class OpenLooks:
    """Looks without an end, for a comparison that may be continued: after each block from `fewest` on, later less often.

    Where the time runs out between two looks, the next one is taken there. Several `comparisons` in the same blocks hold
    together, each with its part of alpha.
    """

    alpha: float = ALPHA
    comparisons: int = 1

    def due(self, blocks: int) -> bool:
        """Whether there is a look after that many blocks."""
        return blocks >= self.fewest and _AT[bisect.bisect_left(_AT, blocks)] == blocks

    def following(self, blocks: int) -> int:
        """After how many blocks the first look is that comes after `blocks`."""
        return max(self.fewest, _AT[bisect.bisect_right(_AT, blocks)])

    def level(self, blocks: int) -> float:
        """The level of the interval of one comparison that is looked at after that many blocks.

        Below `fewest` it is so high that there is no interval.
        """
        if blocks < self.fewest:
            return 1.0
        return 1 - max(_chances(self.alpha / self.comparisons).at(blocks), _LEAST)

    @property
    def fewest(self) -> int:
        """The fewest blocks that give an interval: the smallest n with 2 / 2^n within what the first look may cost, at least six."""
        return _fewest(self.alpha / self.comparisons)


def _fewest(alpha: float) -> int:
    least = math.ceil(1 - math.log2(alpha * (1 - _HELD_BACK) * _FIRST_SHARE))
    return max(FEWEST_BLOCKS, least)


class _Chances:
    """The two-sided chance at each look of `OpenLooks`, computed as far as one has looked."""

    def __init__(self, alpha: float) -> None:
        self._alpha = alpha * (1 - _HELD_BACK)
        self._fewest = _fewest(alpha)
        self._walk = _START
        self._first = bisect.bisect_left(_AT, self._fewest)
        self._known: list[float] = []

    def at(self, blocks: int) -> float:
        """The chance at the look after that many blocks, or the next one."""
        look = bisect.bisect_left(_AT, blocks) - self._first
        while len(self._known) <= look:
            self._add()
        return self._known[look]

    def _add(self) -> None:
        steps = _AT[self._first + len(self._known)]
        before = self._spent(_AT[self._first + len(self._known) - 1]) if self._known else 0.0
        chance = self._spent(steps) - before
        bound = _bound(self._walk, steps, chance)
        self._walk = self._walk.inside(bound, steps)
        # the first is that of equal signs, to the last digit
        self._known.append(math.erfc(bound / math.sqrt(2 * steps)) if self._known else chance)

    def _spent(self, blocks: int) -> float:
        """How much of alpha is spent up to the look after that many blocks: first what equal signs of all cost."""
        left = self._alpha - 2.0 ** (1 - self._fewest)
        return float(self._alpha - left * (self._fewest / blocks) ** _DECAY)


@lru_cache(maxsize=64)
def _chances(alpha: float) -> _Chances:
    return _Chances(alpha)


def _open_looks() -> list[int]:
    at = list(range(FEWEST_BLOCKS, _EACH_UP_TO + 1))
    while at[-1] < 10**9:
        at.append(math.ceil(at[-1] * _GROWTH))
    return at


_AT = _open_looks()
