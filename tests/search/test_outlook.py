# SPDX-License-Identifier: BSD-3-Clause
"""What is expected of points, by a model whose belief is known."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from nodewise.search.failures import Failures
from nodewise.search.outlook import Outlook
from nodewise.search.pool import Pool
from nodewise.search.space import Axis, Point, Space
from nodewise.search.surrogate import Array, Surrogate
from nodewise.search.tried import Run, Tried

SPACE = Space(tuple(Axis(n, ("off", "on"), ("off", "on"), "off") for n in "abcd"), lambda p: tuple(p.items()))
DEFAULT = SPACE.default


class Additive:
    """A model that knows what each axis costs in log time, with no doubt but where it is said."""

    def __init__(self, outlook_points: list[Sequence[Point]], costs: Mapping[str, float], doubt: float = 0.0):
        self._points, self._costs, self._doubt = outlook_points, costs, doubt

    def guess(self, rows: Array, known: Any) -> tuple[Array, Array]:
        del known
        mean = np.array([sum(self._costs.get(n, 0.0) for n in p if p[n] == "on") for p in self._points[-1]])
        assert len(mean) == len(rows)
        return mean, np.full(len(mean), self._doubt)


def _outlook(
    costs: Mapping[str, float], ran: Sequence[Point] = (), failed: Sequence[Point] = (), doubt: float = 0.0
) -> Outlook:
    tried, failures = Tried(SPACE, False), Failures(DEFAULT)
    asked: list[Sequence[Point]] = []
    for p in (DEFAULT, *ran):
        tried.add(p, Run(0, 0.0, False))
    for p in failed:
        failures.tell(tried.key(p), p, tried.row(p), True, False)

    class Watched(Outlook):
        def at(self, points: Sequence[Point]) -> Any:
            asked.append(points)
            return super().at(points)

    model = cast(Surrogate, Additive(asked, costs, doubt))
    return Watched(SPACE, Pool(SPACE, random.Random(0)), tried, failures, model, DEFAULT)


def _on(names: str) -> Point:
    return DEFAULT.having(**dict.fromkeys(names, "on"))


def test_single_changes_that_are_good_are_hoped_for_together() -> None:
    outlook = _outlook({"a": -0.1, "b": -0.2, "c": 0.1}, [_on(n) for n in "abcd"])
    assert outlook.hoped(DEFAULT, 5, 0.0) == [_on("ab")]
    assert outlook.hoped(DEFAULT, 5, 0.29) == [_on("ab")] and not outlook.hoped(DEFAULT, 5, 0.31)
    assert not outlook.hoped(DEFAULT, 0, 0.0)


def test_what_ran_or_failed_is_hoped_for_no_more() -> None:
    costs = {"a": -0.1, "b": -0.2}
    assert not _outlook(costs, [*map(_on, "abcd"), _on("ab")]).hoped(DEFAULT, 5, 0.0)
    assert _outlook(costs, [*map(_on, "abcd")]).hoped(DEFAULT, 5, 0.0) == [_on("ab")]
    assert not _outlook(costs, [*map(_on, "abcd")], [_on("ab")]).hoped(DEFAULT, 5, 0.0)


def test_a_value_is_hopeless_where_it_is_much_slower_and_surely_so_only_without_doubt() -> None:
    assert _outlook({"a": 0.5, "b": 0.3}).hopeless_values(DEFAULT) == {("a", "on"), ("b", "on")}
    assert _outlook({"a": 0.5, "b": 0.3}).hopeless_values(DEFAULT, surely=True) == {("a", "on")}
    assert not _outlook({"a": 0.5, "b": 0.3}, doubt=0.1).hopeless_values(DEFAULT, surely=True)
    assert _outlook({"a": 0.5}, failed=[_on("b")]).hopeless_values(DEFAULT) == {("a", "on"), ("b", "on")}


def test_slow_points_take_more_than_a_run_and_fast_ones_no_less_than_one() -> None:
    outlook = _outlook({"a": math.log(3.0), "b": -1.0})
    assert outlook.taken_by([_on("a"), _on("b")], [DEFAULT]) == 4.0
    assert outlook.taken_by([], [DEFAULT]) == 0.0


def test_the_leader_is_stripped_to_the_changes_that_are_worth_the_most() -> None:
    outlook = _outlook({"a": -0.1, "b": -0.3, "c": -0.2, "d": 0.0})
    assert outlook.stripped(_on("abcd")) == [_on("b"), _on("bc")]
    assert not outlook.stripped(_on("ab"))
