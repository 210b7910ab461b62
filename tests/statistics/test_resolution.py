# SPDX-License-Identifier: BSD-3-Clause
"""What can be distinguished from noise, against simulated comparisons."""

import math

import numpy as np
import pytest

from nodewise.statistics import compare, resolution
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.resolution import MOST_MORE, pairs_to_narrow, runs_needed, smallest_difference, window_noise


@pytest.mark.parametrize(("mad", "difference"), [(0.004, 0.01), (0.01, 0.02), (0.003, 0.005)])
def test_so_many_runs_find_the_difference_about_nine_times_in_ten(mad: float, difference: float) -> None:
    runs = runs_needed(mad, difference)
    r = np.random.default_rng(31)
    noise = 1.4826 * mad
    found = 0
    for _ in range(400):
        slow, fast = (c * np.exp(noise * r.normal(size=runs)) for c in (1 + difference, 1.0))
        found += ratio_interval(list(slow), list(fast)).low > 1
    assert 0.82 <= found / 400 <= 0.98


def test_the_least_difference_is_that_of_the_runs() -> None:
    for mad in (0.001, 0.004, 0.02):
        for runs in (10, 50, 400):
            least = smallest_difference(mad, runs)
            assert runs_needed(mad, least) in (runs, runs + 1)
    assert runs_needed(0.0, 0.01) == 6
    for wrong in (lambda: runs_needed(0.01, 0.0), lambda: smallest_difference(0.01, 3)):
        with pytest.raises(ValueError):
            wrong()


def test_noise_of_runs_is_that_of_as_many_pieces() -> None:
    r = np.random.default_rng(32)
    series = [c * (1 + 0.05 * r.normal(size=5000)) for c in (0.001, 0.0013)]
    short, longer = window_noise(series, 0.01), window_noise(series, 0.1)
    assert short is not None and longer is not None
    # independent pieces: noise falls with the root of their number; a slower processor is no noise
    assert short.mad == pytest.approx(0.6745 * 0.05 / np.sqrt(10), rel=0.2)
    assert longer.mad == pytest.approx(0.6745 * 0.05 / 10, rel=0.3)
    assert short.windows == pytest.approx(500 + 650, abs=30)
    assert longer.worst > 0


def test_noise_that_does_not_average_out_is_not_extrapolated_away() -> None:
    slow = np.repeat([1.0, 1.02], 500)
    noise = window_noise([0.001 * np.tile(slow, 5)], 0.1)
    assert noise is not None and noise.mad == pytest.approx(0.01, rel=0.3)
    assert window_noise([[0.001] * 4000], 1.0) is None
    assert window_noise([], 1.0) is None and window_noise([[]], 1.0) is None
    assert window_noise([[0.001] * 4980], 1.0) is not None


def test_robust_scores_cost_what_is_said() -> None:
    # the scores' efficiency under normal noise, by numerical integration
    z = np.linspace(-compare._REACH, compare._REACH, 20_001)
    normal, width = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), z[1] - z[0]
    inside = 1 - (z / compare._REACH) ** 2
    slope = float((inside * (5 * inside - 4) * normal).sum() * width)
    variance = float(((z * inside**2) ** 2 * normal).sum() * width)
    assert pytest.approx(variance / slope**2, abs=0.001) == resolution._SCORE_COST


def test_windows_are_counted_and_compared_as_they_are_said_to_be() -> None:
    # 100 pieces of 1 s, of which a run of 10 s takes ten: ten windows one after the other, one a piece further each
    pieces = [1.0] * 95 + [2.0] + [1.0] * 4
    seen = window_noise([pieces, pieces], 101 / 10)
    assert seen is not None and (seen.seconds, seen.windows) == (10.1, 20)
    assert seen.mad == 0 and seen.worst == pytest.approx(0.1)
    # five must fit, or nearly so
    assert window_noise([[1.0] * 20], 4.0) is not None and window_noise([[1.0] * 20], 5.0) is None
    assert window_noise([[1.0] * 99], 20.0) is not None and window_noise([[1.0] * 98], 20.0) is None
    assert window_noise([[0.0] * 20], 4.0) is None
    # a series that is too short takes the others along
    assert window_noise([[1.0] * 100, [1.0] * 10], 10.0) is None
    # of a window of one piece there have to be two others
    assert window_noise([[1.0] * 5], 1.0) is not None


def test_numbers_of_runs_are_those_of_the_formula() -> None:
    # (1.96 + 1.2816) deviations of sqrt(2 × 1.166) × 1.4826 MAD, and 1.96² / 2 runs more for the noise's own doubt
    assert runs_needed(0.01, 0.01) == 57
    assert runs_needed(0.01, 0.01, power=0.5) == 22
    assert runs_needed(0.01, 0.01, level=0.99) == 81
    assert smallest_difference(0.01, 57) == pytest.approx(0.01, rel=0.01)
    assert smallest_difference(0.01, 6) == pytest.approx(0.0370, abs=0.0005)
    with pytest.raises(ValueError, match="6 runs of each are the fewest"):
        smallest_difference(0.01, 5)
    with pytest.raises(ValueError, match="above zero"):
        runs_needed(0.01, 0.0)


def test_an_interval_narrows_with_the_root_of_the_number_of_pairs() -> None:
    ratio = Ratio(1.0, math.exp(-0.02), math.exp(0.02), 12)
    assert pairs_to_narrow(ratio, 12, 0.0101) in (35, 36) and pairs_to_narrow(ratio, 12, 0.03) <= 0
    assert pairs_to_narrow(ratio, 12, 0.0) == pairs_to_narrow(ratio, 12, 1e-5) == MOST_MORE
