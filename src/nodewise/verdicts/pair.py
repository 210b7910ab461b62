# SPDX-License-Identifier: BSD-3-Clause
"""What the blocks of two settings show: one definition for tune, compare and study.

Only blocks in which both ran well are paired. Blocks that something disturbed do not decide, as long as the undisturbed
ones are at least half of all and enough for an interval; where most were disturbed, the machine was busy and nothing is said,
unless the user accepts that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_percent
from nodewise.records.experiment import Experiment
from nodewise.statistics.carryover import comparable
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.disturbance import Disturbance, disturbance, mostly
from nodewise.statistics.verdict import Verdict, Word, format_factor, judge
from nodewise.verdicts.disturbed import PhaseMet, phase_met

QUIET = disturbance(())
#: Medians that give a ratio so many times another one are explained, however wide the interval.
FAR = 1.1
#: What helps where the machine was busy.
WHEN_BUSY = "--wait-quiet 10min waits for quiet before each block, --accept-disturbed lets all runs decide"


@dataclass(frozen=True)
class PairVerdict:
    """How many times as fast `other` is as `one`, and what the runs show.

    `ratio` is above 1 where `other` is the faster; `low` and `high` are its interval, None where there is none. `pairs` are
    the blocks that decided, `disturbed` those in which a run was disturbed, of `blocks` that both ran in. `beyond` is the
    largest difference that the interval leaves possible, as a share. `reason` says why nothing is decided, and is empty
    where something is; `busy`: because most blocks were disturbed. `rests_on`, which ends the sentence, says where disturbed blocks
    decided; else it is empty.
    """

    one: str
    other: str
    verdict: Word
    ratio: float
    low: float | None
    high: float | None
    pairs: int
    blocks: int
    disturbed: int
    within: float
    beyond: float | None
    busy: bool
    reason: str
    sentence: str
    rests_on: str

    @property
    def interval(self) -> Ratio:
        """The ratio with its interval, endless where there is none."""
        return Ratio(self.ratio, self.low or 0.0, math.inf if self.high is None else self.high, self.pairs)

    @property
    def slowdown(self) -> Ratio:
        """How many times as slow `other` is as `one`, with its interval."""
        high = math.inf if self.low is None else 1 / self.low
        return Ratio(1 / self.ratio, 0.0 if self.high is None else 1 / self.high, high, self.pairs)

    @property
    def headline(self) -> str:
        """`1.47× faster`: what was found in few words, and whether disturbed runs decided it."""
        found = {
            Word.FASTER: f"{format_factor(self.interval)} faster",
            Word.SLOWER: f"{format_factor(self.slowdown)} slower",
            Word.NO_DIFFERENCE: "No difference found",
            Word.UNDECIDED: "Undecided",
        }[self.verdict]
        return f"{found}, by disturbed runs" if self.rests_on and self.verdict is not Word.UNDECIDED else found


@dataclass(frozen=True)
class Pairs:
    """Costs of two settings in the blocks that both ran well in, in their order, with the blocks' numbers.

    `met` is what disturbed the experiment's deciding runs. `after` are for each block what ran directly before the one and
    before the other, by the two's `names`; nothing where that is not known.
    """

    one: tuple[float, ...]
    other: tuple[float, ...]
    blocks: tuple[int, ...]
    met: Disturbance = QUIET
    after: tuple[tuple[str | None, str | None], ...] = ()
    names: tuple[str, str] = ("", "")

    @property
    def disturbed(self) -> int:
        """How many of them were disturbed."""
        return sum(block in self.met.which for block in self.blocks)

    @property
    def busy(self) -> bool:
        """Whether more than half of them were disturbed."""
        return mostly(self.disturbed, len(self.blocks))

    def deciding(self, accept_disturbed: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The pairs that decide: the undisturbed ones, or all where that is accepted.

        Of these only blocks in which what ran before favours none of the two (`statistics.carryover`).
        """
        kept = [i for i, block in enumerate(self.blocks) if accept_disturbed or block not in self.met.which]
        if self.after:
            kept = [kept[i] for i in comparable(*self.names, [self.after[i] for i in kept])]
        return tuple(self.one[i] for i in kept), tuple(self.other[i] for i in kept)


def pair_up(
    experiment: Experiment, one: str, other: str, phase: str | None = None, met: PhaseMet | None = None
) -> Pairs:
    """The blocks of two settings, in one phase or in all; `met` is what the runs of that phase met (None: as recorded)."""
    blocks, costs, records = experiment.records.blocks, experiment.costs, experiment.records

    codes, keys = records.codes, records.keys

    def by_block(key: str) -> dict[int, int]:
        return {int(blocks[i]): int(i) for i in records.of(key, phase) if not math.isnan(costs[i])}

    def before(at: int) -> str | None:
        return keys[codes[at - 1]] if at else None

    first, second = by_block(one), by_block(other)
    both = sorted(first.keys() & second.keys())
    if met is None and phase is not None:
        met = phase_met(experiment, phase)
    return Pairs(
        tuple(float(costs[first[b]]) for b in both),
        tuple(float(costs[second[b]]) for b in both),
        tuple(both),
        QUIET if met is None else met.of(one, other),
        tuple((before(first[b]), before(second[b])) for b in both),
        (one, other),
    )


