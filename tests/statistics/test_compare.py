# SPDX-License-Identifier: BSD-3-Clause
"""Ratios and their intervals, against exact values and in simulated experiments."""

import itertools
import math
import statistics

import numpy as np
import pytest

from nodewise.statistics import compare
from nodewise.statistics.compare import holds, ratio_interval
from nodewise.statistics.sequential import FEWEST_BLOCKS, plan_looks
from nodewise.statistics.verdict import Word, judge
from tests.statistics.series import uneven


def test_the_ratio_of_constant_times_is_exact() -> None:
    got = ratio_interval([3.0] * 8, [2.0] * 8, step=0)
    assert (got.ratio, got.low, got.high) == pytest.approx((1.5, 1.5, 1.5))
    assert got.pairs == 8


def test_the_candidate_that_takes_less_time_has_a_ratio_above_one() -> None:
    assert ratio_interval([2.0, 2.1], [1.0, 1.1]).ratio > 1 > ratio_interval([1.0, 1.1], [2.0, 2.1]).ratio


@pytest.mark.parametrize("pairs", range(1, 9))
def test_the_interval_inverts_the_exact_sign_flip_test(pairs: int) -> None:
    logs = np.array([0.3, -0.11, 0.57, 0.02, 0.9, -0.4, 0.23, 0.71])[:pairs]
    got = ratio_interval(list(np.exp(logs)), [1.0] * pairs)

    signs = np.array([*itertools.product((1, -1), repeat=pairs)])

    def p_value(shift: float) -> float:
        gaps = logs - shift
        z = gaps / (1.4826 * statistics.median(abs(gaps)))
        scores = [v * (1 - (v / 3) ** 2) ** 2 if abs(v) < 3 else 0.0 for v in z]
        return float(np.mean(abs(signs @ scores) >= abs(sum(scores)) - 1e-9))

    inside = [s for s in np.linspace(-1.5, 2, 1401) if p_value(s) > 0.05]
    if pairs < FEWEST_BLOCKS:
        assert (got.low, got.high) == (0.0, math.inf)
    else:
        assert math.log(got.low) == pytest.approx(min(inside), abs=0.006)
        assert math.log(got.high) == pytest.approx(max(inside), abs=0.006)


