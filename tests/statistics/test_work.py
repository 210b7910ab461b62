# SPDX-License-Identifier: BSD-3-Clause
"""Speed, rate and redundancy, and intervals of series that were not interleaved."""

import pytest

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
    first, second = efficiency([2.0, 0.5], [None, 4.0])
    assert (first.rate, second.rate, second.redundancy) == (None, 8.0, None)
    for bad in (([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [0.0])):
        with pytest.raises(ValueError, match=r"times|above"):
            efficiency(*bad)


def test_speedups_that_were_got_better_replace_the_ratios() -> None:
    rows = efficiency([2.0, 1.0], [4.0, 8.0], reference=1, speedups=[0.4, 1.0])
    assert [(r.speedup, r.rate, r.rate_ratio, r.redundancy) for r in rows] == [
        (0.4, 2.0, 0.2, 0.5),
        (1.0, 8.0, 1.0, 1.0),
    ]
    for reference in (-1, 2):
        with pytest.raises(ValueError, match=f"2 times, 2 amounts of work, reference {reference}"):
            efficiency([2.0, 1.0], [4.0, 8.0], reference)
    for times, work in (([0.0, 1.0], [None, None]), ([1.0, 2.0], [None, 0.0])):
        with pytest.raises(ValueError, match="above zero"):
            efficiency(times, work)
