# SPDX-License-Identifier: BSD-3-Clause
"""The roofline of a machine: its peaks and bandwidths, measured, and where the studies' kernels lie below them.

After S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52(4), 2009: a kernel that does `intensity` operations for each byte that it
moves can do at most min(peak, intensity × bandwidth) operations a second.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.units import whole_duration
from nodewise.experiments.blocks import Arm, Block, Blocks, Stop
from nodewise.experiments.study import setting_of
from nodewise.machine.model import Machine
from nodewise.placement.policies import place
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, inherited_facts
from nodewise.records.recorder import Recorder
from nodewise.records.result_store import ROOFLINE
from nodewise.runner.launcher import Launcher
from nodewise.runner.sample import Sample
from nodewise.statistics.interval import median_interval
from nodewise.statistics.summary import median
from nodewise.studies.commands import Contender, native_contenders, work_of, worker_command
from nodewise.studies.discovery import Found, find_study, study_names

FLOPS, BANDWIDTH = "flops", "bandwidth"
MEMORY = "memory"
#: How often everything is run to choose each study's best variant, and then to measure.
_TRIALS, _BLOCKS = 2, 5
#: What a cache's bandwidth is measured with: the best of them.
_WAYS = ("read", "triad")
_ARRAYS = {"read": 2, "triad": 3}
#: So many bytes are moved by each thread in a repetition, 48 for each element of the arrays; and so long are chains of
#: multiply-adds: some milliseconds, which are seldom interrupted, and a process measures so many of them.
_MOVED, _BYTES, _STEPS, _REPEAT = 1e9, 48, "4096", 5
#: How long one run may take at most.
_LONGEST_S = 600.0
#: A kernel that reaches more than this of a roof is not below it.
ABOVE_ROOF = 1.02


@dataclass(frozen=True)
class RooflineProgress:
    """What is running, and how much of all runs is done."""

    done: int
    runs: int
    what: str


@dataclass
class _Series:
    """A contender's runs: times, and the work of the last one."""

    contender: Contender
    role: str
    study: str
    roof: Mapping[str, Any] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    work: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None

    def add(self, sample: Sample) -> None:
        if not sample.ok:
            self.error = str(sample.error)
            return
        self.times.append(sample.seconds)
        self.work = sample.metrics

    @property
    def key(self) -> str:
        """Its name among all series."""
        return f"{self.study} {self.contender.name} {' '.join(f'{k}={v}' for k, v in self.roof['point'].items())}"

    def rate(self, per: str) -> float:
        """Median operations or bytes a second."""
        return float(self.work.get(per, 0.0)) / median(self.times)

    def interval(self, per: str) -> tuple[float | None, float | None]:
        """The 95 % interval of that; None with too few blocks."""
        interval = median_interval(self.times)
        if interval is None:
            return None, None
        return float(self.work.get(per, 0.0)) / interval[1], float(self.work.get(per, 0.0)) / interval[0]


def cache_levels(machine: Machine, threads: int) -> list[tuple[str, int]]:
    """The caches that so many threads use, the nearest first: name and bytes of all of that level together.

    A level that holds hardly more than the one before it could not be told from it, and is left out.
    """
    placement = place(machine, "balanced", threads) if threads <= len(machine.allowed) else None
    used = set(placement.mask if placement is not None else machine.allowed)
    sizes: dict[int, int] = {}
    for cache in machine.caches:
        if cache.content != "instruction" and used & set(cache.pus):
            sizes[cache.level] = sizes.get(cache.level, 0) + cache.size_bytes
    levels: list[tuple[str, int]] = []
    for level, size in sorted(sizes.items()):
        if size and (not levels or size >= 3 * levels[-1][1]):
            levels.append((f"L{level}", size))
    return levels


