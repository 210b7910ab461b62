# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of series that were not interleaved, against the exact test and tables."""

import itertools
import math

import numpy as np
import pytest

from nodewise.statistics.unpaired import _cut, unpaired_interval
from tests.statistics.series import uneven


@pytest.mark.long
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
    # 180 at 95%: fewer than 161 would come once in a thousand times
    assert hits >= 161
    few = unpaired_interval([1.0, 1.1, 1.2, 1.3, 1.4], [1.0 + i / 10 for i in range(20)])
    assert (few.low, few.high) == (0.0, math.inf) and not few.has_interval
    assert unpaired_interval([1.0] * 5000, [2.0] * 5000).ratio == 0.5


@pytest.mark.parametrize(
    ("one", "other", "level", "cut"),
    [
        # critical values of the published tables, less one where they name the last that is significant
        *((4, 4, 0.95, 0), (3, 3, 0.95, -1), (5, 7, 0.95, 5), (8, 9, 0.99, 9), (6, 6, 0.999, -1)),
        # on both sides of where the normal approximation begins
        *((50, 50, 0.9, 1010), (50, 51, 0.9, 1032), (60, 60, 0.95, 1426), (50, 51, 0.8, 1085)),
    ],
)
def test_the_cut_is_that_of_the_tables(one: int, other: int, level: float, cut: int) -> None:
    assert _cut(one, other, level) == cut


@pytest.mark.parametrize(
    ("one", "other", "level", "wanted"),
    [
        (6, 6, 0.95, (1.19053432, 1.15411011, 1.23002023, 6)),
        (8, 30, 0.99, (1.20116031, 1.17391111, 1.22944123, 8)),
        (60, 60, 0.95, (1.19859817, 1.1895062, 1.20753354, 60)),
    ],
)
def test_it_is_the_same_everywhere(one: int, other: int, level: float, wanted: tuple[float, ...]) -> None:
    times = [1.2 * math.exp(0.02 * v) for v in uneven(one)], [math.exp(0.02 * v) for v in uneven(other, 1)]
    got = unpaired_interval(*times, level)
    assert (got.ratio, got.low, got.high, got.pairs) == pytest.approx(wanted, rel=1e-7)


def test_a_step_widens_it_and_bad_times_are_refused() -> None:
    times = [1.2, 1.21, 1.22, 1.23, 1.24, 1.25], [1.0, 1.01, 1.02, 1.03, 1.04, 1.05]
    narrow, wide = unpaired_interval(*times, step=0), unpaired_interval(*times, step=0.01)
    assert wide.low < narrow.low and wide.high > narrow.high
    assert unpaired_interval(*times) == wide
    # without one an end is a ratio of two of the times, to the last digit
    ratios = {math.exp(math.log(a) - math.log(b)) for a in times[0] for b in times[1]}
    assert {narrow.low, narrow.high} <= ratios
    # whole numbers of any size are taken, too
    large = [[round(100 * t) * 10**20 for t in series] for series in times]
    assert unpaired_interval(*large, step=0).ratio == pytest.approx(narrow.ratio)
    for bad in (([], [1.0]), ([1.0], []), ([0.0], [1.0]), ([1.0], [-1.0])):
        with pytest.raises(ValueError, match=r"need runs|above zero"):
            unpaired_interval(*bad)


def test_where_all_differences_are_needed_they_are_the_ends() -> None:
    # of six and six runs the outermost differences have a chance of one in 924 on each side
    one, other = [float(v) for v in range(10, 16)], [float(v) for v in range(1, 7)]
    found = unpaired_interval(one, other, 0.997, step=0.0)
    assert (found.low, found.high) == pytest.approx((10 / 6, 15.0))
    assert math.isinf(unpaired_interval(one, other, 0.999, step=0.0).high)
