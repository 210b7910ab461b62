# SPDX-License-Identifier: BSD-3-Clause
"""What earlier searches saw leads a search, as long as its own runs do not refute it."""

import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from nodewise.search.guided import GuidedSearch
from nodewise.search.prior import Beliefs, Expectations, Prior, Seen
from nodewise.search.space import AS_STARTED, Axis, Point, Space
from nodewise.search.surrogate import Given, Runs, Surrogate
from nodewise.search.tried import Tried

NAMES = tuple(f"k{i}" for i in range(6))
VALUES = ("unset", "a", "b", "c")
SPACE = Space(tuple(Axis(name, VALUES, VALUES, "unset") for name in NAMES), lambda p: tuple(p.items()))
TRUE = {("k1", "a"): -0.15, ("k3", "c"): -0.1, ("k4", "b"): 0.1}
TURNED = {key: -effect for key, effect in TRUE.items()}
BEST = SPACE.default.having(k1="a", k3="c")


def _log(point: Mapping[str, Any], effects: Mapping[tuple[str, str], float]) -> float:
    return sum(effects.get(one, 0.0) for one in point.items())


def _prior(effects: Mapping[tuple[str, str], float], scale: float = 1.0) -> Prior:
    """What an earlier search saw: each single change, and all that help together."""
    singles = [SPACE.default.having(**{n: v}) for n in NAMES for v in VALUES]
    helps = {name: value for (name, value), effect in effects.items() if effect < 0}
    points = dict.fromkeys([SPACE.default, *singles, SPACE.default.having(**helps)])
    return Prior(tuple(Seen(p, scale * _log(p, effects), 0.01) for p in points), frozenset(NAMES), 0.8)


def _search(runs: int, *earlier: Prior, seed: int = 0) -> tuple[GuidedSearch, list[list[Point]]]:
    search = GuidedSearch(SPACE, seed, earlier=earlier)
    draw = random.Random(seed)
    asked: list[list[Point]] = []
    left = runs
    while points := search.ask(left):
        left -= len(points)
        asked.append(points)
        search.tell({p: math.exp(_log(p, TRUE) + draw.gauss(0, 0.03)) for p in points})
    return search, asked


def test_the_best_and_the_second_best_of_each_earlier_one_are_its_favourites() -> None:
    tried = Tried(SPACE, False)
    best, second, other = (SPACE.default.having(k1=v) for v in "abc")
    both = Prior((Seen(second, -0.1, 0.01), Seen(other, 0.1, 0.01), Seen(best, -0.2, 0.01)), frozenset(NAMES), 0.8)
    # one that is doubted comes later
    two = Prior((Seen(best, -0.3, 0.3), Seen(other, -0.2, 0.01), Seen(second, -0.1, 0.01)), frozenset(NAMES), 0.8)
    assert Expectations([both, two], tried, SPACE.default).favourites == [best, other, second, second]


def test_the_best_that_was_seen_earlier_runs_in_the_first_block_beside_the_baseline() -> None:
    _, asked = _search(60, _prior(TRUE, 0.5))
    assert SPACE.default in asked[0]
    assert BEST in asked[0]


def test_the_best_is_found_with_fewer_runs_than_without() -> None:
    def found(runs: int, *earlier: Prior) -> int:
        leaders = [_search(runs, *earlier, seed=s)[0].ranking[0] for s in range(12)]
        return sum(_log(p, TRUE) <= _log(BEST, TRUE) + 1e-9 for p in leaders)

    assert found(12, _prior(TRUE, 2.0)) >= 11
    assert found(12) <= 8


def test_every_value_has_a_run_of_its_own_all_the_same() -> None:
    search, asked = _search(60, _prior(TRUE))
    assert search.trusts_earlier
    assert not search.untried
    assert sum(map(len, asked)) <= 60


@pytest.mark.parametrize(
    ("runs", "size", "given", "of"), [(4, 4, 1, 4), (12, 4, 3, 7), (60, 5, 5, 9), (90, 7, 7, 11), (400, 15, 20, 33)]
)
def test_what_was_seen_earlier_leaves_fewer_runs_to_natural_points(runs: int, size: int, given: int, of: int) -> None:
    threads = Axis("threads", tuple(range(1, 65)), (64, 32, 16, 8, 1), 64, ordered=True, crossed=True)
    where = Axis("where", ("os", "near", "far"), ("os", "near", "far"), "os", crossed=True)
    space = Space((threads, where, *SPACE.axes), lambda p: tuple(p.items()))
    seen = [space.default.having(threads=n, k1=k) for n in (3, 5, 7) for k in VALUES]
    prior = Prior(tuple(Seen(p, 0.1 * i, 0.01) for i, p in enumerate(seen)), frozenset(a.name for a in space.axes), 0.8)
    assert len(GuidedSearch(space, earlier=[prior]).ask(runs)) == size
    start = [space.default.having(threads=n) for n in range(40, 60)]
    first = GuidedSearch(space, start=start, earlier=[prior]).ask(runs)
    assert len(first) == of and sum(p in start for p in first) == given


def test_whether_earlier_searches_lead_is_known_at_once() -> None:
    for effects, trusted in ((TRUE, True), (TURNED, False)):
        search = GuidedSearch(SPACE, earlier=[_prior(effects)])
        assert search.trusts_earlier
        points = [SPACE.default.having(**{n: v}) for n in NAMES for v in VALUES]
        search.tell({p: math.exp(_log(p, TRUE)) for p in points})
        assert search.trusts_earlier is trusted
        search = GuidedSearch(SPACE, earlier=[_prior(effects)])
        search.tell({p: math.exp(_log(p, TRUE)) for p in points})
        assert search.refutes_earlier is not trusted


