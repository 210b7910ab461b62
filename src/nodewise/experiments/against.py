# SPDX-License-Identifier: BSD-3-Clause
"""An earlier experiment beside a comparison that runs: whether more runs are needed to hold it against that one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.records.experiment import Experiment
from nodewise.records.kept_variables import KEPT_VARIABLES
from nodewise.runner.objective import Objective
from nodewise.statistics.sequential import FEWEST_BLOCKS, OpenLooks
from nodewise.statistics.verdict import is_settled
from nodewise.verdicts.baseline import asked_otherwise, differences, judge_unpaired, matches, phase_of
from nodewise.verdicts.pair import costs_of

#: So many times as many runs as there were then are enough: what is open yet is left so by the earlier ones, which are no more.
_ENOUGH = 10


class Against:
    """The pairs of now and then, and whether a word is said of each."""

    def __init__(
        self,
        then: Experiment,
        contenders: Sequence[tuple[str, str]],
        machine: Machine,
        environment: Mapping[str, str],
        objective: Objective,
        any_machine: bool = False,
    ) -> None:
        """`contenders` are names and commands. `pairs` are none where nothing may be compared, which the verdict explains.

        Raises InputError where there were so few runs then that no number of runs now would decide.
        """
        kept = {k: v for k, v in environment.items() if k.startswith(KEPT_VARIABLES)}
        unlike = asked_otherwise(objective, then) or (not any_machine and differences(machine, kept, then))
        self.then, self.any_machine = then, any_machine
        self.pairs = [] if unlike else matches(contenders, then)
        self._costs = {old: costs_of(then, old, phase_of(then)) for _, old in self.pairs}
        for old, then_s in self._costs.items():
            if len(then_s) < FEWEST_BLOCKS:
                raise InputError(
                    f"the baseline has {len(then_s)} run{'s' * (len(then_s) != 1)} of {old}, and a verdict takes {FEWEST_BLOCKS} or more",
                    "measure the baseline anew with more runs",
                )
        self._seen: dict[str, int] = {}
        self._known: dict[str, bool] = {}

    def settled(
        self, costs: Mapping[str, Sequence[float]], looks: OpenLooks, within: float, threshold: float | None
    ) -> bool:
        """Whether a verdict is reached on each that still runs, or cannot be: its `costs` now, by name. `threshold` is a slowdown of which
        has to be said whether it is exceeded."""
        for name, old in self.pairs:
            now = costs.get(name, ())
            # between two looks what was seen at the last one holds
            if not looks.due(len(now)) or self._seen.get(name) == len(now):
                continue
            self._seen[name] = len(now)
            verdict = judge_unpaired(self._costs[old], now, looks, within, final=False)
            low, high = verdict.ratio.low, verdict.ratio.high
            open_ = threshold is not None and low * (1 + threshold) <= 1 <= high * (1 + threshold)
            self._known[name] = (is_settled(verdict) and not open_) or len(now) >= _ENOUGH * len(self._costs[old])
        return all(self._known.get(name, False) for name, _ in self.pairs if name in costs)
