# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a tune: blocks within its budget and its patience, what they cost, and what they say of a setting."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nodewise.experiments.blocks import Arm, Block, Blocks
from nodewise.experiments.costs import Costs
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Meter
from nodewise.runner.sample import Sample
from nodewise.runner.setting import BASELINE, Setting
from nodewise.search.outcome import AtLeast, Outcome

#: A run may take this many times the baseline's time, and a little for the start, before it is cut off.
_PATIENCE, _PATIENCE_S = 3.0, 0.5


class TuneRuns:
    """Makes the runs of one tune and keeps their `costs`."""

    def __init__(self, question: Question, blocks: Blocks, meter: Meter):
        self._question = question
        self._blocks = blocks
        self._meter = meter
        self.costs = Costs()

    def block(
        self, settings: Sequence[Setting], phase: str, timeout_s: float, searching: bool, until_s: float = math.inf
    ) -> Block:
        """Every setting once, in random order; none is started after the budget's end, nor runs long beyond it.

        None is started either when `until_s` of the budget's seconds are spent.
        """
        arms = [Arm(s, timeout_s) for s in {s.key: s for s in settings}.values()]
        block = self._blocks.run(arms, phase, lambda: self._allowed_s() if self._meter.seconds < until_s else 0.0)
        for key, sample in block.samples.items():
            self.costs.take(key, sample, block.costs[key], searching)
        return block

    def _allowed_s(self) -> float:
        """How long the next run may take at most: to the budget's end and one run of the baseline more; 0: none may start."""
        return left + self.costs.slowest_baseline_s if (left := self._meter.left_s(self._meter.budget)) > 0 else 0.0

    def patience_s(self) -> float:
        """After how many seconds a run is cut off."""
        slower = len(self._question.machine.allowed) if self._question.sweep else 1  # one thread is shown, too
        most = _PATIENCE * slower * self.costs.slowest_baseline_s + _PATIENCE_S
        own = self._question.timeout_s
        return most if own is None else min(own, most)

    def outcome(self, sample: Sample) -> Outcome:
        """What a run tells the search: its time, a bound where it was cut off, None where it failed."""
        if sample.ok:
            return sample.seconds
        if sample.cut_off:
            # as many times the baseline's result as it had of the baseline's time
            return AtLeast(self.costs.times[BASELINE].median * sample.wall_s / self.costs.baseline_s)
        return None

    def affordable(self) -> int:
        """How many more runs there are, at what one of the search costs."""
        return self._meter.affordable(self.costs.typical_s)

    def pair_s(self, key: str | None) -> float:
        """What a block of the baseline and a setting costs; where runs are counted each is as dear as any other."""
        return 2 * self.costs.typical_s if self._meter.budget.seconds is None else self.costs.pair_s(key)
