# SPDX-License-Identifier: BSD-3-Clause
"""Which points a search looks at in one step."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.search.pool import Pool
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


def test_a_cover_keeps_apart_what_may_not_run_together() -> None:
    def allowed(point: Point) -> bool:
        return not (point["a0"] and point["a1"])

    space = _space([2, 2, 2], allowed)
    points = Pool(space, random.Random(1)).cover(space.default, _changes(space), 4, allowed)
    assert len(points) == 4 and all(map(allowed, points))
    assert sorted((n, p[n]) for p in points for n in space.changed(p)) == sorted(_changes(space))


@pytest.mark.parametrize(("ordered", "singles"), [(True, [8, 2]), (False, [8, 4, 2])])
def test_what_is_worth_a_run_of_numbers_are_the_natural_ones(ordered: bool, singles: list[int]) -> None:
    axis = Axis("n", (8, 4, 2, 1), (8, 2), 1, ordered=ordered)
    space = Space((axis,), lambda p: tuple(p.items()))
    assert list(axis.worth) == singles
    assert [p["n"] for p in Pool(space, random.Random(0)).singles(space.default)] == singles
    assert [p["n"] for p in Pool(space, random.Random(0)).singles(Point({"n": 8}))] == [1, *singles[1:]]
