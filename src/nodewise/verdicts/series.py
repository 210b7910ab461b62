# SPDX-License-Identifier: BSD-3-Clause
"""What a contender of a study gave in its blocks, and how one is compared with others.

All ratios that are printed together hold together at 95%. The fastest peer is chosen after looking, so a variant's ratio
to it is compared with every peer: it is at least the smallest of the lower ends (intersection-union: R. L. Berger,
Technometrics 24, 1982) and at most the smallest of the upper ends, which for that hold together for all peers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nodewise.base.difference import WITHIN
from nodewise.records.kept_limits import KeptLimit
from nodewise.runner.sample import Sample
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.disturbance import Met, disturbance
from nodewise.statistics.sequential import ALPHA, FEWEST_BLOCKS
from nodewise.statistics.summary import median
from nodewise.statistics.verdict import Word, judge
from nodewise.studies.commands import Contender
from nodewise.studies.contract import Limit
from nodewise.studies.machine_limits import MachineLimit
from nodewise.verdicts.disturbed import met_of
from nodewise.verdicts.pair import Pairs, PairVerdict, judge_pairs, pair_verdict
from nodewise.verdicts.secondary import interval_of

#: A share beyond this is of a limit that does not hold.
ABOVE_LIMIT = 1.02
#: How many of a peer's threads were bound one by one, where that was asked for: 0, they could not be.
BOUND = "bound"
#: What a run reports that is shown and not compared: it did something else than was asked of all.
FOR_SCALE = "for_scale"


class Series:
    """What a contender's runs gave, block by block; a limit of the machine counts as the time of that much `work`.

    A limit that is `kept` from earlier has that time without a run.
    """

    def __init__(
        self,
        contender: Contender,
        limit: MachineLimit | None = None,
        work: Mapping[str, float] | None = None,
        kept: KeptLimit | None = None,
    ):
        self.contender = contender
        self.machine_limit = limit
        self.times: dict[int, float] = {}
        self.after: dict[int, str | None] = {}
        self.met: list[Met] = []
        self.metrics: dict[str, list[float]] = {}
        self.reason = contender.not_run
        self.verified: bool | None = None
        self._limit: Limit | None = limit.limit if limit is not None else None
        self._work = work or {}
        if self._limit is not None and not self._work.get(self._limit.per):
            self.reason = f"the work counts no {self._limit.per}"
        self.kept = kept if self.reason is None else None

    @property
    def seconds(self) -> float | None:
        """Its median time in seconds, that of a kept limit for the work; None where it never ran well."""
        if self.kept is not None:
            return self.kept.seconds(self._work[self.kept.per])
        return median(list(self.times.values())) if self.times else None

    @property
    def how(self) -> str:
        """What a row says of how it was measured."""
        if self.kept is not None:
            return self.kept.how
        return self.machine_limit.how if self.machine_limit is not None else self.contender.how

    def interval(self) -> tuple[float | None, float | None]:
        """The 95% interval of the median time in seconds; None with too few runs."""
        if self.kept is not None:
            work = self._work[self.kept.per]
            return work / self.kept.high, work / self.kept.low
        return interval_of(list(self.times.values())) if self.times else (None, None)

    def work_of(self, per: str) -> float | None:
        """The work that `times` are of: what a limit stands for, or what its own runs counted."""
        return self._work.get(per) if self._limit is not None else self.metric(per)

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
    if (seconds := one.seconds) is None:
        raise ValueError(f"{one.contender.name} never ran well")
    return seconds


def limit_of(one: Series, series: Sequence[Series]) -> tuple[str, float] | None:
    """The limit that binds `one`, and that limit's time over its own: the longest of several, since each holds by itself.

    A limit that does not bind has none.
    """
    limits = [s for s in series if s.contender.kind == "limit" and s.seconds is not None]
    if one.seconds is None or not limits:
        return None
    binding = max(limits, key=lambda s: typical(s) * s.time_for(one))
    if one.contender.kind == "limit" and one is not binding:
        return None
    if not one.times or not binding.times:
        # one of them was measured earlier: no blocks are shared
        return binding.contender.name, binding.time_for(one) * typical(binding) / typical(one)
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
    """A contender against the fastest of some others, one of `together` such comparisons; None where there is none.

    Which of them is the fastest is not known but measured: the ratio is the smallest of those to each, its lower end the
    smallest of their lower ends, its upper end the smallest of upper ends that hold together. `one` names the nearest.
    """
    others = [s for s in references if s is not one]
    if not others or not one.times:
        return None
    level, all_level = 1 - ALPHA / together, 1 - ALPHA / together / len(others)
    nearest: tuple[float, Series, Pairs] | None = None
    low, high, fewest = math.inf, math.inf, len(one.times)
    for other in others:
        pairs = _pairs(other, one, quota)
        verdict, reason = judge_pairs(pairs, lambda _: level, WITHIN, final=True, accept_disturbed=accept)
        mine = pairs.deciding(accept)
        if not mine[0] or (pairs.busy and not accept):
            # without one of them the others decide nothing
            return pair_verdict(other.contender.name, one.contender.name, pairs, (verdict, reason), accept)
        low = min(low, verdict.ratio.low)
        high = min(high, ratio_interval(*mine, all_level).high)
        fewest = min(fewest, len(mine[0]))
        if nearest is None or verdict.ratio.ratio < nearest[0]:
            nearest = verdict.ratio.ratio, other, pairs
            found = verdict, reason
    assert nearest is not None
    ratio, other, pairs = nearest
    if len(others) > 1:
        held = Ratio(ratio, low, high, fewest)
        held = held if held.has_interval else Ratio(ratio, 0.0, math.inf, fewest)
        verdict, reason = judge(held, WITHIN, final=True), ""
        if verdict.word is Word.UNDECIDED:
            intervals = together * len(others)
            few = f"{fewest} comparable blocks are too few for {intervals} intervals that hold together"
            reason = "the noise leaves it open" if held.has_interval else few
        found = verdict, reason
    verdict, reason = found
    if reason.endswith(("too few", "hold together")):
        found = verdict, f"{reason}, {fewest_for(together * len(others))} may do"
    return pair_verdict(other.contender.name, one.contender.name, pairs, found, accept)


def fewest_for(intervals: int) -> int:
    """How many blocks it takes at least until there can be each of so many intervals, all of them holding together at 95%."""
    # of n blocks all are on one side of the true median with a chance of 2 / 2^n
    return max(FEWEST_BLOCKS, math.ceil(1 - math.log2(ALPHA / max(1, intervals))))


def share_of(one: Series, series: Sequence[Series]) -> tuple[str, float] | None:
    """As `limit_of`, at most 1: noise may make it a little more. None also where `one` is beyond the limit."""
    found = limit_of(one, series)
    return None if found is None or found[1] > ABOVE_LIMIT else (found[0], min(1.0, found[1]))


def beyond_limits(series: Sequence[Series]) -> list[tuple[Series, str, float]]:
    """The contenders that are faster than their limit, with its name and their share of it, which is then no limit of theirs."""
    found = [(one, limit_of(one, series)) for one in series]
    return [(one, at[0], at[1]) for one, at in found if at is not None and at[1] > ABOVE_LIMIT]
