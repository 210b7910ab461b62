# SPDX-License-Identifier: BSD-3-Clause
"""Points and spaces."""

import pytest

from nodewise.search.space import Axis, Point, Space

A = Axis("a", (1, 2, 3), (3, 1), 2, ordered=True, crossed=True)
B = Axis("b", ("x", "y"), ("x", "y"), "x")
ONLY = Axis("only", (7,), (7,), 7, crossed=True)


def test_points_are_values_and_hashable() -> None:
    assert Point({"a": 1}) == Point({"a": 1}) != Point({"a": 2})
    assert {Point({"a": 1}): "found"}[Point({"a": 1})] == "found"
    assert Point({"a": 1, "b": "x"}).having(a=3) == Point({"a": 3, "b": "x"})
    assert repr(Point({"a": 1, "b": "x"})) == "a=1 b=x"


def test_an_axis_without_choice_is_in_no_point() -> None:
    space = Space((A, B, ONLY), tuple)
    assert space.open == (A, B)
    assert space.default == Point({"a": 2, "b": "x"})


def test_crossed_points_hold_the_others_at_their_default() -> None:
    space = Space((A, B, ONLY), lambda p: tuple(p.items()))
    assert space.crossed() == [Point({"a": 3, "b": "x"}), Point({"a": 1, "b": "x"})]
    assert space.size == 6


def test_points_of_equal_identity_are_one() -> None:
    space = Space((A,), lambda p: p["a"] % 2)
    points = [Point({"a": n}) for n in (1, 2, 3)]
    assert space.distinct(points) == points[:2]
    assert space.distinct(points, known=[Point({"a": 5})]) == [points[1]]


def test_a_space_in_which_only_the_default_may_run_has_no_choice() -> None:
    assert Space((A, B), lambda p: tuple(p.items())).has_choice
    assert not Space((A, B), lambda p: tuple(p.items()), allowed=lambda p: p["a"] == 2 and p["b"] == "x").has_choice
    assert Space((A, B), lambda p: tuple(p.items()), allowed=lambda p: p["b"] == "y").has_choice
    # all that may run is the default under another name
    assert not Space((A,), lambda p: p["a"] % 2, allowed=lambda p: p["a"] == 2).has_choice
    assert not Space((A, B), lambda p: p["a"], allowed=lambda p: p["a"] == 2).has_choice


def test_a_space_too_large_to_go_through_is_taken_to_have_a_choice() -> None:
    many = tuple(Axis(name, tuple(range(10)), (0,), 0) for name in "abcdefgh")
    assert Space(many, lambda p: tuple(p.items()), allowed=lambda p: False).has_choice


def test_an_axis_is_found_by_its_name() -> None:
    axes = tuple(Axis(name, (0, 1), (0,), 0) for name in "ab")
    space = Space(axes, lambda p: tuple(p.items()))
    assert space.axis("b") is axes[1]
    with pytest.raises(KeyError):
        space.axis("c")
