# SPDX-License-Identifier: BSD-3-Clause
"""Reserve: how many of a tune's runs are kept for the confirmation while it searches."""

from __future__ import annotations

import math

from nodewise.experiments.confirmation import fewest_blocks
from nodewise.experiments.costs import Costs
from nodewise.search.guided import GuidedSearch
from nodewise.search.space import Point, Space
from nodewise.search.surrogate import GUESSED_NOISE
from nodewise.statistics.summary import MAD_TO_SIGMA, mad
from nodewise.verdicts.ablation import ablation_blocks

#: How many standard errors the gain should lie above none after the confirmation.
_SURE = 3.5
#: What the confirmation may take of all runs at most: the one where a run's time varies as usual, up to the other.
_CONFIRM_SHARES = (0.5, 0.65)
#: How many runs it has beyond the fewest where the gain is clear: this share of all, and no more than so many.
_SPARE_SHARE, _MOST_SPARE = 0.08, 60
#: A machine that has slowed down by so much still comes to an answer, if that takes no more than this share of all runs: hosts of virtual
#: machines do, from one second to the next.
_SLOWER, _SLOWER_SHARE = 3.0, 0.25
#: What a confirmation has at least of a budget of time, of which a short program's runs are a small part.
_LEAST_SHARE = 1 / 8
#: So many pairs tell how they vary; twice as much as all runs is another noise, of two threads that wait for each other, say.
_TELLING_PAIRS, _MUCH_NOISIER = 8, 2.0
#: Runs are kept to find out what a gain of at least this (in log time) comes from: a gain without its cause is half an answer.
CLEAR_GAIN = 0.08
#: One setting is taken to be faster than another by so many deviations of the model.
_OVERTAKEN = 2.0
#: A comparison is given up for a setting that gains more by this part of its own gain: its runs and its share of errors are lost.
_WORTH_ANEW = 1 / 6
#: The share of all runs that putting back each axis of the confirmed setting may take; below what an interval takes it has none.
_APART_SHARE = 1 / 4
#: The blocks of three runs that are kept for finding out what carries a gain, and the share of all runs they may take.
_REDUCTION_BLOCKS, _REDUCTION_SHARE = 6, 1 / 6


class Reserve:
    """Of one search: the runs that confirming its best point takes. `within` is the difference (of log time) that counts as none."""

    def __init__(self, search: GuidedSearch, space: Space, costs: Costs, within: float):
        self._search = search
        self._space = space
        self._costs = costs
        self._within = within

    def needed(self, best: Point | None, total: int, alpha: float) -> float:
        """How many runs of `total` a confirmation takes, so that the gain of the best point is sure; infinite where it may be none."""
        if best is None:
            return math.inf
        gain, deviation = self._search.gain(best, self._search.reference)
        sure = gain - deviation - self._within
        if sure <= 0:
            return math.inf
        spare = min(_MOST_SPARE, int(total * _SPARE_SHARE))
        if len(self._space.changed(best)) > 1 and sure > CLEAR_GAIN:
            # two axes are what most settings are reduced to
            apart = 3 * ablation_blocks(2)
            spare += apart if apart <= total * _APART_SHARE else 0
        return max(2 * fewest_blocks(alpha) + spare, self._sure_after(best, sure))

    def _sure_after(self, best: Point, sure: float) -> float:
        """How many runs of both make so much of a gain sure."""
        return 4 * (_SURE * self._noise(best) / sure) ** 2

    def _noise(self, best: Point) -> float:
        """The standard deviation of one run's log time, here: that of the search, but where these two surely vary far more than its other runs."""
        pairs = self._search.pairs(best, self._search.reference, 0)
        own = MAD_TO_SIGMA * mad(pairs) / math.sqrt(2) if len(pairs) >= _TELLING_PAIRS else 0.0
        return own if own > _MUCH_NOISIER * self._search.noise else self._search.noise

    def for_ablation(self, best: Point, arms: int, left: int, spare: int) -> int:
        """How many of the runs left the comparison leaves, to find out what a clear gain comes from; it can do without `spare`."""
        if not arms or self._search.gain(best, self._search.reference)[0] < CLEAR_GAIN:
            return 0
        kept = ablation_blocks(arms) * (1 + arms)
        return kept if kept <= spare and self._is_enough(best, left - kept) else 0

    def _is_enough(self, best: Point, runs: int) -> bool:
        """Whether a confirmation of so many runs makes the gain of a point sure."""
        gain, deviation = self._search.gain(best, self._search.reference)
        sure = gain - deviation - self._within
        return sure > 0 and self._sure_after(best, sure) <= runs

    def disappoints(self, point: Point, expected: float) -> bool:
        """Whether a point gains nothing for sure, or less than was `expected` (in log time)."""
        gain, deviation = self._search.gain(point, self._search.reference)
        return gain < expected - self._within or gain - deviation < self._within

    def is_surely_faster(self, other: Point, than: Point, disappointing: bool) -> bool:
        """Whether a point gains something, and surely so much more than another one that beginning anew is worth it.

        One that differs in further axes alone is not, unless that other one is `disappointing`: of those many are alike, and
        some of them lucky.
        """
        gain, deviation = self._search.gain(other, self._search.reference)
        more, apart = self._search.gain(other, than)
        crossed = any(other[a.name] != than[a.name] for a in self._space.open if a.crossed)
        if not crossed and not disappointing:
            return False
        worth = self._within if crossed else max(self._within, _WORTH_ANEW * gain)
        return gain - deviation > self._within and more > max(_OVERTAKEN * apart, worth)

    def runs(self, best: Point | None, pair_s: float, left: int, total: int, alpha: float, timed: bool) -> int:
        """How many of the runs `left` of `total` are kept: few for a large gain, most that it may have for a small one.

        `pair_s` is what a run of the baseline and one of the best point take together; `timed`: time ends the budget.
        """
        least_share, most_share = _CONFIRM_SHARES
        share = min(most_share, least_share * max(1.0, self._search.noise / GUESSED_NOISE))
        # the baseline is slower than what the search has come to run; where runs are counted one is one
        price = max(1.0, pair_s / 2 / self._costs.typical_s)
        fewest = 2 * fewest_blocks(alpha) * price
        most = (left - math.ceil(fewest)) // 2
        if best is None and self._search.blocks:
            # nothing that ran so far can be confirmed
            return math.ceil(fewest)
        if self._search.unseen or self._search.untried_pairings(most) or (most > 0 and not self._search.paired):
            # what never ran may be the best of all
            return math.ceil(fewest)
        enough = self.needed(best, total, alpha) * price + self._to_reduce(best, total)
        if timed:
            # noise of the last moment is not all that there is: a comparison of a fraction of a second sees no other
            enough = max(enough, min(_SLOWER * fewest, _SLOWER_SHARE * total), _LEAST_SHARE * total)
        kept = min(max(fewest, total * share), enough)
        if self._search.promises:
            # a block for what the model expects to be better, as far as the fewest are left
            kept = max(fewest, min(kept, left - self._search.size))
        return math.ceil(kept)

    def _to_reduce(self, best: Point | None, total: int) -> int:
        """How many runs are kept for finding out what of the best point carries its gain."""
        changed = len(self._space.changed(best or {}))
        return int(min(3 * _REDUCTION_BLOCKS, total * _REDUCTION_SHARE)) if changed > 1 else 0
