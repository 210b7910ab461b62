# SPDX-License-Identifier: BSD-3-Clause
"""Running a study: its variants, its peers and the limit, interleaved in blocks, and a row for each."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.runner.launcher import Launcher
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.summary import median
from nodewise.studies.commands import Contender, peers, variants
from nodewise.studies.discovery import Found

_FEWEST, _MOST = 6, 25


@dataclass(frozen=True)
class StudyQuestion:
    """Which contenders at which point, with how many threads, in how many blocks within how many seconds.

    The budget `seconds` holds once each contender ran six times; no block begins that would end after `limit_s`.
    """

    found: Found
    point: Mapping[str, str]
    threads: int
    blocks: int = _MOST
    seconds: float = 120.0
    limit_s: float = math.inf
    seed: int = 0


@dataclass(frozen=True)
class StudyProgress:
    """Which contender is running, in which block."""

    block: int
    blocks: int
    contender: str
    seconds: float


class _Series:
    """What a contender's runs gave, block by block."""

    def __init__(self, contender: Contender):
        self.contender = contender
        self.times: dict[int, float] = {}
        self.items = 0.0
        self.reason = contender.not_run
        self.verified: bool | None = None

    def add(self, block: int, sample: Sample) -> None:
        if not sample.ok:
            self.reason = f"{sample.error}" + (f": {sample.output.strip()[-200:]}" if sample.output.strip() else "")
            self.verified = False if "wrong result" in (sample.error or "") else self.verified
            self.times.clear()
            return
        self.times[block] = sample.seconds
        self.items = sample.metrics.get("items", 0.0)
        self.verified = True if self.contender.kind != "limit" else None


def run_study(
    question: StudyQuestion, launcher: Launcher, observe: Callable[[StudyProgress], None] = lambda _: None
) -> dict[str, Any]:
    """Measure every contender; the result as `nodewise study --json` prints it.

    Each block holds every contender once, in random order; after the first six it goes on while the time lasts. A
    contender that cannot run, fails or is wrong is a row that says so.
    """
    found, point = question.found, question.point
    contenders = [*variants(found, point), *peers(found, point)]
    series = [_Series(c) for c in contenders]
    shuffle = random.Random(question.seed)
    env = {"OMP_NUM_THREADS": str(question.threads), "OMP_DYNAMIC": "false"}
    begin = time.monotonic()
    blocks = 0
    while blocks < question.blocks and (running := [s for s in series if s.reason is None]):
        spent = time.monotonic() - begin
        limit = question.limit_s if blocks < _FEWEST else min(question.seconds, question.limit_s)
        if blocks and spent + spent / blocks > limit:
            break
        shuffle.shuffle(running)
        for one in running:
            observe(StudyProgress(blocks + 1, question.blocks, one.contender.name, time.monotonic() - begin))
            one.add(blocks, launcher.run(Setting(one.contender.command, env=env)))
        blocks += 1
    return {
        "study": found.study.name,
        "title": found.study.title,
        "threads": question.threads,
        "point": dict(point),
        "blocks": blocks,
        "seconds_spent": time.monotonic() - begin,
        "plain_variant": found.study.plain_variant,
        "rows": _rows(question, series),
    }


def _best(series: Sequence[_Series], kind: str) -> _Series | None:
    ran = [s for s in series if s.contender.kind == kind and s.times]
    return min(ran, key=lambda s: median(list(s.times.values())), default=None)


def compare_series(one: Mapping[int, float], other: Mapping[int, float]) -> tuple[float, float | None, float | None]:
    """Speedup of `other` over `one` in the blocks that both ran in, with its 95 % interval (None: too few blocks)."""
    blocks = sorted(one.keys() & other.keys())
    ratio = ratio_interval([one[b] for b in blocks], [other[b] for b in blocks])
    return ratio.ratio, ratio.low if ratio.low > 0 else None, ratio.high if math.isfinite(ratio.high) else None


def _rows(question: StudyQuestion, series: Sequence[_Series]) -> list[dict[str, Any]]:
    study = question.found.study
    peer, limit = _best(series, "peer"), _best(series, "limit")
    plain = next((s for s in series if s.contender.name == study.plain_variant and s.times), None)
    rows = []
    for one in series:
        ratio: tuple[float | None, ...] = (None, None, None)
        if one.times and peer is not None:
            ratio = compare_series(peer.times, one.times)
        seconds = median(list(one.times.values())) if one.times else None
        rows.append(
            {
                "contender": one.contender.name,
                "kind": one.contender.kind,
                "threads": question.threads,
                "point": dict(question.point),
                "seconds": seconds,
                "rate": one.items / seconds * study.rate_scale if seconds else None,
                "unit": study.rate_unit,
                "ratio_to_best_peer": ratio[0],
                "low": ratio[1],
                "high": ratio[2],
                "ratio_to_plain": compare_series(plain.times, one.times) if one.times and plain else None,
                "share_of_limit": compare_series(one.times, limit.times)[0] ** -1 if one.times and limit else None,
                "verified": one.verified,
                "not_run": one.reason,
            }
        )
    order = {"variant": 0, "peer": 1, "limit": 2}
    return sorted(rows, key=lambda r: (order[r["kind"]], r["seconds"] if r["seconds"] is not None else math.inf))
