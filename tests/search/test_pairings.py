# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of values that ran together, and the points that have many new ones."""

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from nodewise.search.pairings import Pairings
from nodewise.search.space import Axis, Point, Space


def _space(*sizes: int, crossed: int = 0) -> Space:
    axes = [Axis(f"k{i}", tuple(range(n)), tuple(range(n)), 0) for i, n in enumerate(sizes)]
    axes += [Axis(f"c{i}", (1, 2, 4), (4, 2, 1), 4, ordered=True, crossed=True) for i in range(crossed)]
    return Space(tuple(axes), lambda p: tuple(p.items()))


@given(st.lists(st.integers(2, 4), min_size=2, max_size=6), st.integers(0, 1000))
def test_every_pair_runs_in_not_many_more_points_than_the_two_longest_axes_have_pairs(
    sizes: list[int], seed: int
) -> None:
    space = _space(*sizes, crossed=1)
    pairings = Pairings(space, random.Random(seed))
    assert pairings.unseen() == pairings.count == sum(a * b for a, b in itertools.combinations(sizes, 2))
    pairings.see(space.default)
    made = 1
    while (point := pairings.point(space.default, (), lambda _: True)) is not None:
        assert point["c0"] == 4
        before = pairings.unseen()
        pairings.see(point)
        assert pairings.unseen() < before
        made += 1
    assert pairings.unseen() == 0
    one, two = sorted(sizes)[-2:]
    assert made <= 2.5 * one * two + 2


def test_values_that_are_to_be_left_out_are_in_no_point_and_no_count() -> None:
    space = _space(3, 3, 3)
    pairings = Pairings(space, random.Random(1))
    out = [("k0", 2)]
    while (point := pairings.point(space.default, out, lambda _: True)) is not None:
        assert point["k0"] != 2
        pairings.see(point)
    assert pairings.unseen(out) == 0 and pairings.unseen() == 6


def test_what_may_not_run_is_not_proposed() -> None:
    space = _space(2, 2, 2)
    pairings = Pairings(space, random.Random(2))

    def may(point: Point) -> bool:
        return not (point["k0"] == 1 and point["k1"] == 1)

    for _ in range(20):
        point = pairings.point(space.default, (), may)
        if point is None:
            break
        assert may(point)
        pairings.see(point)
    assert pairings.point(space.default, (), lambda _: False) is None


def test_an_axis_alone_has_no_pairs() -> None:
    space = _space(5, crossed=2)
    pairings = Pairings(space, random.Random(0))
    assert pairings.count == 0 and pairings.point(space.default, (), lambda _: True) is None


def test_of_an_axis_of_many_values_the_first_twelve_are_paired() -> None:
    assert Pairings(_space(30, 2), random.Random(0)).count == 12 * 2
    assert Pairings(_space(12, 2), random.Random(0)).count == 12 * 2
