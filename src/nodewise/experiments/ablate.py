# SPDX-License-Identifier: BSD-3-Clause
"""What carries a gain: the setting that was confirmed beside itself with one axis put back, with what the comparison left."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from nodewise.experiments.tune_runs import TuneRuns
from nodewise.records.budget import Meter
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.verdicts.ablation import AFTER, Ablations, first_blocks, level_of

#: More blocks than are expected to do, which half of the time they would not.
_SURE = 1.5
#: They are at most so many times the first ones: what takes more is not worth the wait.
_MOST_MORE = 6


class Ablate:
    """Runs the blocks. `cost_s` is what a run takes, `within` the difference (a share) that counts as none; `fails` takes the runs of
    a block, and says whether the candidate counts as one that fails.
    """

    def __init__(
        self, runs: TuneRuns, meter: Meter, cost_s: float, within: float, fails: Callable[[Mapping[str, Sample]], bool]
    ):
        self._runs, self._meter, self._cost_s, self._within, self._fails = runs, meter, cost_s, within, fails

    def run(self, candidate: Setting, arms: Mapping[str, Setting]) -> bool:
        """In as many blocks as an interval takes, of as many axes as the budget has runs for; then, where that leaves some of them open
        and the budget has the runs that would tell, in so many more of these. False where the candidate failed.
        """
        if not arms:
            return True
        blocks = first_blocks(len(arms))
        most = self._meter.affordable(self._cost_s) // (blocks - (len(arms) > 1)) - 1
        some = dict(list(arms.items())[: max(0, most)])
        if not some:
            return True
        times: dict[str, list[tuple[float, float]]] = {axis: [] for axis in some}
        if not self._blocks(candidate, some, blocks, times):
            return False
        level = level_of(len(arms), blocks + 1)
        found = Ablations({axis: _ratio(pairs, level) for axis, pairs in times.items()}, self._within)
        unclear = {axis: some[axis] for axis in found.unseparated if found.ratios[axis] is not None}
        if not unclear:
            return True
        more = math.ceil(_SURE * found.more_blocks(unclear)) + 1
        if more > _MOST_MORE * blocks or more * (1 + len(unclear)) > self._meter.affordable(self._cost_s):
            return True
        return self._blocks(candidate, unclear, more, times)

    def _blocks(
        self,
        candidate: Setting,
        arms: Mapping[str, Setting],
        blocks: int,
        times: Mapping[str, list[tuple[float, float]]],
    ) -> bool:
        """So many blocks, as far as the budget goes; `times` of each axis without it and with it. False where the candidate failed."""
        some = [candidate, *arms.values()]
        for _ in range(blocks):
            if self._meter.affordable(self._cost_s) < len(some):
                break
            samples = self._runs.block(some, AFTER, self._runs.patience_s(), searching=False).samples
            if self._fails(samples):
                return False
            mine = samples.get(candidate.key)
            for axis, setting in arms.items():
                other = samples.get(setting.key)
                if mine is not None and other is not None and mine.ok and other.ok:
                    times[axis].append((other.seconds, mine.seconds))
        return True


def _ratio(pairs: list[tuple[float, float]], level: float) -> Ratio | None:
    return ratio_interval([p[0] for p in pairs], [p[1] for p in pairs], level) if pairs else None
