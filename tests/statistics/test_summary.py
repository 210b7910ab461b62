# SPDX-License-Identifier: BSD-3-Clause
"""Centres, spreads and intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.statistics.summary import Running, mad, median


def test_median_and_mad_of_known_values() -> None:
    assert median([1, 9, 2]) == 2
    assert median([1, 2, 3, 10]) == 2.5
    assert mad([1, 1, 2, 2, 4, 6, 9]) == 1


def test_no_values_are_refused() -> None:
    for function in (median, mad):
        with pytest.raises(ValueError, match="no values"):
            function([])


@given(st.lists(st.one_of(st.floats(0.1, 10), st.integers(1, 5).map(float)), min_size=1, max_size=40))
def test_running_values_are_those_of_all_at_once(values: list[float]) -> None:
    running = Running()
    for n, value in enumerate(values, 1):
        running.add(value)
        assert (running.median, running.mad) == (median(values[:n]), mad(values[:n]))
    assert len(running) == len(values)


def test_of_nothing_there_is_no_running_value() -> None:
    for name in ("median", "mad"):
        with pytest.raises(ValueError, match="no values"):
            getattr(Running(), name)
    with pytest.raises(IndexError):
        _ = Running().least
    running = Running()
    for value in (3.0, 1.0, 2.0):
        running.add(value)
    assert running.least == 1.0
