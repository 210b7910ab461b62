# SPDX-License-Identifier: BSD-3-Clause
"""Centres, spreads and bootstrap intervals."""

import numpy as np
import pytest

from nodewise.statistics.interval import bootstrap_median
from nodewise.statistics.summary import mad, median


def test_median_and_mad_of_known_values() -> None:
    assert median([1, 9, 2]) == 2
    assert median([1, 2, 3, 10]) == 2.5
    assert mad([1, 1, 2, 2, 4, 6, 9]) == 1


def test_no_values_are_refused() -> None:
    for function in (median, mad, bootstrap_median):
        with pytest.raises(ValueError, match="no values"):
            function([])


def test_the_bootstrap_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    hits = 0
    for seed in range(200):
        low, high = bootstrap_median(list(random.lognormal(0, 0.1, 25)), resamples=400, seed=seed)
        hits += low <= 1.0 <= high
    assert 176 <= hits <= 200


def test_the_bootstrap_is_repeatable_and_of_one_value_is_that_value() -> None:
    values = [1.0, 1.2, 0.9, 1.1]
    assert bootstrap_median(values) == bootstrap_median(values)
    assert bootstrap_median([2.5]) == (2.5, 2.5)
