# SPDX-License-Identifier: BSD-3-Clause
"""Coarse clocks and printed numbers: their step is seen, and the interval holds the truth wherever it lies in its step."""

import itertools

import numpy as np
import pytest

from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.steps import _is_long, infer_step, rounding_doubt, spread_ties, widened
from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.verdict import Word, judge
from tests.statistics.series import uneven


@pytest.mark.parametrize(
    ("series", "step"),
    [
        (([0.51] * 8, [0.50] * 8), 0.01),
        (([3.0, 4.0, 3.0], [5.0, 7.0, 3.0]), 1.0),
        # differences of clocks carry the noise of floating-point numbers
        (([12.34 - 11.83] * 4, [12.34 - 11.84, 9.1 - 8.6] * 2), 0.01),
        # 1/64 s, and 4 ms
        (([33 / 64, 34 / 64, 35 / 64, 33 / 64], [31 / 64, 33 / 64, 32 / 64, 33 / 64]), 1 / 64),
        (([0.504, 0.508, 0.5, 0.52], [0.512, 0.496, 0.508, 0.5]), 0.004),
        # a lattice that is not decimal
        (
            ([0.3 + k / 300 for k in (0, 1, 0, 2, 1, 0, 1, 1)], [0.3 + k / 300 for k in (1, 1, 0, 2, 1, 0, 1, 1)]),
            1 / 300,
        ),
        # a few ticks of 1/64 s, of 1/60 s, of 1/300 s that are printed with six decimals; more of them between two values
        (([3 / 64] * 6, [4 / 64] * 6), 1 / 64),
        (([12 / 60, 13 / 60, 12 / 60] * 2, [12 / 60] * 6), 1 / 60),
        (([0.036667, 0.04] * 3, [0.033333] * 6), 0.003333),
        (([7 / 64, 7 / 64, 9 / 64] * 2, [12 / 64] * 6), 1 / 64),
        # one number: seldom enough to be no more than one tick
        (([3 / 64] * 6, [3 / 64] * 6), 3 / 64),
        # what is printed with so few digits is what it looks like, and what is counted is no time
        (([0.55] * 6, [0.50] * 6), 0.01),
        (([1234567.0] * 6, [1234567.0] * 6), 1.0),
        (([0.51] * 2, [0.50] * 2), 0.0),
        (([0.5123456789] * 8, [0.5012345678] * 8), 0.0),
    ],
)
def test_the_step_is_seen(series: tuple[list[float], list[float]], step: float) -> None:
    assert infer_step(*series) == pytest.approx(step)


def test_noise_has_no_step() -> None:
    random = np.random.default_rng(51)
    for n in (3, 6, 50):
        assert infer_step(random.normal(1, 0.01, n), random.normal(1, 0.01, n)) == 0
    # two places where runs gather are no step
    assert infer_step([1.0123456, 1.0523456] * 10, [1.0123456, 1.0523456] * 10) == 0


def test_equal_programs_that_print_two_decimals_are_not_distinguished() -> None:
    got = ratio_interval([0.51] * 20, [0.50] * 20)
    assert got.low < 1.0 < got.high < 1.05
    assert judge(got, 0.01).word is Word.UNDECIDED
    got = unpaired_interval([0.51] * 20, [0.50] * 20)
    assert got.low < 1.0 < got.high < 1.05
    # three steps apart they are
    assert judge(ratio_interval([0.53] * 20, [0.50] * 20), 0.01).word is Word.FASTER


@pytest.mark.some(6)
@pytest.mark.parametrize("how", [np.round, np.floor])
@pytest.mark.parametrize("noise", [0.0005, 0.002, 0.004, 0.008, 0.02])
@pytest.mark.parametrize("blocks", [8, 30])
def test_the_interval_holds_the_truth_wherever_it_lies_in_its_step(how: np.ufunc, noise: float, blocks: int) -> None:
    random = np.random.default_rng(52)
    hits = 0
    for _ in range(80):
        one, other = random.uniform(0.4, 0.6, 2)
        times = [how(truth * np.exp(random.normal(0, noise, blocks)) / 0.01 + 1e-9) * 0.01 for truth in (one, other)]
        got = ratio_interval(*(list(t) for t in times))
        hits += got.low <= one / other <= got.high
    # 80 at 95%: fewer than 68 would come once in 5000 times
    assert hits >= 68


