# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a roofline: the machine's roofs, and the studies' kernels with what bounds each.

After S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52(4), 2009: a kernel that does `intensity` operations for each byte that it
moves can do at most min(peak, intensity × bandwidth) operations a second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_percent, format_seconds
from nodewise.records.result_store import ROOFLINE
from nodewise.runner.sample import Sample
from nodewise.statistics.interval import median_interval
from nodewise.statistics.summary import median
from nodewise.studies.commands import Contender

#: The roofs that everybody asks for.
PEAK, MEMORY = "f64 peak", "memory"
#: A kernel that reaches more than this of a roof is not below it.
ABOVE_ROOF = 1.02


class RoofKind(StrEnum):
    """What a roof limits: operations or bytes a second. Each is the name of the study that measures it, too."""

    FLOPS = "flops"
    BANDWIDTH = "bandwidth"


class Role(StrEnum):
    """Which of a study's variants a kernel is."""

    BEST = "best"
    PLAIN = "plain"


@dataclass(frozen=True)
class RoofPoint:
    """What is measured for a roof: the `variant` of the study of its kind's name, with these knobs."""

    name: str
    kind: RoofKind
    variant: str
    point: Mapping[str, str]


@dataclass(frozen=True)
class KernelPoint:
    """What is measured for a kernel: the study's knobs, the peak of its type, the study's plain variant."""

    point: Mapping[str, str]
    peak: str
    plain: str


@dataclass
class RooflineSeries:
    """A contender's runs: times in seconds, and the work of the last one."""

    contender: Contender
    study: str
    what: RoofPoint | KernelPoint
    role: Role | None = None
    times: list[float] = field(default_factory=list)
    work: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None

    def add(self, sample: Sample) -> None:
        """Take a run; one that failed is the reason why there will be no more."""
        if not sample.ok:
            self.error = str(sample.error)
            return
        self.times.append(sample.seconds)
        self.work = sample.metrics

    @property
    def ran(self) -> bool:
        """Whether every run was good, and there was one."""
        return self.error is None and bool(self.times)

    @property
    def key(self) -> str:
        """Its name among all series."""
        return f"{self.study} {self.contender.name} {' '.join(f'{k}={v}' for k, v in self.what.point.items())}"

    def rate(self, per: str) -> float:
        """Median operations or bytes a second."""
        return float(self.work.get(per, 0.0)) / median(self.times)

    def interval(self, per: str) -> tuple[float | None, float | None]:
        """The 95% interval of that; None with too few blocks."""
        interval = median_interval(self.times)
        if interval is None:
            return None, None
        return float(self.work.get(per, 0.0)) / interval[1], float(self.work.get(per, 0.0)) / interval[0]


@dataclass(frozen=True)
class Roof:
    """What the machine can do: the `rate` of the best block in operations or bytes a second, and the `median`.

    `variant` is the one of the study that reached it, at the knobs `point`; `low` the lower end of the median's interval.
    """

    name: str
    kind: RoofKind
    rate: float
    median: float
    low: float | None
    variant: str
    point: Mapping[str, str]


@dataclass(frozen=True)
class Bound:
    """The roof that bounds a kernel: its name, how high it is at the kernel's intensity, the share of it that is reached.

    `peak` is that of the kernel's type; without its measured rate nothing else is known.
    """

    peak: str
    name: str | None
    roof: float | None
    share: float | None


@dataclass(frozen=True)
class Kernel:
    """A study's variant under the roofs: operations a byte, and the median rate in operations a second with its interval.

    `intensity` is None where it moves no bytes.
    """

    study: str
    contender: str
    role: Role
    point: Mapping[str, str]
    flops: float
    bytes: float | None
    seconds: float
    intensity: float | None
    rate: float
    low: float | None
    high: float | None
    bound: Bound


@dataclass(frozen=True)
class LeftOut:
    """A study that is not under the roofs, and why."""

    study: str
    why: str


@dataclass(frozen=True)
class RooflineVerdict:
    """A machine's roofs with that many threads, the compute roofs first, and the kernels below them."""

    kind: str
    threads: int
    headline: str
    sentence: str
    roofs: tuple[Roof, ...]
    kernels: tuple[Kernel, ...]
    left_out: tuple[LeftOut, ...]
    blocks: int
    seconds_spent: float


