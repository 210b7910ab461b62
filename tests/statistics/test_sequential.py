# SPDX-License-Identifier: BSD-3-Clause
"""When one looks, and at which levels, against simulated sums and exact chances."""

import itertools

import numpy as np
import pytest

from nodewise.statistics import sequential
from nodewise.statistics.sequential import FEWEST_BLOCKS, Looks, OpenLooks, plan_looks


def ever_outside(at: list[int], levels: list[float], experiments: int) -> float:
    """In which share of experiments a standardised sum of normal steps is significant at any of the looks."""
    from statistics import NormalDist

    random = np.random.default_rng(41)
    sums = random.normal(size=(experiments, at[-1])).cumsum(axis=1)[:, np.array(at) - 1]
    cuts = np.array([NormalDist().inv_cdf((1 + level) / 2) for level in levels]) * np.sqrt(at)
    return float((np.abs(sums) > cuts).any(axis=1).mean())


@pytest.mark.parametrize("comparisons", [1, 3])
def test_all_looks_together_spend_what_is_not_held_back(comparisons: int) -> None:
    looks = OpenLooks(0.05, comparisons)
    at = [n for n in range(1, 400) if looks.due(n)]
    spent = ever_outside(at, [looks.level(n) for n in at], 20_000)
    # 85% of alpha in the end, of which n looks leave fewest / n
    assert spent == pytest.approx(0.0425 / comparisons, rel=0.12)


@pytest.mark.parametrize("most", [12, 60])
def test_planned_looks_together_spend_what_is_not_held_back(most: int) -> None:
    looks = plan_looks(most)
    assert looks.at[-1] == most and looks.at[0] >= FEWEST_BLOCKS
    assert ever_outside(list(looks.at), [looks.level] * len(looks.at), 20_000) == pytest.approx(0.0425, abs=0.004)
    # each has an interval
    assert 2.0 ** (1 - looks.at[0]) <= 1 - looks.level


def test_one_look_spends_all() -> None:
    assert plan_looks(6) == Looks((6,)) and Looks((6,)).level == 0.95
    with pytest.raises(ValueError, match="6 blocks are the fewest"):
        plan_looks(5)


def test_nobody_looks_before_equal_signs_are_rare_enough() -> None:
    assert [OpenLooks(0.05, c).fewest for c in (1, 3, 10)] == [7, 9, 11]
    for comparisons in (1, 2, 3, 10, 45, 1000):
        looks = OpenLooks(0.05, comparisons)
        n = looks.fewest
        assert not looks.due(n - 1) and looks.level(n - 1) == 1 and looks.due(n)
        # the first look has an interval, and no look a lower level than the one that they share
        assert 2.0 ** (1 - n) <= 1 - looks.level(n) + 1e-13
        assert all(1 - looks.level(look) < 0.05 / comparisons for look in (n, n + 1, 2 * n, 50 * n))


def test_looks_grow_rarer_and_one_between_two_is_the_next_one() -> None:
    looks = OpenLooks()
    due = [n for n in range(1, 200) if looks.due(n)]
    assert due[:34] == list(range(7, 41)) and due[34:38] == [44, 49, 54, 60]
    assert looks.level(46) == looks.level(49) > looks.level(44)
    assert all(looks.level(a) < looks.level(b) for a, b in itertools.pairwise(due) if b <= 40)


@pytest.mark.parametrize(
    ("alpha", "comparisons", "fewest", "chances"),
    [
        (0.05, 1, 7, {7: 1 / 64, 8: 0.0113465346, 20: 0.00425012602, 40: 0.00179025706, 100: 0.000891185321}),
        (0.05, 3, 9, {9: 1 / 256, 10: 0.00310989813, 41: 0.000831791605, 44: 0.000831791605, 1000: 2.62152724e-05}),
        (0.2, 2, 6, {6: 1 / 32, 7: 0.0246565412, 60: 0.00319081434}),
    ],
)
def test_levels_are_the_same_everywhere(alpha: float, comparisons: int, fewest: int, chances: dict[int, float]) -> None:
    looks = OpenLooks(alpha, comparisons)
    assert looks.fewest == fewest
    assert {n: 1 - looks.level(n) for n in chances} == pytest.approx(chances, rel=1e-5)


@pytest.mark.parametrize(
    ("most", "alpha", "at", "chance"),
    [
        (7, 0.05, (7,), 0.05),
        (12, 0.05, (7, 9, 12), 0.0217895508),
        (40, 0.05, (9, 12, 16, 20, 25, 32, 40), 0.0115722656),
        (40, 0.01, (12, 16, 20, 25, 32, 40), 0.00234130859),
    ],
)
def test_planned_looks_are_the_same_everywhere(most: int, alpha: float, at: tuple[int, ...], chance: float) -> None:
    looks = plan_looks(most, alpha)
    assert (looks.at, looks.alpha) == (at, alpha) and 1 - looks.level == pytest.approx(chance)


def test_a_look_before_the_end_is_none_at_the_end_or_after_it() -> None:
    assert plan_looks(20, before_end=20) == plan_looks(20, before_end=25) == plan_looks(20)
    assert plan_looks(20, before_end=19).at[-2:] == (19, 20)


@pytest.mark.parametrize(("alpha", "most"), [(a, n) for a in (0.05, 0.01, 0.001) for n in (6, 8, 11, 15, 24, 40, 97)])
def test_no_look_is_without_an_interval_and_none_with_one_is_given_up(alpha: float, most: int) -> None:
    looks = plan_looks(most, alpha)
    at = [most]
    while (earlier := int(at[0] / sequential._PLANNED_GROWTH)) >= FEWEST_BLOCKS:
        at.insert(0, earlier)
    kept = len(looks.at)
    assert looks.at == tuple(at[-kept:])
    for first in range(len(at) - kept):
        # with one of them more, all signs equal would be too probable at it
        assert 2.0 ** (1 - at[first]) > sequential._common_chance(tuple(at[first:]), alpha)
    assert kept == 1 or 2.0 ** (1 - looks.at[0]) <= sequential._common_chance(looks.at, alpha)


@pytest.mark.parametrize("comparisons", [1, 10])
def test_the_following_look_is_the_next_that_is_due(comparisons: int) -> None:
    looks = OpenLooks(0.05, comparisons)
    for blocks in range(120):
        assert looks.following(blocks) == next(n for n in itertools.count(blocks + 1) if looks.due(n))
