# SPDX-License-Identifier: BSD-3-Clause
"""Running a study: its variants, its peers and the limit, interleaved in blocks, and a row for each."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.policies import place
from nodewise.placement.tongues.said import BINDING_VARIABLES
from nodewise.runner.binding import binding_environment
from nodewise.runner.launcher import Launcher
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.interval import median_interval
from nodewise.statistics.summary import median
from nodewise.studies.commands import (
    Contender,
    contenders_of,
    machine_limits,
    settled_command,
    settling_command,
    work_of,
)
from nodewise.studies.contract import Limit
from nodewise.studies.discovery import Found

_FEWEST, _MOST = 6, 25
_WORK = ("items", "flops", "bytes", "threads")
#: What a run tells that is shown and not compared: it did something else than was asked of all.
_FOR_SCALE = "for_scale"


@dataclass(frozen=True)
class StudyQuestion:
    """Which contenders at which point, with how many threads, in how many blocks within how many seconds.

    `only` names contenders, all by default; limits of the machine are always measured. The budget `seconds` holds once each contender ran six times; no block begins that would end after `limit_s`.
    """

    found: Found
    point: Mapping[str, str]
    threads: int
    blocks: int = _MOST
    seconds: float = 120.0
    limit_s: float = math.inf
    seed: int = 0
    only: Sequence[str] = ()


@dataclass(frozen=True)
class StudyProgress:
    """Which contender is running, in which block; block 0 is before them, where what holds for all runs is found."""

    block: int
    blocks: int
    contender: str
    seconds: float


class _Series:
    """What a contender's runs gave, block by block; a limit of the machine counts as the time of so much `work`."""

    def __init__(self, contender: Contender, limit: Limit | None = None, work: Mapping[str, float] | None = None):
        self.contender = contender
        self.times: dict[int, float] = {}
        self.metrics: dict[str, list[float]] = {}
        self.reason = contender.not_run
        self.verified: bool | None = None
        self._limit, self._work = limit, work or {}
        if limit is not None and not self._work.get(limit.per):
            self.reason = f"the work counts no {limit.per}"

    def add(self, block: int, sample: Sample) -> None:
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

    def time_for(self, other: _Series) -> float:
        """As a limit: the share of its time that holds for `other`, which may do less work than the study counts.

        Work that a way could have left out is no excuse, so that more work gives no more time.
        """
        if self._limit is None or not (done := other.metric(self._limit.per)):
            return 1.0
        return min(1.0, done / self._work[self._limit.per])

    @property
    def for_scale(self) -> bool:
        """Whether its runs told that they are not to be compared with the others."""
        return bool(self.metric(_FOR_SCALE))

    def metric(self, name: str) -> float | None:
        """The median over the runs, None where it was not told."""
        return median(self.metrics[name]) if self.metrics.get(name) else self._work.get(name)


def run_study(
    question: StudyQuestion, launcher: Launcher, observe: Callable[[StudyProgress], None] = lambda _: None
) -> dict[str, Any]:
    """Measure every contender; the result as `nodewise study --json` prints it.

    Before the blocks each contender that has something to find by trial finds it, once for all its runs.
    Each block holds every contender once, in random order; after the first six it goes on while the time lasts. A
    contender that cannot run, fails or is wrong is a row that says so.
    """
    found, point = question.found, question.point
    work = work_of(found, point, question.threads)
    series = [_Series(c) for c in _wanted(contenders_of(found, point), question.only)]
    series += [_Series(contender, limit, work) for limit, contender in machine_limits(found)]
    near = found.study.processors(point) if found.study.processors is not None else None
    settings = {s.contender.name: setting_of(s.contender, question.threads, near) for s in series}
    shuffle = random.Random(question.seed)
    begin = time.monotonic()
    for one in (s for s in series if s.reason is None and s.contender.settles):
        name = one.contender.name
        observe(StudyProgress(0, question.blocks, name, time.monotonic() - begin))
        settings[name] = _settled(one, settings[name], launcher)
    settling = time.monotonic() - begin
    blocks = 0
    while blocks < question.blocks and (running := [s for s in series if s.reason is None]):
        spent = time.monotonic() - begin
        limit = question.limit_s if blocks < _FEWEST else min(question.seconds, question.limit_s)
        if blocks and spent + (spent - settling) / blocks > limit:
            break
        shuffle.shuffle(running)
        for one in running:
            observe(StudyProgress(blocks + 1, question.blocks, one.contender.name, time.monotonic() - begin))
            one.add(blocks, launcher.run(settings[one.contender.name]))
        blocks += 1
    result = {
        "study": found.study.name,
        "title": found.study.title,
        "threads": question.threads,
        "point": dict(point),
        "blocks": blocks,
        "seconds_spent": time.monotonic() - begin,
        "work": work,
        "published": [asdict(p) for p in found.study.published],
        "plain_variant": found.study.plain_variant,
        "picture": list(found.study.picture) if found.study.picture else None,
        "rows": _rows(question, series, blocks),
    }
    tell = found.study.tell
    return {**result, "told": list(tell(result)) if tell is not None else []}


