# SPDX-License-Identifier: BSD-3-Clause
"""Values that lie apart: Student's quantiles against published ones, errors under normal, heavy and skewed noise, and what is always named."""

import math
import random
from collections.abc import Callable

import pytest

from nodewise.statistics.outlying import FEWEST, SURE, Bulk, bulk, student_quantile


@pytest.mark.parametrize(
    ("two_sided", "freedom", "published"),
    # E. S. Pearson, H. O. Hartley, Biometrika Tables for Statisticians I, table 12; the last is the normal distribution's
    [
        (0.05, 1, 12.706),
        (0.05, 2, 4.303),
        (0.01, 5, 4.032),
        (0.001, 10, 4.587),
        (0.05, 30, 2.042),
        (0.001, 120, 3.373),
        (0.05, 1e7, 1.95996),
    ],
)
def test_students_quantiles_are_those_of_the_tables(two_sided: float, freedom: float, published: float) -> None:
    assert student_quantile(two_sided, freedom) == pytest.approx(published, rel=5e-4)


def test_small_probabilities_are_as_far_out_as_they_are() -> None:
    # the normal distribution's tail, by its error function
    bound = student_quantile(1e-7, 1e7)
    assert math.erfc(bound / math.sqrt(2)) == pytest.approx(1e-7, rel=1e-3)
    assert student_quantile(1e-7, 10) > 2 * bound


def _logistic(rng: random.Random) -> float:
    share = rng.random()
    return math.log(share / (1 - share))


def _errors(draw: Callable[[random.Random], float], size: int, groups: int, step: float, tests: int = 0) -> int:
    rng = random.Random(size)
    found = 0
    for _ in range(groups):
        values = [draw(rng) for _ in range(size)]
        most = bulk(values, step, tests or size * groups)
        assert most is not None
        found += sum(most.lies_apart(v, "both") for v in values)
    return found


@pytest.mark.parametrize(
    "draw",
    [
        lambda r: r.gauss(50, 3),
        lambda r: math.log(r.lognormvariate(4, 0.1)),
        _logistic,
        lambda r: float(round(r.gauss(50, 2))),
        lambda r: r.gauss(40, 1) if r.random() < 0.4 else r.gauss(55, 1),
    ],
    ids=["normal", "lognormal", "logistic", "whole degrees", "two humps"],
)
@pytest.mark.parametrize(("size", "groups"), [(4000, 1), (400, 10), (40, 100), (10, 200)])
def test_hardly_anything_sound_is_named(draw: Callable[[random.Random], float], size: int, groups: int) -> None:
    # a sensor's step is known; in small groups of heavy tails a few are named, as what is sure is to be found there, too
    most = 3 if draw is _logistic and size < 200 else 1
    assert _errors(draw, size, groups, 1.0 if draw(random.Random(1)).is_integer() else 1e-9) <= most