def roofline_verdict(
    threads: int,
    roofs: Sequence[RooflineSeries],
    kernels: Sequence[RooflineSeries],
    left_out: Sequence[LeftOut],
    blocks: int,
    seconds_spent: float,
) -> RooflineVerdict:
    """Judge what roofs and kernels gave in that many blocks; kernels have their role."""
    measured = _measured(roofs)
    placed = tuple(_placed(one, measured) for one in kernels if one.ran)
    return RooflineVerdict(
        kind=ROOFLINE,
        threads=threads,
        headline=_headline(measured),
        sentence=_sentence(placed, blocks, seconds_spent),
        roofs=measured,
        kernels=placed,
        left_out=tuple(sorted(left_out, key=lambda one: one.study)),
        blocks=blocks,
        seconds_spent=seconds_spent,
    )


def _measured(series: Sequence[RooflineSeries]) -> tuple[Roof, ...]:
    """Each roof by the variant that came highest, the compute roofs first, then from the nearest cache to memory.

    A roof is what the machine can do, so it is the best block that counts; the median is shown with it.
    """
    roofs: dict[str, Roof] = {}
    for one in series:
        if not one.ran or not isinstance(one.what, RoofPoint):
            continue
        per = "flops" if one.what.kind is RoofKind.FLOPS else "bytes"
        low, _ = one.interval(per)
        highest = float(one.work.get(per, 0.0)) / min(one.times)
        name = one.what.name
        found = Roof(name, one.what.kind, highest, one.rate(per), low, one.contender.name, one.what.point)
        best = roofs.get(name)
        if best is None or found.rate > best.rate:
            roofs[name] = found
    return tuple(roofs.values())


def _placed(one: RooflineSeries, roofs: Sequence[Roof]) -> Kernel:
    assert isinstance(one.what, KernelPoint) and one.role is not None
    low, high = one.interval("flops")
    flops, moved = one.work["flops"], one.work.get("bytes")
    intensity, rate = flops / moved if moved else None, one.rate("flops")
    return Kernel(
        study=one.study,
        contender=one.contender.name,
        role=one.role,
        point=one.what.point,
        flops=flops,
        bytes=moved,
        seconds=median(one.times),
        intensity=intensity,
        rate=rate,
        low=low,
        high=high,
        bound=bound_of(intensity, rate, one.what.peak, roofs),
    )


def bound_of(intensity: float | None, rate: float, peak: str, roofs: Sequence[Roof]) -> Bound:
    """Which roof bounds a kernel: the lowest one that it is not above, beginning with memory's; and the share of it.

    A kernel whose data stay in a cache gets past memory's roof, and is compared with that cache's; one that moves no bytes
    (`intensity` None) is compared with the peak.
    """
    top = next((r for r in roofs if r.name == peak), None)
    if top is None:
        return Bound(peak, None, None, None)
    for roof in sorted((r for r in roofs if r.kind is RoofKind.BANDWIDTH), key=lambda r: r.rate):
        height = intensity * roof.rate if intensity is not None else math.inf
        if height >= top.rate:
            break
        if rate <= height * ABOVE_ROOF:
            return Bound(peak, roof.name, height, rate / height)
    return Bound(peak, top.name, top.rate, rate / top.rate)


def _headline(roofs: Sequence[Roof]) -> str:
    """The two roofs that everybody asks for."""
    rates = {r.name: r.rate for r in roofs}
    parts = [f"{rates[PEAK] * 1e-9:.4g} GFLOP/s"] if PEAK in rates else []
    parts += [f"{rates[MEMORY] * 1e-9:.4g} GB/s"] if MEMORY in rates else []
    return ", ".join(parts)


def _sentence(kernels: Sequence[Kernel], blocks: int, seconds_spent: float) -> str:
    parts = ["peak of 64 bits, and bandwidth of memory"]
    shares = [(k.bound.share, k) for k in kernels if k.role is Role.BEST and k.bound.share is not None]
    if shares:
        share, near = max(shares, key=lambda one: one[0])
        parts.append(
            f"nearest to its roof: {near.study} {near.contender}, {format_percent(share)} of {near.bound.name}"
        )
    return " · ".join([*parts, f"{blocks} block{'s' * (blocks != 1)} in {format_seconds(seconds_spent)}"])