@pytest.mark.parametrize("pairs", [11, 12])
def test_beyond_the_exact_ones_the_interval_hardly_differs(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    for _ in range(10):
        times = [list(np.exp(0.01 * random.standard_t(3, pairs))) for _ in range(2)]
        near = ratio_interval(*times)
        with monkeypatch.context() as patch:
            patch.setattr(compare, "_EXACT_UP_TO", 12)
            exact = ratio_interval(*times)
        width = math.log(exact.high / exact.low)
        assert math.log(near.low) == pytest.approx(math.log(exact.low), abs=0.15 * width)
        assert math.log(near.high) == pytest.approx(math.log(exact.high), abs=0.15 * width)


def test_single_ratios_are_held_as_by_the_interval() -> None:
    random = np.random.default_rng(7)
    for n in (5, 8, 12, 40):
        times = [list(np.exp(0.01 * random.standard_t(3, n))) for _ in range(2)]
        got = ratio_interval(*times, 0.97)
        tested = [got.low * 0.9999, got.low * 1.0001, got.ratio, got.high * 0.9999, got.high * 1.0001]
        wanted = [True] * 5 if n < 6 else [False, True, True, True, False]
        assert holds(*times, [t or 1.0 for t in tested] if n < 6 else tested, 0.97) == wanted


def test_each_ratio_is_tested_by_itself() -> None:
    # the second has more than half of its gaps equal, as a coarse clock makes them
    gaps = np.array([[0.1, -0.2, 0.3, 0.4, -0.5, 0.6], [0.0, 0.0, 0.0, 0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0, 9.0]])
    together = compare._scores(gaps)
    assert np.array_equal(together, np.concatenate([compare._scores(row[None, :]) for row in gaps]))
    # there the mean takes the place of the median
    assert together[1, 4] == pytest.approx(2 * (1 - (2 / 3.5) ** 2) ** 2)


@pytest.mark.parametrize(("low", "high", "there"), [(0.9, 1.1, True), (0.0, 1.1, False), (0.9, math.inf, False)])
def test_an_interval_has_two_ends(low: float, high: float, there: bool) -> None:
    assert compare.Ratio(1.0, low, high, 6).has_interval is there


def test_whole_numbers_of_any_size_are_compared_as_others_are() -> None:
    few, many = [3, 4, 5, 3, 4, 5, 7, 4], [2, 2, 3, 2, 2, 3, 4, 2]
    assert ratio_interval(few, many) == ratio_interval([float(n) for n in few], [float(n) for n in many])
    large = [[n * 10**20 for n in series] for series in (few, many)]
    assert ratio_interval(*large, step=0).ratio == pytest.approx(ratio_interval(few, many, step=0).ratio)


def test_outliers_do_not_move_the_ratio_far() -> None:
    baseline = [1.5] * 20
    candidate = [1.0] * 17 + [50.0] * 3
    assert ratio_interval(baseline, candidate).ratio == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize("bad", [([], []), ([1.0], [1.0, 2.0]), ([1.0, 0.0], [1.0, 1.0])])
def test_times_that_cannot_be_compared_are_refused(bad: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match=r"pairs|above zero"):
        ratio_interval(*bad)


NOISES = {
    "gaussian": lambda r, n: np.exp(r.normal(0, 0.02, n)),
    "bursts": lambda r, n: np.exp(r.normal(0, 0.01, n)) * (1 + (r.random(n) < 0.1) * r.exponential(0.3, n)),
    "drift": lambda r, n: np.exp(r.normal(0, 0.01, n)) * (1 + 0.2 * np.arange(n) / n),
    "clock ticks": lambda r, n: np.round(np.exp(r.normal(0, 0.01, n)) * 40) / 40,
}


def _experiment(random: np.random.Generator, noise: str, speedup: float, blocks: int) -> Word:
    """One sequential comparison: each block holds both in random order, looks as planned."""
    looks = plan_looks(blocks)
    times = NOISES[noise](random, 2 * blocks).reshape(blocks, 2)
    first = random.random(blocks) < 0.5
    baseline = np.where(first, times[:, 0], times[:, 1]) * speedup
    candidate = np.where(first, times[:, 1], times[:, 0])
    for n in looks.at:
        word = judge(ratio_interval(list(baseline[:n]), list(candidate[:n]), looks.level), 0.01).word
        if word is not Word.UNDECIDED:
            return word
    return Word.UNDECIDED


# 100 experiments at 5%: more than 11 false alarms would come once in 230 times; of 40 more than 6 once in 290
@pytest.mark.some(2)
@pytest.mark.parametrize(("experiments", "most"), [(40, 6), pytest.param(100, 11, marks=pytest.mark.long)])
@pytest.mark.parametrize("noise", NOISES)
def test_two_equal_settings_are_called_different_in_at_most_one_of_twenty(
    noise: str, experiments: int, most: int
) -> None:
    random = np.random.default_rng(11)
    words = [_experiment(random, noise, 1.0, 60) for _ in range(experiments)]
    assert sum(w in (Word.FASTER, Word.SLOWER) for w in words) <= most


def test_a_real_gain_is_found() -> None:
    random = np.random.default_rng(12)
    words = [_experiment(random, "gaussian", 1.03, 60) for _ in range(100)]
    assert sum(w is Word.FASTER for w in words) >= 95


def test_the_sums_of_signs_have_lighter_tails_than_a_normal() -> None:
    # equal gaps: the sum of their signs is binomial, and the fourth moment tells that from a normal sum
    for level in (0.99, 0.999, 0.9999):
        for pairs in (16, 20, 40):
            exact = min(k for k in range(pairs + 1) if two_sided(pairs, k) <= 1 - level)
            for agree in (exact - 2, exact + 2):
                logs = np.where(np.arange(pairs) < agree, 0.01, -0.01) * (1 + 1e-3 * np.arange(pairs) / pairs)
                assert compare._accepted(logs, np.zeros(1), 1 - level)[0] == (agree < exact)


@pytest.mark.parametrize("seed", range(3))
def test_the_correction_of_the_quantile_is_that_of_the_fourth_moment(seed: int) -> None:
    # against all signs of fourteen pairs: with the normal quantile alone ratios at a third of alpha are accepted
    logs = 0.02 + 0.01 * np.random.default_rng(seed).normal(size=14)
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=14)))
    for tested in np.linspace(0, 0.02, 161):
        scores = compare._scores((logs - tested)[None, :])[0]
        share = float(np.mean(np.abs(signs @ scores) >= abs(scores.sum()) - 1e-9))
        if compare._accepted(logs, np.array([tested]), 0.001)[0] != (share > 0.001):
            assert 0.0007 < share < 0.0014


