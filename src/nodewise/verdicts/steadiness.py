# SPDX-License-Identifier: BSD-3-Clause
"""Whether the gain that a tune confirmed is the one that its search had seen, and what may be promised where it is not.

The processors of a virtual machine may come to lie on others, a clock may fall, a neighbour may go: then a program has two speeds, each of
which lasts for longer than a comparison takes. What was measured under one of them alone is not promised for both.
"""

from __future__ import annotations

import math

from nodewise.records.columns import WARM_UP
from nodewise.records.experiment import Experiment
from nodewise.runner.objective import format_metric
from nodewise.runner.setting import BASELINE
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.verdict import Verdict, Word, format_ratio
from nodewise.verdicts.pair import Pairs, pair_up
from nodewise.verdicts.question import machine_of, question_of

#: The settings of a search are among others, and its winner was lucky: what lies closer than this factor is no other gain.
_APART = 1.1
_LEVEL = 0.99
#: So many slow runs, and this share of all, are hardly chance: of equal commands they are found in one of eight.
_FEWEST_SLOW, _SLOW_SHARE = 3, 0.05


def other_gain(experiment: Experiment, candidate: str, verdict: Verdict, phase: str) -> Ratio | None:
    """What the candidate gained before `phase`, which found it faster, where that is another gain; None where it is not, or not known."""
    now = verdict.ratio
    if verdict.word is not Word.FASTER or not math.isfinite(now.high):
        return None
    inherited, processors = question_of(experiment).environment, machine_of(experiment).allowed
    start = experiment.settings[candidate].start(inherited, processors)
    alike = [key for key, other in experiment.settings.items() if other.start(inherited, processors) == start]
    phases = [one for one in experiment.records.phases if one not in (phase, WARM_UP)]
    found = [pair_up(experiment, BASELINE, key, before) for key in alike for before in phases]
    one = [cost for pairs in found for cost in pairs.one]
    other = [cost for pairs in found for cost in pairs.other]
    if len(one) < FEWEST_BLOCKS:
        return None
    then = ratio_interval(one, other, _LEVEL)
    if not then.has_interval or max(then.low / now.high, now.low / then.high) <= _APART:
        return None
    return then


def of_both(verdict: Verdict, then: Ratio) -> tuple[Verdict, str]:
    """The verdict whose interval holds both gains, with the reason where it is undecided."""
    now = verdict.ratio
    both = Ratio(now.ratio, min(now.low, then.low), max(now.high, then.high), now.pairs)
    if both.low > 1 + verdict.within:
        return Verdict(Word.FASTER, both, verdict.within), ""
    reason = f"the gain came and went: in the search it was {format_ratio(then)}"
    return Verdict(Word.UNDECIDED, both, verdict.within), reason


def unsteady_note(then: Ratio, now: Ratio) -> str:
    """What is said of it; `now` is the interval of the confirmation alone."""
    return (
        f"the gain was {format_ratio(then)} in the search and {format_ratio(now)} in the confirmation: machine or program changed their speed "
        "meanwhile, and the interval holds both; `nodewise confirm` asks again"
    )


def slow_runs_note(pairs: Pairs, metric: str, maximise: bool, accept_disturbed: bool) -> str:
    """What is said of a faster setting some of whose runs were slower than all of the baseline's; empty where hardly any was.

    A median says nothing of these: huge pages that have to be made first, a processor that someone else had.
    """
    one, other = pairs.deciding(accept_disturbed)
    slow = [cost for cost in other if cost > max(one)]
    if len(slow) < max(_FEWEST_SLOW, _SLOW_SHARE * len(other)):
        return ""
    its, baselines = (format_metric(metric, 1 / cost if maximise else cost) for cost in (max(slow), max(one)))
    return (
        f"{len(slow)} of {len(other)} runs of it were slower than all of the baseline's ({its} at worst, against {baselines}): "
        "the ratio is that of the others"
    )
