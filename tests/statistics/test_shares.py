# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of shares, against what they promise."""

import math

import numpy as np
import pytest

from nodewise.statistics.shares import share_intervals, wilson


def test_wilson_is_what_its_formula_says() -> None:
    # E. B. Wilson's own form: both ends solve (p - s)² = z² p (1 - p) / n
    z = 1.959963984540054
    for count, total in ((0, 10), (3, 10), (50, 100), (100, 100)):
        for end in wilson(count, total):
            if 1e-9 < end < 1 - 1e-9:
                assert math.isclose((end - count / total) ** 2, z * z * end * (1 - end) / total, rel_tol=1e-9)
    assert wilson(0, 10)[0] < 1e-9 and wilson(10, 10)[1] > 1 - 1e-9


@pytest.mark.parametrize("phase", [1, 10, 25, 50])
def test_the_share_lies_inside_nineteen_times_in_twenty(phase: int) -> None:
    # phases of 25 samples alike: intervals that took them for independent would hold the share in half of the cases
    rng, inside, rounds = np.random.default_rng(3), 0, 200
    for _ in range(rounds):
        kinds = np.repeat(rng.choice(3, size=1000 // phase, p=[0.5, 0.3, 0.2]), phase)
        low, high = share_intervals(list(kinds), 3)[0]
        inside += low <= 0.5 <= high
    assert inside >= 0.93 * rounds


@pytest.mark.parametrize(("size", "phase", "least"), [(400, 10, 0.91), (2000, 10, 0.93), (400, 40, 0.8)])
def test_phases_of_random_length_are_covered_and_where_there_are_ten_nearly(
    size: int, phase: int, least: float
) -> None:
    rng, inside, rounds = np.random.default_rng(5), 0, 150
    for _ in range(rounds):
        lengths = rng.geometric(1 / phase, size=size)
        kinds = np.repeat(rng.choice(3, size=size, p=[0.5, 0.3, 0.2]), lengths)[:size]
        low, high = share_intervals(list(kinds), 3)[0]
        inside += low <= 0.5 <= high
    assert inside >= least * rounds


def test_what_a_program_does_once_is_no_chance() -> None:
    # an interval from 0 to 1 of each says nothing of a run whose first half is another than its second
    for low, high in share_intervals([0] * 500 + [1] * 500, 2):
        assert 0.15 < low < 0.25 and 0.75 < high < 0.85
    (first, *_) = share_intervals([0] * 100 + [1] * 900, 2)
    assert first[1] < 0.5


def test_samples_of_no_kind_belong_to_the_whole() -> None:
    (span,) = share_intervals([0, -1, 5, -1] * 25, 1)
    assert span[0] < 0.25 < span[1] < 0.5


def test_shares_of_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        share_intervals([], 2)


def test_no_share_is_above_one_or_below_none_by_rounding() -> None:
    ends = [end for total in range(1, 400) for count in (0, total) for end in wilson(count, total)]
    assert min(ends) == 0 and max(ends) == 1
