# SPDX-License-Identifier: BSD-3-Clause
"""What of a setting carries its gain, on searches whose truth is known."""

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from nodewise.search.guided import GuidedSearch
from nodewise.search.reduce import Reduction
from nodewise.search.space import Axis, Point, Space

AXES = tuple(Axis(name, ("off", "on"), ("off", "on"), "off") for name in "abcd")
SPACE = Space(AXES, lambda p: tuple(p.items()))
ALL_ON = Point(dict.fromkeys("abcd", "on"))


def _searched(seconds: dict[str, float], apart: bool = False, as_started: float = 1.0) -> GuidedSearch:
    rng = random.Random(0)
    search = GuidedSearch(SPACE, 0, apart=apart)

    def outcome(point: Mapping[str, Any]) -> float:
        if point == search.reference and apart:
            return as_started
        found = math.prod(by for name, by in seconds.items() if point[name] == "on")
        return found * math.exp(rng.gauss(0, 0.005))

    others = [ALL_ON, *(ALL_ON.having(**{name: "off"}) for name in "abcd"), search.reference, SPACE.default]
    for _ in range(6):
        search.tell({p: outcome(p) for p in others})
    return search


def _made_of(
    seconds: dict[str, float], noise: float = 0.01, room: int = 60, **more: Any
) -> tuple[set[str], int, Reduction]:
    """What is left of all four axes where each that is on multiplies the time, the runs that took, and the reduction."""
    return _reduced(lambda on: math.prod(by for name, by in seconds.items() if name in on), noise, room, **more)


def _reduced(
    seconds: Callable[[set[str]], float], noise: float, room: int, failing: str = "", seed: int = 0
) -> tuple[set[str], int, Reduction]:
    rng = random.Random(seed)

    def outcome(point: Point) -> float | None:
        on = {name for name in "abcd" if point[name] == "on"}
        return None if failing and on and failing not in on else seconds(on) * math.exp(rng.gauss(0, noise))

    search = GuidedSearch(SPACE, 0)
    # the four only ever ran together
    for _ in range(3):
        search.tell({p: outcome(p) for p in (ALL_ON, SPACE.default)})
    reduction, before = Reduction(search, SPACE, 0.01, ALL_ON), room
    while points := reduction.ask(room):
        room -= len(points)
        search.tell({p: outcome(p) for p in points})
    assert room >= 0
    return {n for n in "abcd" if reduction.point[n] == "on"}, before - room, reduction


@pytest.mark.parametrize("kept", ["a", "d", "bc", "abcd"])
def test_what_adds_nothing_is_put_back(kept: str) -> None:
    assert _made_of(dict.fromkeys(kept, 0.8))[0] == set(kept)


def test_one_comparison_is_enough_where_all_that_is_in_doubt_adds_nothing() -> None:
    search = _searched({"a": 0.7})
    reduction = Reduction(search, SPACE, 0.01, ALL_ON)
    only_a = ALL_ON.having(b="off", c="off", d="off")
    while points := reduction.ask(20):
        assert points == [ALL_ON, only_a]
        search.tell({ALL_ON: 0.7, only_a: 0.7})
    assert reduction.point == only_a


def test_an_axis_that_counts_only_beside_another_stays() -> None:
    kept, _, _ = _reduced(lambda on: 0.7 if {"a", "d"} <= on else 1.0, 0.01, 80)
    assert kept == {"a", "d"}


def test_of_two_axes_of_which_one_is_enough_one_stays() -> None:
    kept, _, _ = _reduced(lambda on: 0.7 if {"a", "d"} & on else 1.0, 0.01, 80)
    assert kept in ({"a"}, {"d"})


def test_one_axis_stays_where_none_adds_anything() -> None:
    assert len(_made_of({}, noise=0.003)[0]) == 1


def test_an_axis_without_which_the_program_fails_stays() -> None:
    assert _made_of({"a": 0.7}, failing="b")[0] == {"a", "b"}


def test_no_runs_are_spent_where_they_could_not_tell() -> None:
    kept, spent, reduction = _made_of({"a": 0.9}, noise=0.15, room=20)
    assert (kept, spent) == (set("abcd"), 0)
    assert reduction.unknown == set("abcd")


def test_without_room_what_ran_only_together_stays() -> None:
    assert _made_of({"a": 0.7}, room=0)[:2] == (set("abcd"), 0)


def test_defaults_are_spelled_out_only_where_that_is_a_gain() -> None:
    point = ALL_ON.having(c="off", d="off")
    assert set(Reduction(_searched({"a": 0.7}, True), SPACE, 0.01, point).bare(point)) == {"a", "b"}
    assert set(Reduction(_searched({"a": 0.7}, True, 2.0), SPACE, 0.01, point).bare(point)) == set("abcd")
