# SPDX-License-Identifier: BSD-3-Clause
"""What a contender of a study gave in its blocks, and how one is held against others.

All ratios that are printed together hold together at 95%. The fastest peer is chosen after looking, so a variant's ratio
to it is held against every peer: it is at least the smallest of the lower ends (intersection-union: R. L. Berger,
Technometrics 24, 1982) and at most the smallest of the upper ends, which for that hold together for all peers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nodewise.runner.sample import Sample
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.spoiled import Met, disturbance
from nodewise.statistics.summary import median
from nodewise.statistics.verdict import Word, judge
from nodewise.studies.commands import Contender
from nodewise.studies.contract import Limit
from nodewise.verdicts.disturbed import met_of
from nodewise.verdicts.pair import Pairs, PairVerdict, judge_pairs, pair_verdict

#: A difference up to this counts as none.
_WITHIN = 0.01
#: What a run reports that is shown and not compared: it did something else than was asked of all.
FOR_SCALE = "for_scale"


class Series:
    """What a contender's runs gave, block by block; a limit of the machine counts as the time of so much `work`."""

    def __init__(self, contender: Contender, limit: Limit | None = None, work: Mapping[str, float] | None = None):
        self.contender = contender
        self.times: dict[int, float] = {}
        self.after: dict[int, str | None] = {}
        self.met: list[Met] = []
        self.metrics: dict[str, list[float]] = {}
        self.reason = contender.not_run
        self.verified: bool | None = None
        self._limit, self._work = limit, work or {}
        if limit is not None and not self._work.get(limit.per):
            self.reason = f"the work counts no {limit.per}"

    def add(self, block: int, sample: Sample, after: str | None = None) -> None:
        """Take the run of a block, and what ran before it; one that failed takes all of them away, and is the reason."""
        self.after[block] = after
        self.met.append(met_of(block, self.contender.name, sample))
        if not sample.ok:
            self.reason = f"{sample.error}" + (f": {sample.output.strip()[-200:]}" if sample.output.strip() else "")
            self.verified = False if "wrong result" in (sample.error or "") else self.verified
            self.times.clear()
            return
        if self._limit is not None:
            per = self._limit.per
            self.times[block] = self._work[per] * sample.seconds / sample.metrics[per]
            return
        self.times[block] = sample.seconds
        for name, value in sample.metrics.items():
            self.metrics.setdefault(name, []).append(value)
        self.verified = True if self.contender.kind != "limit" else None

    def time_for(self, other: Series) -> float:
        """As a limit: the share of its time that holds for `other`, which may do less work than the study counts.

        Work that a variant could have left out is no excuse, so that more work gives no more time.
        """
        if self._limit is None or not (done := other.metric(self._limit.per)):
            return 1.0
        return min(1.0, done / self._work[self._limit.per])

    @property
    def for_scale(self) -> bool:
        """Whether its runs report that they are not to be compared with the others."""
        return bool(self.metric(FOR_SCALE))

    def metric(self, name: str) -> float | None:
        """The median over the runs, None where it was not reported."""
        return median(self.metrics[name]) if self.metrics.get(name) else self._work.get(name)


def typical(one: Series) -> float:
    """Its median time in seconds. Raises ValueError where it never ran well."""
    return median(list(one.times.values()))


def limit_of(one: Series, series: Sequence[Series]) -> tuple[str, float] | None:
    """The limit that binds `one`, and that limit's time over its own: the longest of several, since each holds by itself.

    A limit that does not bind has none.
    """
    limits = [s for s in series if s.contender.kind == "limit" and s.times]
    if not one.times or not limits:
        return None
    binding = max(limits, key=lambda s: typical(s) * s.time_for(one))
    if one.contender.kind == "limit" and one is not binding:
        return None
    return binding.contender.name, binding.time_for(one) / compare_series(one.times, binding.times).ratio


def _pairs(one: Series, other: Series, quota: float | None) -> Pairs:
    blocks = sorted(one.times.keys() & other.times.keys())
    return Pairs(
        tuple(one.times[b] for b in blocks),
        tuple(other.times[b] for b in blocks),
        tuple(blocks),
        disturbance(sorted([*one.met, *other.met], key=lambda met: met.block), quota),
        tuple((one.after[b], other.after[b]) for b in blocks),
        (one.contender.name, other.contender.name),
    )


def compare_series(one: Mapping[int, float], other: Mapping[int, float]) -> Ratio:
    """Speedup of `other` over `one` in the blocks that both ran in, with its 95% interval, endless for too few blocks."""
    blocks = sorted(one.keys() & other.keys())
    ratio = ratio_interval([one[b] for b in blocks], [other[b] for b in blocks])
    return ratio if len(blocks) >= FEWEST_BLOCKS else Ratio(ratio.ratio, 0.0, math.inf, ratio.pairs)


def against(
    references: Sequence[Series], one: Series, quota: float | None, together: int, accept: bool
) -> PairVerdict | None:
    """A contender against the fastest of some others, one of `together` such comparisons; None where there is none."""
    others = [s for s in references if s is not one]
    if not others or not one.times:
        return None
    fastest = min(others, key=typical)
    level, all_level = 1 - 0.05 / together, 1 - 0.05 / together / len(others)
    pairs = _pairs(fastest, one, quota)
    verdict, reason = judge_pairs(pairs, lambda _: level, _WITHIN, final=True, accept_disturbed=accept)
    if len(others) > 1 and math.isfinite(verdict.ratio.high):
        low, high = verdict.ratio.low, math.inf
        for other in others:
            mine = _pairs(other, one, quota).deciding(accept)
            if len(mine[0]) < FEWEST_BLOCKS:
                continue
            low = min(low, ratio_interval(*mine, level).low)
            high = min(high, ratio_interval(*mine, all_level).high)
        verdict = judge(Ratio(verdict.ratio.ratio, low, max(high, low), verdict.ratio.pairs), _WITHIN, final=True)
        reason = "the noise leaves it open" if verdict.word is Word.UNDECIDED else ""
    return pair_verdict(fastest.contender.name, one.contender.name, pairs, (verdict, reason), accept)