def roof_points(machine: Machine, threads: int) -> list[dict[str, Any]]:
    """What has to be measured for the roofs: for each the study, its variant and the knobs."""
    roofs: list[dict[str, Any]] = [
        {"name": f"{kind} peak", "kind": FLOPS, "study": FLOPS, "variant": kind, "point": {"steps": _STEPS}}
        for kind in ("f64", "f32")
    ]
    for name, size in cache_levels(machine, threads):
        for way in _WAYS:
            # half of the level, as multiples of a page for each thread's part of each array
            kib = max(4 * threads, size // 2 // _ARRAYS[way] // 4096 * 4)
            passes = max(1, round(_MOVED * threads / (kib * 1024 / 8 * _BYTES)))
            point = {"kib": str(kib), "passes": str(passes)}
            roofs.append({"name": name, "kind": BANDWIDTH, "study": BANDWIDTH, "variant": way, "point": point})
    roofs += [
        {"name": MEMORY, "kind": BANDWIDTH, "study": BANDWIDTH, "variant": way, "point": {"passes": "1"}}
        for way in _WAYS
    ]
    return roofs


def measure_roofline(
    machine: Machine,
    threads: int,
    launcher: Launcher,
    out: Path,
    names: Sequence[str] = (),
    observe: Callable[[RooflineProgress], None] = lambda _: None,
    asked: Sequence[str] = (),
    seconds: float | None = None,
) -> dict[str, Any]:
    """Measure the roofs, and the studies that count operations (all, or those of `names`) at their quick points.

    Of each study the best variant that is right and the plain one are placed; roofs and kernels are interleaved. Every run
    is kept in the directory `out`. A budget in `seconds` is exceeded by one run at most, and there may be fewer blocks then.
    Raises StoreError, and InputError where the budget holds not even one block.
    """
    roofs = [_roof(spec) for spec in roof_points(machine, threads)]
    kernels, left_out = _candidates(names, threads)
    question = {
        "kind": ROOFLINE,
        "threads": threads,
        "studies": list(names),
        **inherited_facts(machine, os.environ, asked),
    }
    with Writer(out, question) as writer:
        try:
            total = _TRIALS * len(kernels) + _BLOCKS * (len(roofs) + 2 * len(kernels))
            meter = Meter(Budget(seconds))
            runs = _Runs(Recorder(writer, launcher, meter), meter, threads, observe, total)
            if runs.blocks(_TRIALS, kernels, "choose") < 1 and kernels:
                raise runs.too_small()
            chosen = _choose(kernels)
            runs.total = runs.done + _BLOCKS * (len(roofs) + len(chosen))
            for one in chosen:
                one.times.clear()
            made = runs.blocks(_BLOCKS, [*roofs, *chosen], ROOFLINE)
            if made < 1:
                raise runs.too_small()
        except (KeyboardInterrupt, InputError):
            writer.discard()
            raise
        left_out += _failed(kernels, chosen)
        result = _placed(threads, roofs, chosen, left_out, made, meter.seconds)
        writer.conclude({"result": result})
    return result


def _placed(
    threads: int,
    roofs: Sequence[_Series],
    chosen: Sequence[_Series],
    left_out: Sequence[Mapping[str, str]],
    blocks: int,
    seconds: float,
) -> dict[str, Any]:
    measured = _measured_roofs(roofs)
    return {
        "threads": threads,
        "roofs": measured,
        "kernels": [_place(one, measured) for one in chosen if one.error is None and one.times],
        "left_out": sorted(left_out, key=lambda one: one["study"]),
        "blocks": blocks,
        "seconds_spent": seconds,
    }


class _Runs:
    """Series in blocks, and how far all of them are."""

    def __init__(
        self,
        recorder: Recorder,
        meter: Meter,
        threads: int,
        observe: Callable[[RooflineProgress], None],
        total: int,
    ) -> None:
        self.done, self.total = 0, total
        self._threads, self._observe, self._meter = threads, observe, meter
        self._blocks = Blocks(recorder, meter, random.Random(0))

    def blocks(self, count: int, series: Sequence[_Series], phase: str) -> int:
        """So many blocks, or as many as the budget holds; how many of them are whole."""
        by_key = {one.key: one for one in series}
        whole = 0

        def take(block: Block) -> None:
            nonlocal whole
            whole += block.whole
            for key, sample in block.samples.items():
                if key not in block.stopped:
                    by_key[key].add(sample)

        if series:
            # a roof is the best of its blocks, so that a disturbed one does no harm
            stop = Stop(1, count, again=False)
            self._blocks.repeat(lambda: [self._arm(s) for s in series if s.error is None], phase, stop, take)
        return whole

    def too_small(self) -> InputError:
        """What is raised where the budget ended before each ran once."""
        needed = self._meter.seconds * self.total / max(1, self.done)
        return InputError(
            f"the budget is too small: it ended after {self.done} of about {self.total} runs",
            f"give --budget {whole_duration(needed)}, or one study: nodewise study NAME --roofline",
        )

    def _arm(self, one: _Series) -> Arm:
        def before() -> None:
            self._observe(RooflineProgress(self.done, self.total, f"{one.study} {one.contender.name}"))
            self.done += 1

        return Arm(replace(setting_of(one.contender, self._threads), name=one.key), _LONGEST_S, (before, lambda: None))


def _roof(spec: Mapping[str, Any]) -> _Series:
    found = find_study(spec["study"])
    command = [*worker_command(found, spec["variant"], found.study.point(spec["point"])), "--repeat", str(_REPEAT)]
    return _Series(Contender(spec["variant"], "variant", tuple(command)), "roof", spec["study"], spec)


def _candidates(names: Sequence[str], threads: int) -> tuple[list[_Series], list[dict[str, str]]]:
    """The variants of all studies that count operations, and the studies that do not, with the reason."""
    series: list[_Series] = []
    left_out = []
    for name in names or study_names():
        found = find_study(name)
        if found.study.name in (FLOPS, BANDWIDTH):
            left_out.append({"study": found.study.name, "why": "measures the roofs themselves"})
            continue
        point = found.study.point({}, quick=True)
        work = work_of(found, point, threads)
        if not work.get("flops"):
            left_out.append({"study": found.study.name, "why": "its work is not counted in floating-point operations"})
        else:
            series += [
                _Series(c, "variant", name, _kernel(found, point))
                for c in native_contenders(found, point)
                if c.kind == "variant" and c.not_run is None
            ]
    return series, left_out


def _kernel(found: Found, point: Mapping[str, str]) -> dict[str, Any]:
    """What is said of a study's kernels: the peak is of the type that the study's own limit names, else of 64 bits."""
    peaks = [limit.variant for limit in found.study.limits if limit.study == FLOPS]
    return {"point": dict(point), "peak": f"{peaks[0] if peaks else 'f64'} peak", "plain": found.study.plain_variant}


def _choose(kernels: Sequence[_Series]) -> list[_Series]:
    """Of each study the fastest variant and the plain one."""
    chosen = []
    for study in dict.fromkeys(k.study for k in kernels):
        ran = [k for k in kernels if k.study == study and k.error is None and k.times]
        if not ran:
            continue
        best = min(ran, key=lambda k: median(k.times))
        best.role = "best"
        chosen.append(best)
        for one in ran:
            if one is not best and one.contender.name == one.roof["plain"]:
                one.role = "plain"
                chosen.append(one)
    return chosen


def _failed(kernels: Sequence[_Series], chosen: Sequence[_Series]) -> list[dict[str, str]]:
    """The studies of which nothing ran."""
    ran = {k.study for k in chosen if k.error is None}
    studies = dict.fromkeys(k.study for k in kernels if k.study not in ran)
    reasons = {k.study: k.error or "did not run" for k in kernels}
    return [{"study": s, "why": f"no variant ran: {reasons[s]}"} for s in studies]


def _measured_roofs(series: Sequence[_Series]) -> list[dict[str, Any]]:
    """Each roof by the best way to reach it, the compute roofs first, then from the nearest cache to memory.

    A roof is what the machine can do, so it is the best block that counts; the median is told beside it.
    """
    roofs: dict[str, dict[str, Any]] = {}
    for one in series:
        if one.error is not None or not one.times:
            continue
        per = "flops" if one.roof["kind"] == FLOPS else "bytes"
        low, _ = one.interval(per)
        highest = float(one.work.get(per, 0.0)) / min(one.times)
        told = {
            "name": one.roof["name"],
            "kind": one.roof["kind"],
            "rate": highest,
            "median": one.rate(per),
            "low": low,
        }
        told |= {"way": one.contender.name, "point": one.roof["point"]}
        best = roofs.get(told["name"])
        if best is None or told["rate"] > best["rate"]:
            roofs[told["name"]] = told
    return list(roofs.values())


def _place(one: _Series, roofs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    low, high = one.interval("flops")
    kernel = {"study": one.study, "contender": one.contender.name, "role": one.role, "point": one.roof["point"]}
    moved = one.work.get("bytes")
    intensity = one.work["flops"] / moved if moved else None
    kernel |= {"flops": one.work["flops"], "bytes": moved, "seconds": median(one.times)}
    kernel |= {"intensity": intensity, "rate": one.rate("flops"), "low": low, "high": high}
    return {**kernel, **bound_of(intensity, kernel["rate"], one.roof["peak"], roofs)}


def bound_of(intensity: float | None, rate: float, peak: str, roofs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Which roof bounds a kernel: the lowest one that it is not above, beginning with memory's; and the share of it.

    A kernel whose data stay in a cache gets past memory's roof, and is set against that cache's; one that moves no bytes
    (`intensity` None) is set against the peak.
    """
    top = next((r for r in roofs if r["name"] == peak), None)
    ways = sorted((r for r in roofs if r["kind"] == BANDWIDTH), key=lambda r: float(r["rate"]))
    if top is None:
        return {"peak": peak, "bound": None, "roof": None, "share": None}
    for way in ways:
        height = intensity * way["rate"] if intensity is not None else math.inf
        if height >= top["rate"]:
            break
        if rate <= height * ABOVE_ROOF:
            return {"peak": peak, "bound": way["name"], "roof": height, "share": rate / height}
    return {"peak": peak, "bound": top["name"], "roof": top["rate"], "share": rate / top["rate"]}