def judge_pairs(
    pairs: Pairs,
    level: Callable[[int], float],
    within: float,
    *,
    final: bool,
    accept_disturbed: bool = False,
    surely: bool = False,
) -> tuple[Verdict, str]:
    """The verdict on pairs, and the reason where it is undecided.

    `level` gives the level of the interval for a number of pairs; `final`: no more will come; `surely` is that of `judge`.
    """
    if pairs.busy and not accept_disturbed:
        guess = float(np.median(np.log(pairs.one) - np.log(pairs.other)))
        return Verdict(Word.UNDECIDED, Ratio(math.exp(guess), 0.0, math.inf, 0), within), pairs.met.reason
    one, other = pairs.deciding(accept_disturbed)
    if not one:
        return Verdict(Word.UNDECIDED, Ratio(1.0, 0.0, math.inf, 0), within), "no block has a good run of both"
    ratio = ratio_interval(one, other, level(len(one)))
    if final and surely and not accept_disturbed and pairs.disturbed and not ratio.has_interval:
        # most blocks were undisturbed, but they are too few; what disturbed the rest may not make up more than counts as none
        every = pairs.deciding(accept_disturbed=True)
        ratio = ratio_interval(*every, level(len(every[0])))
    verdict = judge(ratio, within, final=final, surely=surely)
    if verdict.word is not Word.UNDECIDED:
        return verdict, ""
    if not ratio.has_interval:
        kind = (
            "undisturbed "
            if pairs.disturbed and not accept_disturbed
            else "comparable "
            if len(one) < len(pairs.blocks)
            else ""
        )
        count = f"{len(one)} {kind}block{'s' * (len(one) != 1)}"
        return verdict, f"{count} {'is' if len(one) == 1 else 'are'} too few"
    if ratio.low > 1:
        return verdict, f"the gain may be no more than counts as none, {format_percent(within)}"
    return verdict, "the noise leaves it open"


def pair_verdict(one: str, other: str, pairs: Pairs, found: tuple[Verdict, str], accept_disturbed: bool) -> PairVerdict:
    """What is handed on of a pair's verdict."""
    verdict, reason = found
    ratio = verdict.ratio
    rests_on = ""
    if accept_disturbed and pairs.disturbed:
        rests_on = f" (disturbed runs accepted: {pairs.disturbed} of {len(pairs.blocks)} blocks)"
    elif reason and pairs.busy:
        rests_on = ""
    elif ratio.pairs > len(pairs.blocks) - pairs.disturbed:
        rests_on = (
            f" (of {len(pairs.blocks)} blocks {pairs.disturbed} were disturbed, and count as the others are too few)"
        )
    busy = pairs.busy and not accept_disturbed
    sentence = f"undecided: {reason}" if busy and reason else f"{verdict.sentence}{rests_on}"
    return PairVerdict(
        one,
        other,
        verdict.word,
        ratio.ratio,
        ratio.low if ratio.low > 0 else None,
        ratio.high if math.isfinite(ratio.high) else None,
        ratio.pairs,
        len(pairs.blocks),
        pairs.disturbed,
        verdict.within,
        verdict.beyond if math.isfinite(verdict.beyond) else None,
        busy,
        reason,
        sentence,
        rests_on,
    )


def costs_of(experiment: Experiment, key: str, phase: str | None = None) -> list[float]:
    """The costs of a setting's good runs, in the order they were taken."""
    found = experiment.costs[experiment.records.of(key, phase)]
    return [float(c) for c in found[~np.isnan(found)]]


def values_of(experiment: Experiment, key: str, phase: str | None = None) -> list[float]:
    """The compared metric's own values in a setting's good runs, in the order they were taken: `costs_of` before it was turned into a cost."""
    at = experiment.records.of(key, phase)
    found = experiment.records.values(experiment.objective.metric)[at]
    return [float(v) for v in found[~np.isnan(experiment.costs[at])]]


def medians_explained(
    pair: PairVerdict, medians: Sequence[float], slack: float = 0.0, which: str = "the medians alone"
) -> str:
    """A line about the medians, called `which`, where the ratio of the medians lies outside of the interval of the paired ratio by more than the share `slack`, is more
    than a tenth from a ratio that is decided, or says the opposite of it where it has no interval; empty where they agree.
    """
    if min(medians, default=0.0) <= 0:
        return ""
    plain = medians[0] / medians[1]
    if pair.low is None or pair.high is None:
        if (plain - 1) * (pair.ratio - 1) >= 0 or max(abs(plain - 1), abs(pair.ratio - 1)) <= pair.within:
            return ""
    elif pair.low / (1 + slack) <= plain <= pair.high * (1 + slack):
        far = max(plain / pair.ratio, pair.ratio / plain) > FAR * (1 + slack)
        if not far or pair.verdict not in (Word.FASTER, Word.SLOWER):
            return ""
    return (
        f"{which} would give {format_factor(plain)}; the ratio is that of runs of the same block, so that what changed "
        "between blocks does not count"
    )
