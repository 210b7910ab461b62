# SPDX-License-Identifier: BSD-3-Clause
"""Whether the gain that a tune confirmed is the one that its search had seen."""

from __future__ import annotations

from nodewise.records.columns import WARM_UP
from nodewise.records.experiment import Experiment
from nodewise.runner.setting import Setting
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.verdict import format_ratio
from nodewise.verdicts.pair import PairVerdict, costs_of
from nodewise.verdicts.question import machine_of, question_of

#: The settings of a search are among others, and its winner was lucky: what lies closer than this factor is no other gain.
_APART = 1.1
_LEVEL = 0.99


def unsteady_notes(experiment: Experiment, comparison: PairVerdict, phase: str) -> list[str]:
    """A sentence where the settings that `phase` compared had another ratio in the blocks before it; none where they had not.

    The processors of a virtual machine may come to lie on other ones, a clock may fall: what holds under one condition alone is not
    promised for all.
    """
    if comparison.low is None or comparison.high is None:
        return []
    one, other = (_costs_before(experiment, experiment.settings[k], phase) for k in (comparison.one, comparison.other))
    if min(len(one), len(other)) < FEWEST_BLOCKS:
        return []
    then = unpaired_interval(one, other, _LEVEL)
    if max(then.low / comparison.high, comparison.low / then.high) <= _APART:
        return []
    return [
        f"the gain was another one in the search, {format_ratio(then)}: machine or program changed their speed meanwhile, and which of both holds "
        "tomorrow is not known; `nodewise confirm` asks again"
    ]


def _costs_before(experiment: Experiment, setting: Setting, phase: str) -> list[float]:
    """The costs of all settings that start as this one does, in other phases than that."""
    inherited, processors = question_of(experiment).environment, machine_of(experiment).allowed
    start = setting.start(inherited, processors)
    alike = [key for key, other in experiment.settings.items() if other.start(inherited, processors) == start]
    phases = [one for one in experiment.records.phases if one not in (phase, WARM_UP)]
    return [cost for key in alike for one in phases for cost in costs_of(experiment, key, one)]
