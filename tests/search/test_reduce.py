# SPDX-License-Identifier: BSD-3-Clause
"""What of a setting carries its gain, on searches whose truth is known."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from nodewise.search.guided import GuidedSearch
from nodewise.search.reduce import Reduction
from nodewise.search.space import Axis, Point, Space

AXES = tuple(Axis(name, ("off", "on"), ("off", "on"), "off") for name in "abcd")
SPACE = Space(AXES, lambda p: tuple(p.items()))
ALL_ON = Point(dict.fromkeys("abcd", "on"))


def _searched(
    seconds: dict[str, float], failing: str = "", apart: bool = False, as_started: float = 1.0
) -> GuidedSearch:
    rng = random.Random(0)
    search = GuidedSearch(SPACE, 0, apart=apart)

    def outcome(point: Mapping[str, Any]) -> float | None:
        if point == search.reference and apart:
            return as_started
        if failing and point[failing] == "off" and point != SPACE.default:
            return None
        found = math.prod(by for name, by in seconds.items() if point[name] == "on")
        return found * math.exp(rng.gauss(0, 0.005))

    others = [ALL_ON, *(ALL_ON.having(**{name: "off"}) for name in "abcd"), search.reference, SPACE.default]
    for _ in range(6):
        search.tell({p: outcome(p) for p in others})
    return search


def test_axes_that_add_nothing_are_put_back() -> None:
    reduced = Reduction(_searched({"a": 0.7, "c": 0.9}), SPACE, 0.01).of(ALL_ON)
    assert dict(reduced) == {"a": "on", "b": "off", "c": "on", "d": "off"}


def test_one_axis_stays_where_none_adds_anything() -> None:
    reduced = Reduction(_searched({}), SPACE, 0.01).of(ALL_ON)
    assert list(reduced.values()).count("on") == 1


def test_an_axis_without_which_the_program_fails_stays() -> None:
    reduced = Reduction(_searched({"a": 0.7}, failing="b"), SPACE, 0.01).of(ALL_ON)
    assert reduced["a"] == reduced["b"] == "on"


def test_defaults_are_spelled_out_only_where_that_is_a_gain() -> None:
    point = ALL_ON.having(c="off", d="off")
    assert set(Reduction(_searched({"a": 0.7}, apart=True), SPACE, 0.01).bare(point)) == {"a", "b"}
    assert set(Reduction(_searched({"a": 0.7}, apart=True, as_started=2.0), SPACE, 0.01).bare(point)) == set("abcd")


def test_what_is_known_well_needs_no_further_runs() -> None:
    search = _searched({"a": 0.7, "b": 0.7, "c": 0.7, "d": 0.7})
    assert Reduction(search, SPACE, 0.01).arms(ALL_ON) == []


class _Believing:
    """A search that holds each axis worth so much log time, each with the same deviation."""

    reference = SPACE.default

    def __init__(self, worth: Mapping[str, float], deviation: float, entangled: Sequence[str] = ()):
        self._worth, self._deviation, self._entangled = worth, deviation, set(entangled)

    def gain(self, point: Point, over: Point) -> tuple[float, float]:
        """What `over` lacks of `point`."""
        return sum(self._worth[n] for n in self._worth if point[n] == "on" != over[n]), self._deviation

    def failed(self, point: Point) -> bool:
        """Nothing fails."""
        return False

    def entangled(self, point: Point) -> set[str]:
        """Those given that the point still has."""
        return {n for n in self._entangled if point[n] == "on"}


def _kept(worth: Mapping[str, float], deviation: float) -> set[str]:
    reduced = Reduction(_Believing(worth, deviation), SPACE, 0.01).of(ALL_ON)  # type: ignore[arg-type]
    return {name for name, value in reduced.items() if value == "on"}


def test_what_is_not_sure_is_put_back_up_to_a_sixth_of_the_gain() -> None:
    # of a gain of 0.3 there are 0.05 to give up: b alone, not c with it
    worth = {"a": 0.235, "b": 0.03, "c": 0.035, "d": 0.0}
    assert _kept(worth, 0.04) == {"a", "c"}
    # what is sure stays, small as it is
    assert _kept(worth, 0.01) == {"a", "b", "c"}


def test_what_ran_only_together_stays_together_until_it_was_seen_apart() -> None:
    search = _Believing({"a": 0.3, "b": 0.0, "c": 0.0, "d": 0.3}, 0.001, "ab")
    reduction = Reduction(search, SPACE, 0.01)  # type: ignore[arg-type]
    assert {n for n, v in reduction.of(ALL_ON).items() if v == "on"} == {"a", "b", "d"}
    assert {n for arm in reduction.arms(ALL_ON) for n, v in arm.items() if v == "off"} == {"a", "b"}


@pytest.mark.parametrize(("crossed", "kept"), [(False, {"a"}), (True, {"a", "b"})])
def test_threads_that_are_expected_to_count_are_not_given_up(crossed: bool, kept: set[str]) -> None:
    axes = tuple(Axis(n, ("off", "on"), ("off", "on"), "off", crossed=crossed) for n in "ab")
    space = Space(axes, lambda p: tuple(p.items()))
    search = _Believing({"a": 0.5, "b": 0.03}, 0.02)
    reduced = Reduction(search, space, 0.01).of(space.default.having(a="on", b="on"))  # type: ignore[arg-type]
    assert {n for n, v in reduced.items() if v == "on"} == kept
    # less than what counts as none is not worth a longer line
    little = Reduction(_Believing({"a": 0.5, "b": 0.009}, 0.005), space, 0.01)  # type: ignore[arg-type]
    assert little.of(space.default.having(a="on", b="on"))["b"] == "off"
