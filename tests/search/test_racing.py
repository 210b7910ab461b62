# SPDX-License-Identifier: BSD-3-Clause
"""The racing search on surfaces whose truth is known."""

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from nodewise.search.racing import RacingSearch
from nodewise.search.space import Axis, Point, Space

THREADS = Axis("threads", tuple(range(1, 65)), (64, 32, 16, 8, 1), 64, ordered=True, crossed=True)
PLACEMENT = Axis("placement", ("os", "compact", "scatter"), ("scatter", "os", "compact"), "os", crossed=True)
PAGES = Axis("hugepages", ("default", "transparent"), ("default", "transparent"), "default")
SPACE = Space((THREADS, PLACEMENT, PAGES), lambda p: tuple(p.items()))


def _surface(best: int, pages: float) -> Callable[[Mapping[str, Any]], float]:
    def seconds(point: Mapping[str, Any]) -> float:
        shape = 1 + 0.3 * abs(math.log(point["threads"] / best))
        where = {"os": 1.1, "compact": 1.2, "scatter": 1.0}[point["placement"]]
        return shape * where * (pages if point["hugepages"] == "transparent" else 1.0)

    return seconds


def _search(
    seconds: Callable[[Mapping[str, Any]], float], seed: int, runs: int, noise: float = 0.01
) -> tuple[Point, int]:
    rng = random.Random(seed)
    search = RacingSearch(SPACE)
    spent = 0
    while points := search.ask(runs - spent):
        spent += len(points)
        search.tell(
            {p: seconds(p) * math.exp(rng.gauss(0, noise)) * (1.4 if rng.random() < 0.05 else 1) for p in points}
        )
    return search.ranking[0], spent


def test_a_natural_optimum_is_found_every_time() -> None:
    for seed in range(20):
        best, spent = _search(_surface(16, 0.8), seed, 300)
        assert dict(best) == {"threads": 16, "placement": "scatter", "hugepages": "transparent"}
        assert spent <= 300


def test_an_optimum_between_the_natural_values_is_approached() -> None:
    for seed in range(20):
        best, _ = _search(_surface(23, 1.0), seed, 400)
        assert 19 <= best["threads"] <= 28
        assert best["placement"] == "scatter"


def test_an_axis_that_does_nothing_keeps_its_default() -> None:
    changed = sum(_search(_surface(16, 1.0), seed, 300)[0]["hugepages"] != "default" for seed in range(40))
    assert changed <= 8


def test_the_budget_is_kept() -> None:
    for runs in (3, 10, 25, 60):
        assert _search(_surface(16, 0.8), 1, runs)[1] <= runs


def test_a_point_that_fails_never_wins() -> None:
    search = RacingSearch(SPACE)
    seconds = _surface(16, 1.0)
    while points := search.ask(200):
        search.tell({p: None if p["threads"] == 16 else seconds(p) for p in points})
    assert search.ranking
    assert all(p["threads"] != 16 for p in search.ranking)


def test_where_everything_fails_there_is_no_ranking() -> None:
    search = RacingSearch(SPACE)
    while points := search.ask(200):
        search.tell(dict.fromkeys(points))
    assert search.ranking == []


def test_points_of_one_identity_race_once() -> None:
    same = Space((THREADS, PLACEMENT), lambda p: p["threads"])
    assert len(RacingSearch(same).ask(1000)) == len(THREADS.natural)
