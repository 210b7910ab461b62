# SPDX-License-Identifier: BSD-3-Clause
"""Findings from measuring: what a loop of equal work lost on each processor, and which differences that leaves to be resolved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed
from nodewise.base.units import format_percent, format_seconds
from nodewise.machine.surroundings import Surroundings
from nodewise.machine.watch import Watched
from nodewise.quiet.finding import Finding, Severity
from nodewise.runner.spin import Spin
from nodewise.statistics.resolution import Noise, runs_needed, smallest_difference, window_noise
from nodewise.statistics.summary import median

#: Lengths of runs of which something is said, in seconds, where the loop ran long enough.
LENGTHS = (0.01, 0.1, 1.0)
#: The difference that most questions are about.
DIFFERENCE = 0.01
_RUNS = 10
#: More runs than anyone makes.
_HOPELESS = 2000
_LOST, _SOME_LOST = 0.01, 0.002
_UNEVEN = 0.02
#: Findings on what takes time of a processor, those that take most first.
_TAKERS = (
    *("other load", "steal", "quota", "interrupts", "DAMON", "page merging"),
    *("background services", "timed jobs", "watchdog"),
)
_METHOD = "M. Sottile, R. Minnich, CLUSTER 2004 (fixed work quantum); P. Beckman et al., Cluster Computing 11, 2008 (selfish detour)"


@dataclass(frozen=True)
class Resolution:
    """Of runs of `noise.seconds`: how many of each detect a difference of 1%, and the least that ten of each do."""

    noise: Noise
    runs: int
    least: float

    @property
    def hopeless(self) -> bool:
        """Whether 1% cannot be detected with any number of runs that someone would make."""
        return self.runs > _HOPELESS


def resolutions(spins: Sequence[Spin]) -> list[Resolution]:
    """For each length of run that was seen often enough."""
    series = [s.quanta_s for s in spins]
    found = (window_noise(series, seconds) for seconds in LENGTHS)
    return [Resolution(n, runs_needed(n.mad, DIFFERENCE), smallest_difference(n.mad, _RUNS)) for n in found if n]


def summary(spins: Sequence[Spin]) -> str:
    """The one sentence that the measuring was for; empty where nothing was measured."""
    found = resolutions(spins)
    if not found:
        return ""
    last = found[-1]
    text = f"runs of {format_seconds(last.noise.seconds)} differ by {format_percent(last.noise.mad)} (MAD); "
    if last.hopeless:
        return text + "a 1% difference cannot be detected"
    return text + f"a 1% difference needs about {last.runs} runs of each"


def measured_findings(
    s: Surroundings, spins: Sequence[Spin], loaded: Watched | None, others: Sequence[Finding] = ()
) -> Iterator[Finding]:
    """What the loop says of the machine; `others` are what was found without it."""
    if not spins:
        return
    yield _lost(spins, loaded, others)
    yield from _uneven(spins)


def _who_took(others: Sequence[Finding]) -> str:
    """Which of the other findings say to whom time is lost."""
    found = {f.name for f in others if f.severity not in (Severity.OK, Severity.UNKNOWN)}
    takers = [name for name in _TAKERS if name in found] or ["isolation"] * ("isolation" in found)
    if takers:
        return f"see {listed(takers)}"
    return "nothing else that was found takes any: look for longer, with --seconds 30"


def _lost(spins: Sequence[Spin], loaded: Watched | None, others: Sequence[Finding]) -> Finding:
    total = sum(s.seconds for s in spins)
    lost = sum(s.lost_s for s in spins)
    share = lost / total
    worst = max(spins, key=lambda s: s.lost)
    parts = []
    if all(s.waited_s is not None for s in spins):
        parts.append(("to other processes", sum(s.waited_s or 0.0 for s in spins)))
    if loaded is not None:
        stolen = sum(loaded.steal_s.get(s.processor, 0.0) for s in spins)
        if stolen:
            parts.append(("to the hypervisor, as far as it reports", stolen))
    # each is counted by a clock of its own, so that together they may come to more than was lost
    left = lost
    for i, (what, time) in enumerate(parts):
        parts[i] = (what, min(time, left))
        left -= parts[i][1]
    parts.append(("to ticks, interrupts and what nobody reports", left))
    evidence = (
        f"nodewise-spin on {len(spins)} processors: {sum(s.detours for s in spins) / total:.0f} interruptions a second on each, "
        f"the longest {format_seconds(max(s.longest_s for s in spins))}",
        "of the lost time " + ", ".join(f"{format_percent(t / max(lost, 1e-12))} {what}" for what, t in parts),
    )
    text = f"{format_percent(share)} of the time" + (
        f", at most {format_percent(worst.lost)} on processor {worst.processor}" if len(spins) > 1 else ""
    )
    severity = Severity.NOISY if worst.lost >= _LOST else Severity.NOTE if worst.lost >= _SOME_LOST else Severity.OK
    return Finding(
        "lost time",
        severity,
        text,
        evidence,
        "a program loses as much or more; one that waits for all of its threads at barriers loses what the worst processor "
        "does, each time",
        "" if severity is Severity.OK else _who_took(others),
        source=_METHOD,
    )


def _uneven(spins: Sequence[Spin]) -> Iterator[Finding]:
    if len(spins) < 2:
        return
    typical = {s.processor: s.typical_s for s in spins}
    middle = median(list(typical.values()))
    slow = {p: t / middle - 1 for p, t in typical.items() if t / middle - 1 > _UNEVEN}
    fast = {p: 1 - t / middle for p, t in typical.items() if 1 - t / middle > _UNEVEN}
    if not slow and not fast:
        spread = max(typical.values()) / min(typical.values()) - 1
        yield Finding(
            "even processors", Severity.OK, f"the same work takes the same time on all, within {format_percent(spread)}"
        )
        return
    odd = sorted({**slow, **fast}.items(), key=lambda item: -item[1])[:6]
    yield Finding(
        "even processors",
        Severity.NOTE,
        "some take longer for the same work than others",
        tuple(
            f"processor {p}: {format_percent(d)} {'slower' if p in slow else 'faster'} than the middle" for p, d in odd
        ),
        "a thread that is not bound is fast or slow by where it happens to run; cores may be of different kinds, share a core "
        "with other load, or have their own limits of clock and heat",
        "bind threads, and compare settings on the same processors: --allow LIST",
        source=_METHOD,
    )
