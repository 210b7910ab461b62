# SPDX-License-Identifier: BSD-3-Clause
"""What the blocks of two settings bear: one definition for tune, compare and study.

Only blocks in which both ran well are paired. Blocks that something disturbed do not decide, as long as the undisturbed
ones are at least half of all; where they are not, the machine was busy and nothing is said, unless the user accepts that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nodewise.records.experiment import Experiment
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.spoiled import repeat_worthy
from nodewise.statistics.verdict import Verdict, Word, judge


@dataclass(frozen=True)
class PairVerdict:
    """How many times as fast `other` is as `one`, and what the runs bear.

    `ratio` is above 1 where `other` is the faster; `low` and `high` are its interval, None where there is none. `pairs` are
    the blocks that decided, `disturbed` those in which a run was disturbed, of `blocks` that both ran in. `beyond` is the
    largest difference that the interval leaves possible, as a share. `reason` says why nothing is decided, and is empty
    where something is.
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
    reason: str
    sentence: str

    @property
    def interval(self) -> Ratio:
        """The ratio with its interval, endless where there is none."""
        return Ratio(self.ratio, self.low or 0.0, math.inf if self.high is None else self.high, self.pairs)


@dataclass(frozen=True)
class Pairs:
    """Costs of two settings in the blocks that both ran well in, in order, and which of these were disturbed.

    `marks` counts the runs by the kind of what disturbed them.
    """

    one: tuple[float, ...]
    other: tuple[float, ...]
    disturbed: tuple[bool, ...]
    marks: Mapping[str, int]

    def deciding(self, accept_disturbed: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The pairs that decide: the undisturbed ones, or all where that is accepted."""
        if accept_disturbed or not any(self.disturbed):
            return self.one, self.other
        kept = [i for i, bad in enumerate(self.disturbed) if not bad]
        return tuple(self.one[i] for i in kept), tuple(self.other[i] for i in kept)

    @property
    def busy(self) -> str:
        """Why they bear nothing: more than half of them were disturbed; empty where that is not so."""
        count = sum(self.disturbed)
        if not count or 2 * count <= len(self.disturbed):
            return ""
        kinds = ", ".join(sorted(self.marks, key=lambda kind: -self.marks[kind]))
        return f"the machine was busy ({count} of {len(self.disturbed)} blocks: {kinds})"


def pair_up(experiment: Experiment, one: str, other: str, phase: str | None = None) -> Pairs:
    """The blocks of two settings, in one phase or in all."""
    blocks, costs, records = experiment.records.blocks, experiment.costs, experiment.records

    def by_block(key: str) -> dict[int, int]:
        return {int(blocks[i]): int(i) for i in records.of(key, phase) if not math.isnan(costs[i])}

    first, second = by_block(one), by_block(other)
    both = sorted(first.keys() & second.keys())
    marked = records.marked
    kinds: Counter[str] = Counter()
    disturbed = []
    for block in both:
        worthy = [m for at in (first[block], second[block]) if marked[at] and repeat_worthy(m := records.marks(at))]
        found = {mark.partition(":")[0] for marks in worthy for mark in marks if repeat_worthy([mark])}
        kinds.update(found)
        disturbed.append(bool(worthy))
    return Pairs(
        tuple(float(costs[first[b]]) for b in both),
        tuple(float(costs[second[b]]) for b in both),
        tuple(disturbed),
        kinds,
    )


def judge_pairs(
    pairs: Pairs, level: Callable[[int], float], within: float, *, final: bool, accept_disturbed: bool = False
) -> tuple[Verdict, str]:
    """The verdict on pairs, and the reason where it is undecided.

    `level` gives the level of the interval for so many pairs; `final`: no more will come.
    """
    if pairs.busy and not accept_disturbed:
        one, other = pairs.one, pairs.other
        guess = float(np.median(np.log(one) - np.log(other)))
        return Verdict(Word.UNDECIDED, Ratio(math.exp(guess), 0.0, math.inf, 0), within), pairs.busy
    one, other = pairs.deciding(accept_disturbed)
    if not one:
        return Verdict(Word.UNDECIDED, Ratio(1.0, 0.0, math.inf, 0), within), "no block has a good run of both"
    ratio = ratio_interval(one, other, level(len(one)))
    if len(one) < FEWEST_BLOCKS:
        ratio = Ratio(ratio.ratio, 0.0, math.inf, ratio.pairs)
    verdict = judge(ratio, within, final=final)
    if verdict.word is not Word.UNDECIDED:
        return verdict, ""
    if ratio.low <= 0 or not math.isfinite(ratio.high):
        return verdict, f"{len(one)} undisturbed blocks are too few" if any(
            pairs.disturbed
        ) else f"{len(one)} blocks are too few"
    return verdict, "the noise leaves it open"


def pair_verdict(
    one: str, other: str, pairs: Pairs, found: tuple[Verdict, str], accept_disturbed: bool = False
) -> PairVerdict:
    """What is handed on of a pair's verdict."""
    verdict, reason = found
    ratio = verdict.ratio
    sentence = verdict.sentence
    if accept_disturbed and any(pairs.disturbed):
        sentence += f" (disturbed runs accepted: {sum(pairs.disturbed)} of {len(pairs.disturbed)} blocks)"
    elif reason and pairs.busy:
        sentence = f"undecided: {reason}"
    return PairVerdict(
        one,
        other,
        verdict.word,
        ratio.ratio,
        ratio.low if ratio.low > 0 else None,
        ratio.high if math.isfinite(ratio.high) else None,
        ratio.pairs,
        len(pairs.one),
        sum(pairs.disturbed),
        verdict.within,
        verdict.beyond if math.isfinite(verdict.beyond) else None,
        reason,
        sentence,
    )


def costs_of(experiment: Experiment, key: str, phase: str | None = None) -> list[float]:
    """The costs of a setting's good runs, in the order they were taken."""
    found = experiment.costs[experiment.records.of(key, phase)]
    return [float(c) for c in found[~np.isnan(found)]]


def medians_explained(pair: PairVerdict, medians: Sequence[float]) -> str:
    """A line where the ratio of the medians lies outside of the interval of the paired ratio; empty where they agree."""
    if pair.low is None or pair.high is None or min(medians) <= 0:
        return ""
    plain = medians[0] / medians[1]
    if pair.low <= plain <= pair.high:
        return ""
    return (
        f"the medians alone would give {plain:.2f}×; the ratio is that of runs of the same block, which what changed "
        "between blocks does not touch"
    )