@pytest.mark.parametrize(
    "draw",
    [
        lambda r: -r.gammavariate(3, 1),
        lambda r: -r.expovariate(1) + r.gauss(0, 0.8),
        lambda r: -math.log(-math.log(r.random())),
        lambda r: -float(f"{r.gammavariate(3, 1):.1f}"),
    ],
    ids=["gamma", "exponential and normal", "Gumbel", "few distinct values"],
)
@pytest.mark.parametrize(("size", "groups"), [(6000, 10), (1000, 20), (200, 40)])
def test_the_long_side_of_what_is_skewed_is_not_named(
    draw: Callable[[random.Random], float], size: int, groups: int
) -> None:
    assert _errors(draw, size, groups, 0.1) <= max(1, size * groups // 20_000)


def test_each_side_is_measured_by_its_own_spread_and_the_short_one_is_no_blunter_for_that() -> None:
    rng = random.Random(4)
    values = [-rng.gammavariate(2, 1) for _ in range(3000)]
    most = bulk(values, 1e-9, 100_000)
    assert most is not None
    # the median of the distances above 0.67 is that of a normal distribution, below it is not
    middle = sorted(abs(v - most.centre) for v in values)[1500]
    assert most.spread_above == pytest.approx(1.4826 * middle, rel=0.01)
    assert 1.1 * most.spread_above < most.spread_below < 2 * most.spread_above
    # one value in a hundred far out does not widen it
    spoilt = bulk([*values, *[-60.0] * 30], 1e-9, 100_000)
    assert spoilt is not None and spoilt.spread_below < 1.1 * most.spread_below
    assert spoilt.lies_apart(-60.0, "low")


def test_beyond_another_kind_of_nodes_exceptions_are_found_still() -> None:
    rng = random.Random(3)
    values = [rng.gauss(40, 1) if i % 3 == 0 else rng.gauss(55, 1) for i in range(300)]
    most = bulk(values, 1e-9, 10_000)
    assert most is not None and most.high < SURE + 0.1
    assert most.lies_apart(20.0, "low") and not any(most.lies_apart(v, "both") for v in values)
    few = bulk([*values[1::3], *values[2::3], 40.0, 40.0], 1e-9, 10_000)
    assert few is not None and few.lies_apart(40.0, "low")


@pytest.mark.parametrize("size", [20, 50, 1000])
def test_what_is_sure_is_always_named_and_the_side_counts(size: int) -> None:
    rng = random.Random(1)
    values = [rng.gauss(0, 1) for _ in range(size)]
    most = bulk(values, 1e-9, 10**7)
    assert most is not None
    far = most.centre + 1.001 * SURE * most.spread_above
    assert most.lies_apart(far, "high") and most.lies_apart(far, "both") and not most.lies_apart(far, "low")
    near = most.centre - 0.999 * SURE * most.spread_below
    assert not most.lies_apart(near, "low") or most.low < SURE


def test_few_values_say_nothing_and_equal_ones_have_a_step() -> None:
    assert bulk([1.0] * (FEWEST - 1), 1.0, 10) is None
    equal = bulk([256.0] * 100, 2.0, 1000)
    assert equal is not None and equal.spread_below == equal.spread_above == 2.0
    assert not equal.lies_apart(248.0, "low") and equal.lies_apart(240.0, "low")


def test_a_bound_is_wider_where_more_is_tested_and_where_less_is_known() -> None:
    rng = random.Random(2)
    values = [rng.gauss(0, 1) for _ in range(150)]
    few, many = bulk(values, 1e-9, 100), bulk(values, 1e-9, 10**6)
    small = bulk(values[:15], 1e-9, 100)
    assert few and many and small and few.high < many.high and few.high < small.high


def test_tails_are_looked_at_in_groups_of_some_dozens() -> None:
    """Of Student's t with six degrees of freedom: sound groups in which one is named."""
    rng, false = random.Random(7), 0
    for _ in range(200):
        values = [rng.gauss(0, 1) / math.sqrt(rng.gammavariate(3, 2) / 6) for _ in range(80)]
        most = bulk(values, 1e-9, 160)
        assert most is not None
        false += any(most.lies_apart(v, "low") for v in values)
    assert false <= 12


@pytest.mark.parametrize(
    ("draw", "size", "groups", "most"),
    # four or more each, where such tails are not reckoned with
    [
        (_logistic, 30, 200, 1),
        (_logistic, 49, 160, 1),
        (_logistic, 200, 80, 1),
        (_logistic, 2000, 40, 2),
        (lambda r: -math.log(r.expovariate(1)), 49, 160, 3),
    ],
)
def test_of_tails_that_groups_do_not_show_few_sound_ones_are_named(
    draw: Callable[[random.Random], float], size: int, groups: int, most: int
) -> None:
    # each is a check of its own, of eight numbers a node
    assert _errors(draw, size, groups, 1e-9, tests=8 * size) <= most


@pytest.mark.parametrize(
    ("value", "side", "apart", "kind"),
    [
        (-6.0, "both", True, False),
        (-4.0, "both", False, True),
        (-4.0, "high", False, False),
        (-2.0, "low", False, False),
        (6.5, "both", True, False),
        (5.5, "high", False, True),
        (5.5, "low", False, False),
        (4.5, "both", False, False),
    ],
)
def test_another_kind_lies_beyond_the_bound_of_fewer_on_either_side(
    value: float, side: str, apart: bool, kind: bool
) -> None:
    # five spreads below, and six above; were it not one of many that are beyond three and five
    group = Bulk(0.0, 1.0, 1.0, 5.0, 6.0, beyond_low=2.0, beyond_high=1.0)
    assert (group.lies_apart(value, side), group.is_another_kind(value, side)) == (apart, kind)


@pytest.mark.parametrize(
    ("side", "below", "above"), [("low", True, False), ("high", False, True), ("both", True, True)]
)
def test_a_side_is_the_one_that_is_asked_for(side: str, below: bool, above: bool) -> None:
    most = Bulk(10.0, 1.0, 2.0, 5.0, 4.0)
    assert (most.lies_apart(4.9, side), most.lies_apart(18.1, side)) == (below, above)
    assert not any(most.lies_apart(v, side) for v in (5.1, 17.9))
    moved = Bulk(10.0, 1.0, 2.0, 5.0, 4.0, beyond_low=1.0, beyond_high=1.0)
    assert (moved.is_another_kind(5.5, side), moved.is_another_kind(17.0, side)) == (below, above)
