# SPDX-License-Identifier: BSD-3-Clause
"""Centres, spreads and intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.statistics.interval import median_interval
from nodewise.statistics.summary import Running, mad, median


def test_median_and_mad_of_known_values() -> None:
    assert median([1, 9, 2]) == 2
    assert median([1, 2, 3, 10]) == 2.5
    assert mad([1, 1, 2, 2, 4, 6, 9]) == 1


def test_no_values_are_refused() -> None:
    for function in (median, mad):
        with pytest.raises(ValueError, match="no values"):
            function([])


@pytest.mark.parametrize("count", [6, 7, 10, 25, 60])
def test_the_interval_holds_the_true_median_at_least_as_often_as_it_says(count: int) -> None:
    random = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        interval = median_interval(list(random.lognormal(0, 0.1, count)))
        hits += interval is not None and interval[0] <= 1.0 <= interval[1]
    # 400 at 95 %: fewer than 365 would come once in a thousand times
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


@given(st.lists(st.one_of(st.floats(0.1, 10), st.integers(1, 5).map(float)), min_size=1, max_size=40))
def test_running_values_are_those_of_all_at_once(values: list[float]) -> None:
    running = Running()
    for n, value in enumerate(values, 1):
        running.add(value)
        assert (running.median, running.mad) == (median(values[:n]), mad(values[:n]))
    assert len(running) == len(values)