def test_what_misleads_is_refuted_and_the_best_is_found() -> None:
    for seed in range(4):
        search, _ = _search(90, _prior(TURNED), seed=seed)
        assert not search.trusts_earlier
        assert search.refutes_earlier
        assert _log(search.ranking[0], TRUE) <= -0.15


def test_without_anything_earlier_nothing_is_trusted_or_refuted() -> None:
    search, asked = _search(40)
    assert not search.trusts_earlier
    assert not search.refutes_earlier
    # a single point says nothing of what differs
    alone = Prior((Seen(SPACE.default, 0.0, 0.01),), frozenset(NAMES), 0.9)
    assert _search(40, alone)[1] == asked


def test_axes_that_an_earlier_search_did_not_have_are_as_they_were_there() -> None:
    narrow = Prior(_prior(TRUE).seen, frozenset(("k1", "k3")), 0.8)
    search, _ = _search(30, narrow)
    expected = search._expected
    assert expected.of(BEST) == expected.of(BEST.having(k4="b", k0="a"))
    assert expected.of(BEST)[0] < expected.of(SPACE.default)[0]


def _runs(logs: list[float]) -> Runs:
    n = len(logs)
    return Runs(np.arange(n), np.zeros(n, dtype=np.int64), np.array(logs), np.zeros(n, dtype=bool))


def test_what_is_given_is_followed_where_nothing_ran_and_scaled_by_what_did() -> None:
    rows = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.3]])
    given = Given(np.array([0.8]), np.array([0.4]), 0.3)
    model = Surrogate([0], given)
    # effects are twice what is given
    model.fit(rows, _runs([0.0, 0.2, 0.6]))
    mean, _ = model.guess(np.array([[3.0, 0.2], [3.0, 0.3]]), np.array([-1, -1]))
    assert mean[1] - mean[0] > 0.1
    none = Surrogate([0])
    none.fit(rows[:, :1], _runs([0.0, 0.2, 0.6]))
    assert model.evidence(none) > none.evidence(none)


def test_beliefs_change_sides_with_what_the_runs_say() -> None:
    rows = np.array([[float(i % 5), float(i % 3), 0.15 * (i % 2)] for i in range(12)])
    given = Given(np.array([0.9]), np.array([0.35]), 0.3)
    for sign, trusted in ((1, True), (-1, False)):
        beliefs = Beliefs([0, 1], given)
        beliefs.fit(rows, _runs([sign * row[2] for row in rows]))
        assert beliefs.trusted is trusted
        mean, covariance = beliefs.predict(rows, np.arange(12))
        assert mean.shape == (12,)
        assert covariance.shape == (12, 12)


def test_of_several_earlier_searches_each_is_given_its_share() -> None:
    one, other = _prior(TRUE), Prior(_prior(TURNED).seen, frozenset(NAMES), 0.4)
    alone = Expectations([one], Tried(SPACE, False), SPACE.default).given
    assert alone.coefficients == pytest.approx([0.8]) and alone.deviations == pytest.approx([0.35])
    assert alone.left == pytest.approx(0.3)
    both = Expectations([one, other], Tried(SPACE, False), SPACE.default).given
    # shares of the sum, each less sure the more there are; the most alike one leaves the least to explain
    assert both.coefficients == pytest.approx([0.64 / 1.2, 0.16 / 1.2])
    assert both.deviations == pytest.approx([0.35 / math.sqrt(2)] * 2) and both.left == pytest.approx(0.3)
    hardly = Expectations([other, Prior(one.seen, one.axes, 0.2)], Tried(SPACE, False), SPACE.default).given
    assert hardly.left == pytest.approx(0.6)
    assert not Expectations([Prior(one.seen[:1], one.axes, 0.8)], Tried(SPACE, False), SPACE.default)


def test_without_what_is_given_the_features_alone_are_fitted() -> None:
    rows = np.array([[float(i % 5), float(i % 3), 0.15 * (i % 2)] for i in range(12)])
    logs = [0.02 * row[0] for row in rows]
    beliefs, plain = Beliefs([0, 1], Given(np.array([0.9]), np.array([0.35]), 0.3)), Surrogate([0, 1])
    beliefs.fit(rows, _runs(logs))
    plain.fit(rows[:, :2], _runs(logs))
    assert beliefs._without.predict(rows[:, :2], np.arange(12))[0] == pytest.approx(
        plain.predict(rows[:, :2], np.arange(12))[0]
    )


def test_a_point_is_the_odder_the_more_values_it_has_that_are_not_usual() -> None:
    axis = Axis("n", (1, 2, 3), (1, 2), 1)
    space = Space((axis, Axis("k", ("", "x"), ("", "x"), "")), lambda p: tuple(p.items()))
    for apart, more in ((False, 0), (True, 1)):
        tried = Tried(space, apart)
        oddities = [tried.oddity(Point({"n": n, "k": k})) for n, k in ((1, ""), (1, "x"), (2, "x"), (3, ""))]
        # where the program as it is stands apart, spelling its defaults out is odd by itself
        assert oddities == [more + odd for odd in (0, 1, 2, 3)]
    assert Tried(space, True).oddity(Point({"n": 1, "k": "", AS_STARTED: True})) == 0
