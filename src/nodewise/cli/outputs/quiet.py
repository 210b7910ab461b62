# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise quiet --json` prints."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.frozen import dataclass
from nodewise.quiet.finding import Finding
from nodewise.quiet.measured import Resolution, resolutions, summary
from nodewise.runner.spin import Spin


@dataclass(frozen=True)
class QuantumOutput:
    """Times of equal pieces of work, in seconds."""

    min: float
    median: float
    p99: float
    max: float


@dataclass(frozen=True)
class ProcessorOutput:
    """One processor over `seconds`: `quanta` equal pieces of work, and the share of the time that was `lost`.

    `lengths_s` are (at least this long in seconds, how many interruptions, their sum), doubling from one to the next.
    """

    processor: int
    seconds: float
    quanta: int
    quantum_s: QuantumOutput
    lost: float
    detours: int
    longest_s: float
    lengths_s: tuple[tuple[float, int, float], ...]
    waited_s: float | None
    involuntary_switches: int


@dataclass(frozen=True)
class ResolutionOutput:
    """How runs of `seconds` vary, as shares of the median, and what can be resolved with runs that long."""

    seconds: float
    mad: float
    worst: float
    windows: int
    runs_for_1_percent: int
    least_difference_of_10_runs: float


@dataclass(frozen=True)
class QuietOutput:
    """The findings, worst first, and what was measured."""

    summary: str
    findings: tuple[Finding, ...]
    processors: tuple[ProcessorOutput, ...]
    resolution: tuple[ResolutionOutput, ...]


def quiet_output(findings: Sequence[Finding], spins: Sequence[Spin]) -> QuietOutput:
    """The findings and the measurement."""
    return QuietOutput(
        summary(spins), tuple(findings), tuple(map(_processor, spins)), tuple(map(_resolution, resolutions(spins)))
    )


def _processor(one: Spin) -> ProcessorOutput:
    """What was seen, without the single quanta."""
    ordered = sorted(one.quanta_s)
    last = len(ordered) - 1
    return ProcessorOutput(
        processor=one.processor,
        seconds=one.seconds,
        quanta=len(ordered),
        quantum_s=QuantumOutput(ordered[0], one.typical_s, ordered[round(0.99 * last)], ordered[last]),
        lost=one.lost,
        detours=one.detours,
        longest_s=one.longest_s,
        lengths_s=tuple(one.lengths),
        waited_s=one.waited_s,
        involuntary_switches=one.involuntary,
    )


def _resolution(one: Resolution) -> ResolutionOutput:
    noise = one.noise
    return ResolutionOutput(noise.seconds, noise.mad, noise.worst, noise.windows, one.runs, one.least)
