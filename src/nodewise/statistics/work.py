# SPDX-License-Identifier: BSD-3-Clause
"""Performance is not execution rate: speed, rate and work of several variants that get one result, side by side.

Performance is 1 / T, execution rate W / T, speedup T1 / T2, redundancy W2 / W1, so that the ratio of the rates is
speedup times redundancy: a variant that does needless work has a higher rate than it has merit.
"""

from collections.abc import Sequence

from nodewise.base.frozen import dataclass


@dataclass(frozen=True)
class Efficiency:
    """One variant against the reference: `speedup` and `redundancy` (None where its work is not known), rate in work per second."""

    speedup: float
    rate: float | None = None
    rate_ratio: float | None = None
    redundancy: float | None = None


def efficiency(
    seconds: Sequence[float], work: Sequence[float | None], reference: int = 0, speedups: Sequence[float] | None = None
) -> list[Efficiency]:
    """Each variant against the one at `reference`: seconds of n variants and the work that each did, in any unit.

    `speedups` replace the ratios of seconds where they were got better (paired by block). Raises ValueError where the
    lengths differ, a time is not above zero, or work is known and not above zero.
    """
    if len(seconds) != len(work) or not 0 <= reference < len(seconds):
        raise ValueError(f"{len(seconds)} times, {len(work)} amounts of work, reference {reference}")
    if min(seconds) <= 0 or any(w is not None and w <= 0 for w in work):
        raise ValueError("times and work must be above zero")
    first = work[reference]
    rows = []
    for i, (t, w) in enumerate(zip(seconds, work, strict=True)):
        speedup = seconds[reference] / t if speedups is None else speedups[i]
        if w is None:
            rows.append(Efficiency(speedup))
        elif first is None:
            rows.append(Efficiency(speedup, w / t))
        else:
            redundancy = w / first
            rows.append(Efficiency(speedup, w / t, speedup * redundancy, redundancy))
    return rows
