# SPDX-License-Identifier: BSD-3-Clause
"""Coarse clocks and printed numbers: their step is seen, and the interval holds the truth wherever it lies in its step."""

import itertools

import numpy as np
import pytest

from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.steps import infer_step, rounding_doubt
from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.verdict import Word, judge


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


def test_equal_programs_that_print_two_decimals_are_not_told_apart() -> None:
    got = ratio_interval([0.51] * 20, [0.50] * 20)
    assert got.low < 1.0 < got.high < 1.05
    assert judge(got, 0.01).word is Word.UNDECIDED
    got = unpaired_interval([0.51] * 20, [0.50] * 20)
    assert got.low < 1.0 < got.high < 1.05
    # three steps apart they are
    assert judge(ratio_interval([0.53] * 20, [0.50] * 20), 0.01).word is Word.FASTER


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
    # 80 at 95 %: fewer than 68 would come once in 5000 times
    assert hits >= 68


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
