# SPDX-License-Identifier: BSD-3-Clause
"""Speed, rate and redundancy, and intervals of series that were not interleaved."""

import itertools
import math

import numpy as np
import pytest

from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.work import efficiency

#: Published: the trapezoid rule in four ways; processor seconds and floating-point operations.
SECONDS = (20.90579, 8.02257, 0.65617, 0.34496)
FLOPS = (500_000_946, 600_000_945, 1_050_001_011, 500_001_019)


def test_the_published_table_of_the_trapezoid_rule_comes_out_exactly() -> None:
    rows = efficiency(SECONDS, FLOPS)
    assert [round((r.rate or 0) / 1e6, 2) for r in rows] == [23.92, 74.79, 1600.20, 1449.45]
    third, fourth = rows[2:]
    assert (round(third.rate_ratio or 0), round(third.speedup), round(third.redundancy or 0, 1)) == (67, 32, 2.1)
    assert (round(fourth.rate_ratio or 0), round(fourth.speedup), round(fourth.redundancy or 0, 1)) == (61, 61, 1.0)
    against_third = efficiency(SECONDS[2:], FLOPS[2:])[1]
    assert (round(against_third.rate_ratio or 0, 1), round(against_third.speedup, 1)) == (0.9, 1.9)


def test_the_ratio_of_the_rates_is_speedup_times_redundancy() -> None:
    for row in efficiency([3.0, 2.0, 5.0], [7.0, 11.0, 2.0], reference=1):
        assert row.rate_ratio == pytest.approx(row.speedup * (row.redundancy or 0))


def test_unknown_work_leaves_rate_and_redundancy_open() -> None:
    first, second = efficiency([2.0, 1.0], [None, 4.0])
    assert (first.rate, second.rate, second.redundancy) == (None, 4.0, None)
    for bad in (([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [0.0])):
        with pytest.raises(ValueError, match=r"times|above"):
            efficiency(*bad)


def test_the_unpaired_interval_inverts_the_exact_rank_sum_test() -> None:
    one, other = np.array([0.3, 0.1, 0.7, 0.45, 0.9, 0.5]), np.array([0.2, 0.05, 0.6, 0.33, 0.4, 0.12])
    got = unpaired_interval(list(np.exp(one)), list(np.exp(other)))

    def p_value(shift: float) -> float:
        moved = np.concatenate([one - shift, other])
        ranks = np.argsort(np.argsort(moved))
        seen = ranks[:6].sum()
        sums = [sum(c) for c in itertools.combinations(range(12), 6)]
        return 2 * min(np.mean([s <= seen for s in sums]), np.mean([s >= seen for s in sums]))

    inside = [s for s in np.linspace(-1, 2, 3001) if p_value(s) > 0.05]
    assert math.log(got.low) == pytest.approx(min(inside), abs=0.002)
    assert math.log(got.high) == pytest.approx(max(inside), abs=0.002)


def test_the_unpaired_interval_covers_the_true_ratio() -> None:
    random = np.random.default_rng(1)
    hits = 0
    for n, m in [(10, 10), (8, 30), (60, 60)] * 60:
        got = unpaired_interval(list(1.3 * random.lognormal(0, 0.05, n)), list(random.lognormal(0, 0.05, m)))
        hits += got.low <= 1.3 <= got.high
    # 180 at 95 %: fewer than 161 would come once in a thousand times
    assert hits >= 161
    few = unpaired_interval([1.0, 1.1, 1.2, 1.3, 1.4], [1.0 + i / 10 for i in range(20)])
    assert (few.low, few.high) == (0.0, math.inf) and not few.has_interval
    assert unpaired_interval([1.0] * 5000, [2.0] * 5000).ratio == 0.5
