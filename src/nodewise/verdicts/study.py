# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a study: a row for each contender, against the fastest peer, the plain variant and the limit.

How two contenders are compared, and what of all comparisons holds together, is in `verdicts.series`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import count, takewhile

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_percent, format_rate, format_seconds
from nodewise.records.result_store import STUDY
from nodewise.statistics.disturbance import disturbance
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.verdict import Word, format_factor, format_ratio
from nodewise.studies.contract import Curve, Published, Study
from nodewise.verdicts.pair import PairVerdict, medians_explained
from nodewise.verdicts.series import BOUND, FOR_SCALE, Series, against, beyond_limits, fewest_for, share_of, typical

#: What a run reports of its work, which is no metric of its own.
_WORK = ("items", "flops", "bytes", "threads")


class Kind(StrEnum):
    """What a contender of a study is, in the order of the table."""

    VARIANT = "variant"
    PEER = "peer"
    LIMIT = "limit"


@dataclass(frozen=True)
class StudyRow:
    """One contender: its median time in seconds, its rate in `unit` with the 95% interval, and what it is compared with.

    `times` has one entry for each block (None: it did not run well in that), so that any two rows can be compared block
    by block. `against_peer` is it against the fastest peer, `against_plain` against the plain variant (None: there is none,
    or it is that itself). `share_of_limit` is the time of the `limit` that binds it over its own, paired by blocks. What did not run, or failed,
    has no `seconds` and says in `not_run` why; one that is `for_scale` did something else than was asked of all. `how` says by
    which version and settings, or when and at which size a limit was measured. No share is above 1.
    """

    contender: str
    kind: Kind
    threads: int
    point: Mapping[str, str]
    seconds: float | None
    times: tuple[float | None, ...]
    rate: float | None
    rate_low: float | None
    rate_high: float | None
    unit: str
    against_peer: PairVerdict | None
    against_plain: PairVerdict | None
    limit: str | None
    share_of_limit: float | None
    flops: float | None
    bytes: float | None
    metrics: Mapping[str, float]
    for_scale: bool
    disturbed: int
    verified: bool | None
    not_run: str | None
    how: str = ""


@dataclass(frozen=True)
class StudyVerdict:
    """What a study found: a row for each contender, variants, peers and limits, each kind's fastest first.

    `verdict` is that of the fastest variant, `best`, against the fastest peer, `best_peer` (None: there is none, or it did not run
    six times, below which none is named); `headline` and `sentence` say it in words. `work` is what the study counts of its own, `report_lines` what it reports of its result.
    Over several `ranks` each has so many `threads`, and `work` is that of all.
    """

    kind: str
    study: str
    title: str
    threads: int
    point: Mapping[str, str]
    verdict: Word | None
    headline: str
    sentence: str
    best: str | None
    best_peer: str | None
    plain_variant: str
    rows: tuple[StudyRow, ...]
    report_lines: tuple[str, ...]
    blocks: int
    disturbed: int
    accept_disturbed: bool
    conditions: tuple[str, ...]
    stopped: str
    seconds_spent: float
    work: Mapping[str, float]
    published: tuple[Published, ...]
    picture: tuple[str, str] | None
    ranks: int = 1
    curve: Curve | None = None

    def row(self, contender: str | None) -> StudyRow | None:
        """The row of a contender, None where there is none of that name."""
        return next((r for r in self.rows if r.contender == contender), None)

    @property
    def binding_limit(self) -> StudyRow | None:
        """Of several limits the lowest: each holds by itself. None where none ran."""
        limits = [r for r in self.rows if r.kind is Kind.LIMIT and r.rate and r.not_run is None]
        return min(limits, key=lambda r: r.rate or math.inf, default=None)

    @property
    def where(self) -> str:
        """Knobs and threads in words."""
        threads = _count(self.threads, "thread")
        shared = f"{_count(self.ranks, 'rank')} of {threads}" if self.ranks > 1 else threads
        return ", ".join([*(f"{k} {v}" for k, v in self.point.items()), shared])

    @property
    def curve_values(self) -> tuple[float, ...]:
        """What the curve is made of, of the fastest row that has it."""
        if self.curve is None:
            return ()
        for row in self.rows:
            numbered = (row.metrics.get(f"{self.curve.metric}{k}") for k in count(1))
            if values := tuple(takewhile(lambda value: value is not None, numbered)):
                return tuple(value for value in values if value is not None)
        return ()

    def ratio_to_peer(self, row: StudyRow) -> float | None:
        """How many times as fast as the fastest peer, which is 1 for that itself; None without a peer."""
        if row.contender == self.best_peer:
            return 1.0
        return None if row.against_peer is None else row.against_peer.ratio

    def ratio_to_plain(self, row: StudyRow) -> float | None:
        """How many times as fast as the plain variant, which is 1 for that itself; None where it is not compared."""
        if row.contender == self.plain_variant and row.seconds is not None and not row.for_scale:
            return 1.0
        return None if row.against_plain is None else row.against_plain.ratio


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def fewest_blocks(series: Sequence[Series], study: Study) -> int:
    """How many blocks it takes at least until each ratio of `study_verdict` can have an interval, all of them holding together."""
    compared = [s for s in series if not s.for_scale and s.contender.kind != Kind.LIMIT]
    peers = sum(s.contender.kind == Kind.PEER and s.contender.name not in study.for_scale for s in compared)
    plain = any(s.contender.name == study.plain_variant for s in compared)
    return fewest_for(len(compared) * ((peers > 0) + plain) * max(1, peers))


