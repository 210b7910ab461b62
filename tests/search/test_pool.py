# SPDX-License-Identifier: BSD-3-Clause
"""Which points a search looks at in one step."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.search.pool import Pool, in_turn, together
from nodewise.search.space import Axis, Point, Space


def _space(sizes: list[int], allowed: Any = lambda _: True) -> Space:
    axes = [Axis(f"a{i}", tuple(range(n + 1)), tuple(range(n + 1)), 0) for i, n in enumerate(sizes)]
    return Space(tuple(axes), lambda p: tuple(p.items()), allowed)


def _changes(space: Space) -> list[tuple[str, Any]]:
    return [(a.name, v) for a in space.axes for v in a.worth]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 12), st.integers(0, 99))
def test_a_cover_has_each_change_once_and_few_of_them_together(sizes: list[int], spare: int, seed: int) -> None:
    space = _space(sizes)
    rows = max(sizes) + spare
    points = Pool(space, random.Random(seed)).cover(space.default, _changes(space), rows, space.allowed)
    made = [(n, p[n]) for p in points for n in space.changed(p)]
    assert sorted(made) == sorted(_changes(space)) and len(points) <= rows
    together = [len(space.changed(p)) for p in points]
    assert max(together) <= min(together, default=0) + 1 + max(sizes) // rows or max(together) <= 1 + sum(sizes) // rows


def test_of_more_changes_than_fit_the_first_are_taken() -> None:
    space = _space([5, 1])
    points = Pool(space, random.Random(0)).cover(space.default, _changes(space), 2, space.allowed)
    assert sorted((n, p[n]) for p in points for n in space.changed(p)) == [("a0", 1), ("a0", 2), ("a1", 1)]


@pytest.mark.parametrize("seed", range(8))
def test_a_cover_keeps_apart_what_may_not_run_together(seed: int) -> None:
    def allowed(point: Point) -> bool:
        return not (point["a0"] and point["a1"])

    space = _space([2, 2, 2], allowed)
    points = Pool(space, random.Random(seed)).cover(space.default, _changes(space), 4, allowed)
    assert len(points) == 4 and all(map(allowed, points))
    assert sorted((n, p[n]) for p in points for n in space.changed(p)) == sorted(_changes(space))


@pytest.mark.parametrize(("ordered", "singles"), [(True, [8, 2]), (False, [8, 2, 4])])
def test_what_is_worth_a_run_of_numbers_are_the_natural_ones(ordered: bool, singles: list[int]) -> None:
    axis = Axis("n", (8, 4, 2, 1), (8, 2), 1, ordered=ordered)
    space = Space((axis,), lambda p: tuple(p.items()))
    assert list(axis.worth) == singles
    assert [p["n"] for p in Pool(space, random.Random(0)).singles(space.default)] == singles
    assert [p["n"] for p in Pool(space, random.Random(0)).singles(Point({"n": 8}))] == [1, *singles[1:]]


#: Two crossed axes of which the second has a value that is natural and others that are not, and one axis more.
CROSSED = Space(
    (
        Axis("threads", (1, 2, 3, 4), (4, 2, 1), 4, ordered=True, crossed=True),
        Axis("placement", ("close", "spread"), ("close", "spread"), "close", crossed=True),
        Axis("knob", ("off", "on"), ("off", "on"), "off"),
    ),
    lambda p: tuple(p.items()),
)


def test_natural_combinations_have_the_other_axes_of_the_centre() -> None:
    centre = Point({"threads": 3, "placement": "spread", "knob": "on"})
    points = Pool(CROSSED, random.Random(0)).natural(centre)
    assert sorted((p["threads"], p["placement"]) for p in points) == [
        (n, place) for n in (1, 2, 4) for place in ("close", "spread")
    ]
    assert {p["knob"] for p in points} == {"on"}
    assert {p["knob"] for p in Pool(CROSSED, random.Random(0)).natural(centre.having(knob="off"))} == {"off"}


def test_the_best_changes_are_put_together_one_after_the_other() -> None:
    leader = Point({"threads": 4, "placement": "close", "knob": "off"})
    near = [
        leader.having(threads=2),
        leader.having(placement="spread"),
        leader.having(knob="on"),
        leader.having(threads=1),
    ]
    both = leader.having(threads=1, placement="spread")
    # the last is the best, then the third; the second is no better than the leader, and the first is of an axis that is there
    scores = [0.0, -0.2, 0.0, -0.3, -0.5, -0.9]
    assert together(leader, [*near, both], scores) == [
        leader.having(threads=1),
        leader.having(threads=1, knob="on"),
    ]


def test_axes_take_turns() -> None:
    changes = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("c", 1)]
    assert in_turn(changes) == [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("a", 3)]


def test_the_whole_of_a_small_space_is_every_point_and_of_a_large_one_the_first() -> None:
    assert len(list(Pool(CROSSED, random.Random(0)).every())) == 16
    large = _space([9] * 8)
    points = list(Pool(large, random.Random(0)).every())
    assert 1000 < len(points) < 10**6 and points[:2] == [large.default, large.default.having(a7=1)]


def test_half_of_scattered_values_of_ordered_axes_are_natural() -> None:
    axis = Axis("n", tuple(range(1, 101)), (50,), 50, ordered=True)
    space = Space((axis,), lambda p: tuple(p.items()))
    points = Pool(space, random.Random(3)).scattered(Point({"n": 1}), 400)
    assert 160 < sum(p["n"] == 50 for p in points) < 250
    free = Space((Axis("n", tuple(range(1, 101)), (50,), 50),), lambda p: tuple(p.items()))
    assert sum(p["n"] == 50 for p in Pool(free, random.Random(3)).scattered(Point({"n": 1}), 400)) < 20


def test_a_cover_of_fewer_changes_than_rows_is_no_longer_than_they_are() -> None:
    space = _space([2, 2])
    assert len(Pool(space, random.Random(0)).cover(space.default, _changes(space)[:1], 3, space.allowed)) == 1


def test_all_combinations_are_those_of_axes_that_are_neither_crossed_nor_ordered() -> None:
    plain = [Axis(n, ("off", "on"), ("off", "on"), "off") for n in "ab"]
    more = [Axis("c", (1, 2, 3), (1, 2, 3), 1, ordered=True), Axis("d", (1, 2), (1, 2), 1, crossed=True)]
    space = Space((*plain, *more), lambda p: tuple(p.items()))
    pool = Pool(space, random.Random(0))
    found = pool.combined(space.default.having(c=2, d=2), 4)
    assert sorted((p["a"], p["b"]) for p in found) == [("off", "off"), ("off", "on"), ("on", "off"), ("on", "on")]
    assert {(p["c"], p["d"]) for p in found} == {(2, 2)} and not pool.combined(space.default, 3)


@pytest.mark.parametrize("seed", range(8))
def test_a_full_cover_keeps_pairs_apart(seed: int) -> None:
    def allowed(point: Point) -> bool:
        return not any(point[f"a{n}"] and point[f"a{n + 1}"] for n in (0, 2, 4))

    space = _space([1] * 6, allowed)
    points = Pool(space, random.Random(seed)).cover(space.default, _changes(space), 2, allowed)
    assert all(map(allowed, points))
    assert sorted((n, p[n]) for p in points for n in space.changed(p)) == sorted(_changes(space))


def test_of_many_values_without_an_order_some_are_near() -> None:
    axis = Axis("n", tuple(range(40)), tuple(range(40)), 0)
    space = Space((axis,), lambda p: tuple(p.items()))
    pool = Pool(space, random.Random(0))
    first, again = (sorted(p["n"] for p in pool.near([space.default])) for _ in range(2))
    assert 0 not in first and len({*first}) == len(first) == len(again) < 39 and first != again