def setting_of(contender: Contender, threads: int, near: Collection[int] | None = None) -> Setting:
    """So many threads on the cores of a balanced placement, on the processors `near` where enough of those may be used.

    A variant's threads are bound one by one.

    A peer's threads are not: those that a library makes by itself would all inherit the place of the first one.
    """
    machine = load_machine()
    nearer = tuple(p for p in machine.allowed if near is not None and p in near)
    if threads <= len(nearer):
        machine = replace(machine, limits=replace(machine.limits, processors=nearer))
    env = {"OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false"}
    env |= {f"{library}_NUM_THREADS": str(threads) for library in ("OPENBLAS", "MKL", "BLIS")}
    mask = None
    placement = place(machine, "balanced", threads) if threads <= len(machine.allowed) else None
    if placement is not None:
        mask = placement.mask
        if contender.kind != "peer":
            env |= binding_environment(contender.command, placement.places, env, "openmp")[0]
    unset = [*BINDING_VARIABLES, *(name for name, value in contender.env.items() if not value)]
    env |= {name: value for name, value in contender.env.items() if value}
    return Setting(contender.command, env=env, unset=tuple(v for v in unset if v not in env), mask=mask)


def _settled(one: _Series, setting: Setting, launcher: Launcher) -> Setting:
    """The contender's setting with what it found; where that failed, its series says why it cannot run."""
    sample = launcher.run(replace(setting, command=settling_command(setting.command)))
    if not sample.ok:
        one.add(0, sample)
        return setting
    return replace(setting, command=settled_command(setting.command, sample.metrics))


def _wanted(contenders: Sequence[Contender], only: Sequence[str]) -> list[Contender]:
    names = [c.name for c in contenders]
    if unknown := [name for name in only if name not in names]:
        raise InputError(f"there is no contender {unknown[0]!r} here", f"there are: {', '.join(names)}")
    return [c for c in contenders if not only or c.name in only]


def _typical(one: _Series) -> float:
    return median(list(one.times.values()))


def _best_peer(series: Sequence[_Series], for_scale: Sequence[str]) -> _Series | None:
    ran = (
        s
        for s in series
        if s.contender.kind == "peer" and s.times and not s.for_scale and s.contender.name not in for_scale
    )
    return min(ran, key=_typical, default=None)


def _share_of_limit(one: _Series, series: Sequence[_Series]) -> float | None:
    """The binding limit's time over that of `one`: of several the one that takes longest, since each holds by itself.

    A limit that does not bind has none.
    """
    limits = [s for s in series if s.contender.kind == "limit" and s.times]
    if not one.times or not limits:
        return None
    binding = max(limits, key=lambda s: _typical(s) * s.time_for(one))
    if one.contender.kind == "limit" and one is not binding:
        return None
    return binding.time_for(one) / compare_series(one.times, binding.times)[0]


def compare_series(one: Mapping[int, float], other: Mapping[int, float]) -> tuple[float, float | None, float | None]:
    """Speedup of `other` over `one` in the blocks that both ran in, with its 95 % interval (None: too few blocks)."""
    blocks = sorted(one.keys() & other.keys())
    ratio = ratio_interval([one[b] for b in blocks], [other[b] for b in blocks])
    return ratio.ratio, ratio.low if ratio.low > 0 else None, ratio.high if math.isfinite(ratio.high) else None


def _rate_interval(one: _Series, scale: float) -> dict[str, float | None]:
    """The 95 % interval of the median rate; None with too few blocks."""
    interval = median_interval(list(one.times.values()))
    if interval is None:
        return {"rate_low": None, "rate_high": None}
    low, high = interval
    items = (one.metric("items") or 0.0) * scale
    return {"rate_low": items / high, "rate_high": items / low}


def _rows(question: StudyQuestion, series: Sequence[_Series], blocks: int) -> list[dict[str, Any]]:
    study = question.found.study
    peer = _best_peer(series, study.for_scale)
    comparable = [s for s in series if s.times and not s.for_scale]
    plain = next((s for s in comparable if s.contender.name == study.plain_variant), None)
    rows = []
    for one in series:
        ratio: tuple[float | None, ...] = (None, None, None)
        if one in comparable and peer is not None:
            ratio = compare_series(peer.times, one.times)
        seconds = median(list(one.times.values())) if one.times else None
        rows.append(
            {
                "contender": one.contender.name,
                "kind": one.contender.kind,
                "threads": question.threads,
                "point": dict(question.point),
                "seconds": seconds,
                # one for each block, so that any two rows can be compared block by block
                "times": [one.times.get(block) for block in range(blocks)],
                "rate": (one.metric("items") or 0.0) / seconds * study.rate_scale if seconds else None,
                **_rate_interval(one, study.rate_scale),
                "unit": study.rate_unit,
                "ratio_to_best_peer": ratio[0],
                "low": ratio[1],
                "high": ratio[2],
                "ratio_to_plain": compare_series(plain.times, one.times) if one in comparable and plain else None,
                "share_of_limit": _share_of_limit(one, series),
                "flops": one.metric("flops"),
                "bytes": one.metric("bytes"),
                "metrics": {name: one.metric(name) for name in sorted(one.metrics) if name not in (*_WORK, _FOR_SCALE)},
                "for_scale": one.for_scale,
                "verified": one.verified,
                "not_run": one.reason,
            }
        )
    order = {"variant": 0, "peer": 1, "limit": 2}
    return sorted(rows, key=lambda r: (order[r["kind"]], r["seconds"] if r["seconds"] is not None else math.inf))