def study_verdict(
    series: Sequence[Series],
    study: Study,
    point: Mapping[str, str],
    threads: int,
    blocks: int,
    *,
    ranks: int = 1,
    work: Mapping[str, float] | None = None,
    stopped: str = "runs",
    seconds_spent: float = 0.0,
    quota: float | None = None,
    accept: bool = False,
    other_load: Sequence[str] = (),
    free: Sequence[str] = (),
) -> StudyVerdict:
    """Judge what the contenders gave in that many blocks; `report_lines` are still empty.

    `quota` is how many processors the control group grants; `accept`: blocks decide that were disturbed, too. `other_load` says
    what other experiments ran on the machine, `free` names the peers for whose sake nothing was bound.
    """
    compared = [s for s in series if s.times and not s.for_scale and s.contender.kind != Kind.LIMIT]
    peers = [s for s in compared if s.contender.kind == Kind.PEER and s.contender.name not in study.for_scale]
    plain = [s for s in series if s.times and not s.for_scale and s.contender.name == study.plain_variant]
    best_peer = min((s for s in peers if len(s.times) >= FEWEST_BLOCKS), key=typical, default=None)
    together = max(1, len(compared) * (bool(peers) + bool(plain)))
    rows = []
    for one in series:
        judged = one in compared
        # which peer is the fastest is measured, too, so all are compared with all
        peer = against(peers, one, quota, together, accept) if judged and one is not best_peer else None
        own = against(plain, one, quota, together, accept) if judged else None
        limit = share_of(one, series)
        rows.append(
            _row(one, study, point, threads, blocks, peer, own, limit, disturbance(one.met, quota).disturbed_runs)
        )
    order = list(Kind)
    rows.sort(key=lambda r: (order.index(r.kind), r.seconds if r.seconds is not None else math.inf))
    met = disturbance(sorted((met for one in series for met in one.met), key=lambda met: met.block), quota)
    enough = (r for r in rows if r.kind is Kind.VARIANT and not r.for_scale and runs_of(r) >= FEWEST_BLOCKS)
    best = next(enough, None)
    found = StudyVerdict(
        kind=STUDY,
        study=study.name,
        title=study.title,
        threads=threads,
        point=dict(point),
        verdict=best.against_peer.verdict if best is not None and best.against_peer is not None else None,
        headline="",
        sentence="",
        best=None if best is None else best.contender,
        best_peer=None if best_peer is None else best_peer.contender.name,
        plain_variant=study.plain_variant,
        rows=tuple(rows),
        report_lines=(),
        blocks=blocks,
        disturbed=met.disturbed_blocks,
        accept_disturbed=accept,
        conditions=(*met.conditions, *other_load, *_free(free), *_above_limits(series), *_medians(best, rows)),
        stopped=stopped,
        seconds_spent=seconds_spent,
        work=dict(work or {}),
        published=study.published,
        picture=study.picture,
        ranks=ranks,
        curve=study.curve,
    )
    return replace(found, headline=_headline(found), sentence=_sentence(found))


def _row(
    one: Series,
    study: Study,
    point: Mapping[str, str],
    threads: int,
    blocks: int,
    peer: PairVerdict | None,
    own: PairVerdict | None,
    limit: tuple[str, float] | None,
    disturbed: int,
) -> StudyRow:
    seconds = one.seconds
    items = (one.metric("items") or 0.0) * study.rate_scale
    low, high = one.interval()
    named = [name for name in sorted(one.metrics) if name not in (*_WORK, FOR_SCALE, BOUND)]
    return StudyRow(
        contender=one.contender.name,
        kind=Kind(one.contender.kind),
        threads=threads,
        point=dict(point),
        seconds=seconds,
        times=tuple(one.times.get(block) for block in range(blocks)),
        rate=items / seconds if seconds else None,
        rate_low=items / high if high else None,
        rate_high=items / low if low else None,
        unit=study.rate_unit,
        against_peer=peer,
        against_plain=own,
        limit=None if limit is None else limit[0],
        share_of_limit=None if limit is None else limit[1],
        flops=one.metric("flops"),
        bytes=one.metric("bytes"),
        metrics={name: value for name in named if (value := one.metric(name)) is not None},
        for_scale=one.for_scale,
        disturbed=disturbed,
        verified=one.verified,
        not_run=one.reason,
        how=one.how,
    )


