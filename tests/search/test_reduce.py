# SPDX-License-Identifier: BSD-3-Clause
"""What of a setting carries its gain, on searches whose truth is known."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

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


def test_without_room_what_gains_by_itself_is_what_stays() -> None:
    for seed in range(6):
        rng = random.Random(seed)
        search = GuidedSearch(SPACE, 0)
        alone = [SPACE.default.having(**{n: "on"}) for n in "abcd"]
        for _ in range(3):
            block = [ALL_ON, SPACE.default, *alone]
            search.tell({p: (0.7 if p["a"] == "on" else 1.0) * math.exp(rng.gauss(0, 0.01)) for p in block})
        reduction = Reduction(search, SPACE, 0.01, ALL_ON)
        assert not reduction.ask(0)
        assert reduction.point == SPACE.default.having(a="on")


@pytest.mark.parametrize("seed", [4, 21])
def test_without_room_what_two_values_gain_only_together_stays(seed: int) -> None:
    # six axes of four values, each seen a few times in many neighbours: a model of single changes spreads the gain over all of them
    axes = tuple(Axis(f"k{i}", tuple("abcd"), tuple("bcd"), "a") for i in range(6))
    space, rng, left = Space(axes, lambda p: tuple(p.items())), random.Random(seed), 26
    search = GuidedSearch(space, seed)
    while left > 1 and (points := search.ask(left)):
        left -= len(points)
        search.tell(
            {p: (0.67 if (p["k0"], p["k1"]) == ("b", "c") else 1.0) * math.exp(rng.gauss(0, 0.02)) for p in points}
        )
    best = search.ranking[0]
    assert (best["k0"], best["k1"]) == ("b", "c")
    reduction = Reduction(search, space, 0.01, best)
    assert not reduction.ask(0)
    assert (reduction.point["k0"], reduction.point["k1"]) == ("b", "c")


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
    kept, spent, _ = _made_of({"a": 0.9}, noise=0.15, room=20)
    assert (kept, spent) == (set("abcd"), 0)


def test_without_room_what_ran_only_together_stays() -> None:
    assert _made_of({"a": 0.7}, room=0)[:2] == (set("abcd"), 0)


def test_defaults_are_spelled_out_only_where_that_is_a_gain() -> None:
    point = ALL_ON.having(c="off", d="off")
    assert set(Reduction(_searched({"a": 0.7}, True), SPACE, 0.01, point).bare(point)) == {"a", "b"}
    assert set(Reduction(_searched({"a": 0.7}, True, 2.0), SPACE, 0.01, point).bare(point)) == set("abcd")


class Beliefs:
    """A search that believes so much of each axis, in log time with its deviation, and has no more runs; `seen`: every point ran."""

    noise, blocks, reference, seen = 0.01, 7, SPACE.default, True

    def __init__(self, worth: Mapping[str, tuple[float, float]], entangled: str = "", *, fresh: Sequence[float] = ()):
        self._worth, self._entangled, self._fresh = worth, set(entangled), list(fresh)

    def gain(self, point: Point, over: Point) -> tuple[float, float]:
        changed = [self._worth[n] for n in "abcd" if point[n] != over[n]]
        return sum(w for w, _ in changed), math.hypot(*(d for _, d in changed))

    def pairs(self, point: Point, other: Point, since: int) -> list[float]:
        # what ran before says that everything counts
        return self._fresh if since >= self.blocks else [0.3] * 6

    def entangled(self, point: Point) -> set[str]:
        return self._entangled

    def failed(self, point: Point) -> bool:
        return False

    def ran(self, point: Point) -> bool:
        return self.seen


class Unseen(Beliefs):
    """The same, and no point but the one to be reduced ran."""

    seen = False


def _left(beliefs: Beliefs) -> set[str]:
    reduction = Reduction(cast(GuidedSearch, beliefs), SPACE, 0.01, ALL_ON)
    while reduction.ask(0):
        pass
    return {n for n in "abcd" if reduction.point[n] == "on"}


NOTHING = (0.0, 0.01)


def test_what_is_put_back_loses_no_more_than_a_sixth_of_the_gain() -> None:
    assert _left(Beliefs({"a": (0.4, 0.01), "b": (0.15, 0.08), "c": (0.05, 0.05), "d": NOTHING})) == {"a", "b"}
    # nor do all together: each of these alone would be little enough
    each = (0.06, 0.04)
    assert len(_left(Beliefs({"a": (0.42, 0.01), "b": each, "c": each, "d": each}))) == 3


def test_what_may_lose_far_more_is_not_put_back_by_belief() -> None:
    of_a = {"a": (0.6, 0.01), "c": NOTHING, "d": NOTHING}
    assert _left(Beliefs({**of_a, "b": (0.02, 0.05)})) == {"a"}
    assert _left(Beliefs({**of_a, "b": (0.02, 0.2)})) == {"a", "b"}
    # of what never ran it has to be twice as sure
    assert _left(Beliefs({**of_a, "b": (0.02, 0.1)})) == {"a"}
    assert _left(Unseen({**of_a, "b": (0.02, 0.1)})) == {"a", "b"}


def test_what_gains_more_than_its_changes_one_by_one_is_not_reduced_to_what_never_ran() -> None:
    class Together(Unseen):
        def gain(self, point: Point, over: Point) -> tuple[float, float]:
            found, deviation = super().gain(point, over)
            return found + 0.5 * ((point == ALL_ON) - (over == ALL_ON)) * (over == SPACE.default), deviation

    worth = {"a": (0.6, 0.01), "b": NOTHING, "c": NOTHING, "d": NOTHING}
    assert _left(Unseen(worth)) == {"a"}
    assert _left(Together(worth)) == set("abcd")


def test_what_the_point_was_chosen_for_does_not_count_and_fresh_blocks_do() -> None:
    worth = {"a": (0.6, 0.01), "b": NOTHING, "c": NOTHING, "d": NOTHING}
    assert _left(Beliefs(worth)) == {"a"}
    assert _left(Beliefs(worth, fresh=[0.2, 0.21, 0.2, 0.19, 0.2])) == set("abcd")


def test_of_what_only_ran_together_only_fresh_blocks_tell_and_only_where_they_agree() -> None:
    worth = {"a": (0.6, 0.01), "b": NOTHING, "c": NOTHING, "d": NOTHING}
    assert _left(Beliefs(worth, "bcd")) == set("abcd")
    assert _left(Beliefs(worth, "bcd", fresh=[0.001, -0.001, 0.0])) == {"a"}
    assert _left(Beliefs(worth, "bcd", fresh=[0.3, -0.3, 0.0])) == set("abcd")


def test_the_scatter_of_few_fresh_blocks_is_that_of_a_sample() -> None:
    # of two blocks 0.1 apart the deviation is 0.071, not 0.05; these costs lie between what the two would bear
    worth = {"a": (0.6, 0.01), "b": NOTHING, "c": NOTHING, "d": NOTHING}
    reduction = Reduction(cast(GuidedSearch, Beliefs(worth, fresh=[0.1, 0.2])), SPACE, 0.01, ALL_ON)
    assert reduction._cost(("b",)) == pytest.approx((0.15, math.sqrt(0.005) / math.sqrt(2), 2))


def test_it_asks_for_nothing_beyond_its_runs_however_much_is_open() -> None:
    worth = {"a": (0.3, 0.01)} | dict.fromkeys("bcd", (0.03, 0.02))
    open_still = cast(GuidedSearch, Beliefs(worth, fresh=[0.07, -0.03] * 6))
    assert Reduction(open_still, SPACE, 0.01, ALL_ON).ask(20)
    assert not Reduction(open_still, SPACE, 0.01, ALL_ON).ask(-3)


class Silent(Beliefs):
    """One whose runs never come: of each pair that is asked for one had to be left out."""

    def pairs(self, point: Point, other: Point, since: int) -> list[float]:
        return []


def test_what_was_asked_for_twice_and_never_came_is_not_asked_again() -> None:
    doubt = (0.3, 0.2)
    silent = Silent(dict.fromkeys("abcd", doubt), "abcd")
    reduction = Reduction(cast(GuidedSearch, silent), SPACE, 0.01, ALL_ON)
    asked = [frozenset(points) for _ in range(60) if (points := reduction.ask(1000))]
    assert asked and max(asked.count(one) for one in asked) == 2 and not reduction.ask(1000)


@pytest.mark.parametrize(("gain", "spelled"), [((0.05, 0.01), True), ((0.015, 0.01), False), ((0.0, 0.0), False)])
def test_defaults_are_spelled_out_only_where_that_is_surely_a_gain(gain: tuple[float, float], spelled: bool) -> None:
    class AsStarted(Beliefs):
        reference = Point({"a": "as started"})

        def gain(self, point: Point, over: Point) -> tuple[float, float]:
            return gain

    reduction = Reduction(cast(GuidedSearch, AsStarted({})), SPACE, 0.01, ALL_ON)
    assert set(reduction.bare(ALL_ON.having(d="off"))) == set("abcd" if spelled else "abc")


def _only_a(space: Space, fails: Callable[[Point], bool] = lambda _: False) -> tuple[Point, list[Point]]:
    """What is left of all that is on where `a` alone carries the gain, and which points were asked for."""
    search, asked = GuidedSearch(space, 0), list[Point]()
    draw = random.Random(1)

    def outcome(point: Point) -> float | None:
        return None if fails(point) else (0.7 if point["a"] == "on" else 1.0) * math.exp(draw.gauss(0, 0.003))

    seen = [ALL_ON, space.default, *(ALL_ON.having(**{n: "off"}) for n in "abcd")]
    only = ALL_ON.having(b="off", c="off", d="off")
    for _ in range(4):
        search.tell({p: outcome(p) for p in [*seen, *([only] if fails(only) else [])]})
    reduction = Reduction(search, space, 0.01, ALL_ON)
    while points := reduction.ask(80):
        asked += points
        search.tell({p: outcome(p) for p in points})
    return reduction.point, asked


def test_axes_that_may_not_be_put_back_together_are_put_back_by_halves() -> None:
    space = Space(AXES, lambda p: tuple(p.items()), lambda p: not (p["a"] == "on" and p["b"] == p["c"] == "off"))
    left, asked = _only_a(space)
    assert all(map(space.allowed, asked))
    assert left["a"] == "on" and left["d"] == "off" and sorted((left["b"], left["c"])) == ["off", "on"]


def test_axes_without_which_it_failed_together_are_not_put_back_together_again() -> None:
    left, asked = _only_a(SPACE, lambda p: p["a"] == "on" and p["b"] == p["c"] == "off")
    assert ALL_ON.having(b="off", c="off", d="off") not in asked
    assert left["a"] == "on" and left["d"] == "off" and sorted((left["b"], left["c"])) == ["off", "on"]


def test_a_cost_that_is_small_and_sure_counts() -> None:
    worth = {"a": (0.6, 0.01), "b": NOTHING, "c": NOTHING, "d": NOTHING}
    reduction = Reduction(cast(GuidedSearch, Beliefs(worth, fresh=[0.02] * 40)), SPACE, 0.01, ALL_ON)
    assert reduction._counts(("b",), 0.001) is True
    little = Reduction(cast(GuidedSearch, Beliefs(worth, fresh=[0.002] * 40)), SPACE, 0.01, ALL_ON)
    assert little._counts(("b",), 0.001) is None


def test_what_can_be_put_back_one_by_one_is_tried_together_first() -> None:
    class Single(Beliefs):
        def pairs(self, point: Point, other: Point, since: int) -> list[float]:
            changed = [n for n in "abcd" if point[n] != other[n]]
            return [] if len(changed) > 1 else [0.3] * 6 if changed == ["a"] else [0.001, -0.001, 0.0] * 2

    single = Single({"a": (0.6, 0.01), "b": NOTHING, "c": NOTHING, "d": NOTHING}, "bcd")
    reduction = Reduction(cast(GuidedSearch, single), SPACE, 0.01, ALL_ON)
    together = set[frozenset[str]]()
    while reduction.point == ALL_ON and (asked := reduction.ask(100)):
        together |= {frozenset(n for n in "abcd" if p[n] == "off") for p in asked}
    # all three at first, of which nothing came; then two that cost nothing each
    assert frozenset("bcd") in together and any(len(group) == 2 for group in together)