def two_sided(pairs: int, agree: int) -> float:
    """How probable it is that of so many signs as many or more agree."""
    return 2 * sum(math.comb(pairs, k) for k in range(agree, pairs + 1)) / 2**pairs if 2 * agree > pairs else 1.0


def _pair(count: int, gain: float = 1.03, which: int = 0) -> tuple[list[float], list[float]]:
    return [gain * math.exp(0.01 * v) for v in uneven(count, which)], [
        math.exp(0.01 * v) for v in uneven(count, which + 1)
    ]


@pytest.mark.parametrize(
    ("count", "level", "wanted"),
    [
        (6, 0.95, (1.02503071, 0.999656362, 1.06052606)),
        # so few have an interval up to this level, and no higher
        (6, 1 - 2**-5, (1.02503071, 0.999656362, 1.06052606)),
        (6, 0.97, (1.02503071, 0.0, math.inf)),
        (8, 0.99, (1.02657324, 0.999656362, 1.06052606)),
        (10, 0.95, (1.02619048, 1.01330143, 1.04078405)),
        (11, 0.95, (1.0282224, 1.01582101, 1.04027006)),
        (14, 0.99, (1.02844763, 1.01480936, 1.04207242)),
        (40, 0.95, (1.02980474, 1.02378628, 1.03573614)),
    ],
)
def test_it_is_the_same_everywhere(count: int, level: float, wanted: tuple[float, float, float]) -> None:
    got = ratio_interval(*_pair(count), level)
    assert (got.ratio, got.low, got.high) == pytest.approx(wanted, rel=1e-6)
    assert got.pairs == count and got.has_interval is (wanted[1] > 0)


def test_strays_coarse_clocks_and_equal_ratios_move_it_by_what_they_know() -> None:
    one, other = _pair(20)
    one[3], one[7], other[5] = one[3] * 1.5, one[7] * 3, other[5] * 1.2
    got = ratio_interval(one, other)
    assert (got.ratio, got.low, got.high) == pytest.approx((1.02813716, 1.02103901, 1.03468713), rel=1e-6)
    got = ratio_interval(*([round(v, 2) for v in times] for times in _pair(20, which=1)))
    assert (got.ratio, got.low, got.high) == pytest.approx((1.03214782, 1.02353348, 1.04065884), rel=1e-6)
    one, other = _pair(12, which=2)
    got = ratio_interval([1.1] * 7 + one[:5], [1.0] * 7 + other[:5], step=0)
    assert (got.ratio, got.low, got.high) == pytest.approx((1.1, 1.04313673, 1.1), rel=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 3.0, 0.2])
def test_two_strays_far_from_the_others_are_no_end_of_the_interval(ratio: float) -> None:
    bulk = [-0.001, 0.006, 0.001, -0.005, 0.004, 0.013, 0.009, -0.007, -0.013]
    got = ratio_interval([ratio * math.exp(v) for v in [*bulk, 0.2, 0.195]], [1.0] * 11)
    # the test itself accepts ratios between them and the others, up to 1.05, where there is no pair at all
    assert 0.99 < got.low / ratio < 1 < got.high / ratio < 1.01


@pytest.mark.parametrize("pairs", [7, 10, 14, 30])
def test_an_end_is_the_first_place_that_is_not_accepted_alike_on_both_sides(pairs: int) -> None:
    for seed in range(5):
        logs = np.random.default_rng(seed).normal(0.1, 0.05, pairs)
        centre, alpha = compare._centre(logs), 0.05
        high, low = (compare._end(logs, centre, end, alpha) for end in (logs.max() + 1.0, logs.min() - 1.0))
        mirrored = compare._end(-logs, -centre, -logs.min() + 1.0, alpha)
        assert mirrored == pytest.approx(-low, abs=1e-12)
        for end, side in ((high, 1.0), (low, -1.0)):
            # what is looked through once more and once more is at most a 32nd of it each time
            near = abs(end - centre) / 32**2
            assert compare._accepted(logs, np.array([end, end - side * near]), alpha).tolist() == [False, True]