def runs_of(row: StudyRow) -> int:
    """In how many blocks it ran well."""
    return sum(t is not None for t in row.times)


def _free(names: Sequence[str]) -> list[str]:
    """What is to be said where a peer's threads cannot be bound."""
    if not names:
        return []
    return [
        f"no contender's threads were bound one by one, as those of {', '.join(names)} cannot be: --only leaves peers out"
    ]


def _above_limits(series: Sequence[Series]) -> list[str]:
    """What is to be said of contenders that are faster than their limit."""
    return [
        f"{one.contender.name} is above its limit ({limit}, {format_percent(share)}), which does not bind it here, so no share is "
        "shown: what it moves may be nearer than what the limit was measured with, or the limit was disturbed"
        for one, limit, share in beyond_limits(series)
    ]


def _medians(best: StudyRow | None, rows: Sequence[StudyRow]) -> list[str]:
    """What is to be said where the medians of the table give another ratio of the best variant than its runs do."""
    seconds = {row.contender: row.seconds for row in rows if row.seconds is not None}
    pairs = [] if best is None else filter(None, (best.against_peer, best.against_plain))
    explained = {
        pair.one: medians_explained(pair, (seconds[pair.one], seconds[pair.other]))
        for pair in pairs
        if pair.one in seconds and pair.other in seconds
    }
    return [f"{best.contender if best else ''} against {one}: {text}" for one, text in explained.items() if text]


def ratio_text(pair: PairVerdict) -> str:
    """`1.60× (1.56–1.64)`; without an interval nothing is decided, and that is said: `1.60×, undecided`."""
    if pair.low is None or pair.high is None:
        return f"{format_factor(pair.ratio)}, {Word.UNDECIDED}"
    return format_ratio(pair.interval)


def peer_text(pair: PairVerdict) -> str:
    """What was found against the best peer, as short as can be: a ratio only where one is decided."""
    return {
        Word.NO_DIFFERENCE: "no difference from the best peer",
        Word.UNDECIDED: "undecided against the best peer",
    }.get(pair.verdict, f"{format_factor(pair.interval)} the best peer")


def _against_text(pair: PairVerdict) -> str:
    if pair.verdict is Word.NO_DIFFERENCE:
        return f"{pair.sentence} against {pair.one}"
    if pair.verdict is not Word.UNDECIDED:
        return f"{ratio_text(pair)} against {pair.one}"
    span = f" ({ratio_text(pair)})" if pair.low is not None and pair.high is not None else ""
    return f"undecided against {pair.one}{span}: {pair.reason}"


def _headline(found: StudyVerdict) -> str:
    """What came out, in a few words: against the best peer where there is one, else the rate."""
    best = found.row(found.best)
    if best is None:
        return "No answer yet" if _ran(found) else "No variant could run"
    if best.against_peer is not None:
        text = peer_text(best.against_peer)
        return text[0].upper() + text[1:]
    return f"{format_rate(best.rate)} {best.unit}"


def _sentence(found: StudyVerdict) -> str:
    """The same with its intervals, its limit, and what it rests on."""
    best = found.row(found.best)
    if best is None and _ran(found):
        counted = f"{_count(found.blocks, 'block')} in {format_seconds(found.seconds_spent)}"
        return f"{counted}: no best is named, and nothing claimed, before a variant ran well in {FEWEST_BLOCKS}"
    if best is None:
        return "the table says why"
    parts = [f"best variant {best.contender}: {format_rate(best.rate)} {best.unit}"]
    parts += [_against_text(pair) for pair in (best.against_peer, best.against_plain) if pair is not None]
    if best.share_of_limit is not None:
        parts.append(f"{format_percent(best.share_of_limit)} of the limit ({best.limit})")
    accepted = ", accepted" if found.accept_disturbed else ""
    spoiled = f" ({found.disturbed} disturbed{accepted})" if found.disturbed else ""
    parts.append(f"{_count(found.blocks, 'block')}{spoiled} in {format_seconds(found.seconds_spent)}")
    return " · ".join(parts)


def _ran(found: StudyVerdict) -> bool:
    return any(r.kind is Kind.VARIANT and r.seconds is not None and not r.for_scale for r in found.rows)


def furthest_ahead(results: Sequence[StudyVerdict]) -> StudyVerdict:
    """Of several runs of a study the one whose best variant is furthest ahead of its peers."""

    def lead(found: StudyVerdict) -> float:
        best = found.row(found.best)
        return best.against_peer.ratio if best is not None and best.against_peer is not None else 0.0

    return max(results, key=lead)
