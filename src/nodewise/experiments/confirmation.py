# SPDX-License-Identifier: BSD-3-Clause
"""Confirmation: what fresh blocks of the baseline and one candidate bear, block by block."""

from __future__ import annotations

import math

from nodewise.base.frozen import dataclass
from nodewise.experiments.blocks import Block
from nodewise.runner.setting import BASELINE
from nodewise.statistics.disturbance import Disturbance, Met, disturbance
from nodewise.statistics.sequential import FEWEST_BLOCKS, Looks, plan_looks
from nodewise.statistics.verdict import Verdict, Word, is_settled
from nodewise.verdicts.disturbed import met_of
from nodewise.verdicts.pair import Pairs, judge_pairs

#: What ended a comparison where the candidate failed, and where another setting is surely faster.
FAILED, OVERTAKEN = "failed", "overtaken"
#: A further plan has at least this share of the blocks that there were.
_MORE = 1 / 3


def fewest_blocks(alpha: float) -> int:
    """How many blocks can distinguish two settings at all with an error rate of `alpha`."""
    return max(FEWEST_BLOCKS, math.ceil(1 - math.log2(alpha)))


def first_looks(blocks: int, most: int, alpha: float) -> Looks:
    """Looks at up to `blocks` blocks and, where that does not cost an early look its interval, a last one after `most`."""
    looks = plan_looks(most, alpha, blocks)
    return looks if blocks in looks.at else plan_looks(blocks, alpha)


def further_looks(made: int, blocks: int, alpha: float) -> Looks:
    """Looks at `made` blocks and up to `blocks` more, with an error rate of their own: it adds to that of the looks before."""
    return Looks(tuple(made + n for n in plan_looks(blocks, alpha).at), alpha)


@dataclass(frozen=True)
class Compared:
    """What became of a comparison: `ended` by `decided`, `budget`, FAILED or OVERTAKEN; whether the candidate was faster; whether it came to a
    look, which has spent its error rate; of that rate `share` was for the last plan.
    """

    ended: str
    won: bool = False
    looked: bool = False
    share: float = 1.0


class Confirmation:
    """The pairs of one confirmation, and what they bear so far."""

    def __init__(self, looks: Looks, within: float, quota: float | None, accept_disturbed: bool):
        """`within` is the difference that counts as none, `quota` the processors that the program may use at a time."""
        self._looks = looks
        self._within = within
        self._quota = quota
        self._accept = accept_disturbed
        self._pairs: list[tuple[float, float, int, tuple[str | None, str | None]]] = []
        self._candidate = ""
        self._met: list[Met] = []
        # asked for several times a block, and as long as all of them
        self._together: Pairs | None = None

    def going_on(self, looks: Looks) -> Confirmation:
        """The same pairs, to which more will come, under further looks: these count all blocks, those so far among them."""
        more = Confirmation(looks, self._within, self._quota, self._accept)
        more._pairs, more._met, more._candidate = list(self._pairs), list(self._met), self._candidate
        return more

    @property
    def fewest_more(self) -> int:
        """How many blocks a further plan has to have, so that it may decide what this one left open; 0: it left nothing open, or
        did not come to its end."""
        if self.count < self._looks.at[-1] or self.word is not Word.UNDECIDED:
            return 0
        return max(FEWEST_BLOCKS, math.ceil(self.count * _MORE))

    def _disturbance(self) -> Disturbance:
        return disturbance(self._met, self._quota)

    def _all(self) -> Pairs:
        if self._together is None:
            one, other, blocks, after = zip(*self._pairs, strict=True)
            self._together = Pairs(one, other, blocks, self._disturbance(), after, (BASELINE, self._candidate))
        return self._together

    def _judge(self, final: bool) -> Verdict:
        level = self._looks.level
        pairs, accept = self._all(), self._accept
        return judge_pairs(pairs, lambda _: level, self._within, final=final, accept_disturbed=accept, surely=True)[0]

    @property
    def count(self) -> int:
        """How many pairs decide."""
        return len(self._all().deciding(self._accept)[0]) if self._pairs else 0

    def add(self, block: Block) -> bool:
        """Take one more block, where both ran well; whether it is now known well enough, asked at the looks alone."""
        before = self.count
        self._together = None
        self._met += [met_of(block.number, key, sample) for key, sample in block.samples.items()]
        (self._candidate,) = block.samples.keys() - {BASELINE}
        base, mine = block.samples[BASELINE], block.samples[self._candidate]
        if not base.ok or not mine.ok:
            return False
        after = (block.after[BASELINE], block.after[self._candidate])
        self._pairs.append((base.seconds, mine.seconds, block.number, after))
        return self.count > before and self.count in self._looks.at and is_settled(self._judge(final=False))

    @property
    def word(self) -> Word:
        """What they bear where no more will come."""
        return self._judge(final=True).word if self._pairs else Word.UNDECIDED
