# SPDX-License-Identifier: BSD-3-Clause
"""The roofline of a machine: its peaks and bandwidths, measured, and where the studies' kernels lie below them.

What is made of the runs, and the source of the model, is in `verdicts.roofline`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.units import whole_duration
from nodewise.experiments.blocks import Arm, Block, Blocks, Stop
from nodewise.experiments.study import setting_of
from nodewise.machine.model import Machine
from nodewise.placement.policies import place
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer
from nodewise.records.inherited import inherited_facts
from nodewise.records.recorder import Recorder
from nodewise.records.result_store import ROOFLINE
from nodewise.runner.launcher import Launcher
from nodewise.statistics.summary import median
from nodewise.studies.commands import Contender, native_contenders, work_of, worker_command
from nodewise.studies.discovery import Found, find_study, study_names
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.roofline import (
    MEMORY,
    PEAK,
    KernelPoint,
    LeftOut,
    Role,
    RoofKind,
    RooflineSeries,
    RooflineVerdict,
    RoofPoint,
    roofline_verdict,
)

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


@dataclass(frozen=True)
class RooflineProgress:
    """What is running, and how much of all runs is done."""

    done: int
    runs: int
    what: str


def cache_levels(machine: Machine, threads: int) -> list[tuple[str, int]]:
    """The caches that so many threads use, the nearest first: name and bytes of all of that level together.

    A level that holds hardly more than the one before it could not be distinguished from it, and is left out.
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


def roof_points(machine: Machine, threads: int) -> list[RoofPoint]:
    """What has to be measured for the roofs."""
    flops, bandwidth = RoofKind.FLOPS, RoofKind.BANDWIDTH
    roofs = [RoofPoint(f"{kind} peak", flops, kind, {"steps": _STEPS}) for kind in ("f64", "f32")]
    for name, size in cache_levels(machine, threads):
        for way in _WAYS:
            # half of the level, as multiples of a page for each thread's part of each array
            kib = max(4 * threads, size // 2 // _ARRAYS[way] // 4096 * 4)
            passes = max(1, round(_MOVED * threads / (kib * 1024 / 8 * _BYTES)))
            roofs.append(RoofPoint(name, bandwidth, way, {"kib": str(kib), "passes": str(passes)}))
    return roofs + [RoofPoint(MEMORY, bandwidth, way, {"passes": "1"}) for way in _WAYS]


def measure_roofline(
    machine: Machine,
    threads: int,
    launcher: Launcher,
    out: Path,
    names: Sequence[str] = (),
    observe: Callable[[RooflineProgress], None] = lambda _: None,
    asked: Sequence[str] = (),
    seconds: float | None = None,
) -> RooflineVerdict:
    """Measure the roofs, and the studies that count operations (all, or those of `names`) at their quick points.

    Of each study the best variant that is right and the plain one are placed; roofs and kernels are interleaved. Every run
    is kept in the directory `out`. A budget in `seconds` is exceeded by one run at most, and there may be fewer blocks then.
    Raises StoreError, and InputError where the budget holds not even one block.
    """
    roofs = [_roof(what) for what in roof_points(machine, threads)]
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
        writer.end_runs()
        left_out += _failed(kernels, chosen)
        result = roofline_verdict(threads, roofs, chosen, left_out, made, meter.seconds)
        writer.store_result({"result": encode(result)})
    return result


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

    def blocks(self, count: int, series: Sequence[RooflineSeries], phase: str) -> int:
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

    def _arm(self, one: RooflineSeries) -> Arm:
        def before() -> None:
            self._observe(RooflineProgress(self.done, self.total, f"{one.study} {one.contender.name}"))
            self.done += 1

        return Arm(replace(setting_of(one.contender, self._threads), name=one.key), _LONGEST_S, (before, lambda: None))


def _roof(what: RoofPoint) -> RooflineSeries:
    found = find_study(what.kind.value)
    command = [*worker_command(found, what.variant, found.study.point(what.point)), "--repeat", str(_REPEAT)]
    return RooflineSeries(Contender(what.variant, "variant", tuple(command)), what.kind.value, what)


def _candidates(names: Sequence[str], threads: int) -> tuple[list[RooflineSeries], list[LeftOut]]:
    """The variants of all studies that count operations, and the studies that do not, with the reason."""
    series: list[RooflineSeries] = []
    left_out = []
    for name in names or study_names():
        found = find_study(name)
        if found.study.name in list(RoofKind):
            left_out.append(LeftOut(found.study.name, "measures the roofs themselves"))
            continue
        point = found.study.point({}, quick=True)
        work = work_of(found, point, threads)
        if not work.get("flops"):
            left_out.append(LeftOut(found.study.name, "its work is not counted in floating-point operations"))
        else:
            series += [
                RooflineSeries(c, name, _kernel(found, point))
                for c in native_contenders(found, point)
                if c.kind == "variant" and c.not_run is None
            ]
    return series, left_out


def _kernel(found: Found, point: Mapping[str, str]) -> KernelPoint:
    """What is said of a study's kernels: the peak is of the type that the study's own limit names, else of 64 bits."""
    peaks = [limit.variant for limit in found.study.limits if limit.study == RoofKind.FLOPS]
    return KernelPoint(dict(point), f"{peaks[0]} peak" if peaks else PEAK, found.study.plain_variant)


def _choose(kernels: Sequence[RooflineSeries]) -> list[RooflineSeries]:
    """Of each study the fastest variant and the plain one, with their roles."""
    chosen = []
    for study in dict.fromkeys(k.study for k in kernels):
        ran = [k for k in kernels if k.study == study and k.ran]
        if not ran:
            continue
        best = min(ran, key=lambda k: median(k.times))
        best.role = Role.BEST
        chosen.append(best)
        for one in ran:
            if one is not best and isinstance(one.what, KernelPoint) and one.contender.name == one.what.plain:
                one.role = Role.PLAIN
                chosen.append(one)
    return chosen


def _failed(kernels: Sequence[RooflineSeries], chosen: Sequence[RooflineSeries]) -> list[LeftOut]:
    """The studies of which nothing ran."""
    ran = {k.study for k in chosen if k.error is None}
    studies = dict.fromkeys(k.study for k in kernels if k.study not in ran)
    reasons = {k.study: k.error or "did not run" for k in kernels}
    return [LeftOut(s, f"no variant ran: {reasons[s]}") for s in studies]
