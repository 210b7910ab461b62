# SPDX-License-Identifier: BSD-3-Clause
"""The interval of a median, against tables and in simulated samples."""

import numpy as np
import pytest

from nodewise.statistics.interval import median_interval


@pytest.mark.parametrize("count", [6, 7, 10, 25, 60])
def test_the_interval_holds_the_true_median_at_least_as_often_as_it_says(count: int) -> None:
    random = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        interval = median_interval(list(random.lognormal(0, 0.1, count)))
        hits += interval is not None and interval[0] <= 1.0 <= interval[1]
    # 400 at 95%: fewer than 365 would come once in a thousand times
    assert hits >= 365


def test_the_interval_is_that_of_the_tables() -> None:
    # Conover's table for the sign test: of 10 samples the second and the ninth, of 20 the sixth and the fifteenth
    assert median_interval(range(1, 11)) == (2, 9)
    assert median_interval(range(1, 21)) == (6, 15)
    low, high = median_interval(range(2001)) or (0, 0)
    assert 950 < low < 1000 < high < 1050


def test_of_few_values_there_is_no_interval() -> None:
    for few in ([], [2.5], [3.0, 1.0, 2.0, 4.0, 5.0]):
        assert median_interval(few) is None
    assert median_interval(range(6)) == (0, 5)
    # six lie on one side of the median in 2 of 64 cases, seven in 1 of 64
    assert median_interval(range(6), 0.97) is None and median_interval(range(7), 0.97) == (0, 6)


def test_the_interval_of_many_is_nearly_the_exact_one() -> None:
    # below and above the number up to which it is exact; the exact ends of 1000 and 1001 by the binomial's quantile
    assert median_interval(range(1000)) == (468, 531)
    assert median_interval(range(1001)) == (469, 531)