@pytest.mark.parametrize("tick", [1 / 64, 1 / 60, 1 / 256, 1 / 30])
@pytest.mark.parametrize("base", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("how", [np.round, np.floor])
def test_a_clock_of_few_ticks_says_no_more_than_it_shows(tick: float, base: float, how: np.ufunc) -> None:
    random = np.random.default_rng(54)
    hits = cases = 0
    for gain in (1.0, 1.03, 1.06, 1.1):
        for _ in range(8):
            times = [how(truth * np.exp(random.normal(0, 0.01, 12)) / tick) * tick for truth in (base * gain, base)]
            if min(map(min, times)) > 0:
                got = ratio_interval(*(list(t) for t in times))
                hits, cases = hits + (got.low <= gain <= got.high), cases + 1
    assert hits >= 0.93 * cases


def test_what_is_known_of_the_step_may_be_said() -> None:
    times = [0.5123, 0.5117, 0.5131, 0.5119, 0.5127, 0.5122, 0.5125, 0.5118], [0.5] * 8
    narrow, wide = ratio_interval(*times, step=0), ratio_interval(*times, step=0.05)
    assert wide.low < narrow.low - 0.05 and wide.high > narrow.high + 0.05


def test_the_doubt_falls_with_the_noise() -> None:
    random = np.random.default_rng(53)
    doubts = [rounding_doubt(np.round(random.normal(0.3, s, 200)), 1.0) for s in (0.01, 0.2, 0.3, 0.5, 1.0)]
    assert doubts[0] == 0.5 and all(a > b for a, b in itertools.pairwise(doubts)) and doubts[-1] < 1e-3
    # another mode far off smooths nothing
    assert rounding_doubt([1.0] * 10 + [9.0] * 10, 1.0) == 0.5
    assert rounding_doubt([1.0, 2.0], 0.0) == 0


def test_doubts_are_the_same_everywhere() -> None:
    spread = [rounding_doubt([float(round(s * v)) for v in uneven(60, 1)], 1.0) for s in (0.2, 0.3, 0.5, 0.8)]
    assert spread == pytest.approx([0.17696096, 0.0854843574, 0.00853240201, 0.00038094636], rel=1e-6)
    assert rounding_doubt([1.0, 1.0, 2.0], 1.0) == pytest.approx(0.0646002493)
    assert rounding_doubt([0.5, 0.5, 0.75, 0.75, 0.75, 1.0], 0.25) == pytest.approx(0.00290833626)
    assert rounding_doubt([0.5] * 9, 0.25) == 0.125 and rounding_doubt([0.5] * 9, -1.0) == 0


def test_an_interval_is_widened_by_the_doubt_of_both_centres() -> None:
    fine, coarse = np.array([0.51, 0.52, 0.52]), np.array([0.41, 0.41, 0.42])
    assert widened((1.1, 1.3), fine, coarse, 0.01) == pytest.approx((1.09414322, 1.30366909))
    # a centre of less than half a step may be zero
    least, usual = np.array([0.004] * 3), np.array([0.5] * 3)
    assert widened((1.1, 1.3), usual, least, 0.01) == pytest.approx((0.314285714, np.inf))
    assert widened((1.1, 1.3), least, usual, 0.01) == pytest.approx((0.0, 4.55))


def test_ties_are_spread_evenly_and_alike_over_the_step() -> None:
    one, other = np.array([0.51, 0.52, 0.52, 0.51, 0.53]), np.array([0.41, 0.41, 0.42, 0.41, 0.42])
    spread = [times.tolist() for times in spread_ties(one, other, 0.01)]
    assert spread[0] == pytest.approx([0.507548777, 0.515097553, 0.52264633, 0.510195107, 0.527743883])
    assert spread[1] == pytest.approx([0.405698403, 0.411396806, 0.417095209, 0.412793612, 0.418492015])

    def stay(one: list[float], other: list[float], step: float) -> bool:
        got = spread_ties(np.array(one), np.array(other), step)
        return got[0].tolist() == one and got[1].tolist() == other

    # nothing to spread, no step, a step that is small against the noise or large against the times
    assert stay([1.0] * 5, [2.0] * 5, 0.1) and stay([1.0, 1.1], [1.0, 1.1], 0.0)
    assert stay([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], 0.19) and not stay([1.0, 2.0, 3.0, 4.0], [2.0] * 4, 0.2)
    assert stay([1.0, 1.2, 1.4], [1.0] * 3, 0.11) and not stay([1.0, 1.2, 1.4], [1.0] * 3, 0.1)


def test_what_a_step_needs_to_be_seen() -> None:
    # six values, of which no one is zero, off by no more than a thousandth of the step
    assert infer_step([0.5, 0.51, 0.52], [0.5, 0.51, 0.53]) == 0.01 and infer_step([0.5, 0.51, 0.52], [0.5, 0.51]) == 0
    assert infer_step([0.0, 0.5, 0.51], [0.5, 0.51, 0.53]) == 0
    assert (
        infer_step([0.500009] + [0.5] * 2, [0.51] * 3) == 0.01
        and infer_step([0.500011] + [0.5] * 2, [0.51] * 3) == 1e-6
    )
    # four different values tell that they share more than a decimal
    assert infer_step([0.5, 0.52, 0.54], [0.56, 0.5, 0.5]) == 0.02 and infer_step([0.5, 0.52, 0.54], [0.5] * 3) == 0.01
    # levels at even distances: three of them, no more than three quarters of all, a tenth of the values
    third = 1 / 30
    assert infer_step([1 / 3, 1 / 3 + third, 1 / 3 + 2 * third, 1 / 3]) == pytest.approx(third)
    assert infer_step([1 / 3, 1 / 3 + third, 1 / 3 + third, 1 / 3]) == 0
    assert infer_step([1 / 3, 1 / 3 + third, 1 / 3 + 2 * third, 1 / 3 + 3 * third]) == 0
    assert infer_step([1 / 3, 1 / 3 + third, 1 / 3 + 2.06 * third, 1 / 3]) == 0
    assert infer_step([0.3, 0.3 + third, 0.3 + 2 * third, 0.3]) == 0


def test_a_level_in_between_may_be_missing() -> None:
    third = 1 / 30
    assert infer_step([1 / 3, 1 / 3 + third, 1 / 3 + 3 * third, 1 / 3]) == pytest.approx(third)


def test_what_lies_on_an_end_of_a_widened_interval_is_inside() -> None:
    low, high = widened((1.1, 1.3), np.array([0.51] * 3), np.array([0.41] * 3), 0.0)
    assert low < 1.1 and high > 1.3


@pytest.mark.parametrize(
    ("value", "long"),
    [
        (0.123456789, True),
        (1.23456789, True),
        (123456.78, False),
        (0.0000012, False),
        (0.25, False),
        (12345678.0, False),
    ],
)
def test_many_digits_that_are_mostly_behind_the_point_are_no_printed_time(value: float, long: bool) -> None:
    assert _is_long(value) is long
