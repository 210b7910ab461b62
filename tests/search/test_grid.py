# SPDX-License-Identifier: BSD-3-Clause
"""The search that leaves nothing out."""

import collections

import pytest

from nodewise.base.errors import InputError
from nodewise.search.grid import MOST_COMBINATIONS, ROUNDS, GridSearch, grid
from nodewise.search.space import Axis, Point, Space

THREADS = Axis("threads", (1, 2, 4), (4, 2, 1), 4, ordered=True, crossed=True)
PLACEMENT = Axis("placement", ("os", "compact"), ("os", "compact"), "os", crossed=True)


def _key(point: Point) -> tuple[object, ...]:
    # one thread is placed alike by any name
    return (point["threads"], point["placement"] if point["threads"] > 1 else "os")


SPACE = Space((THREADS, PLACEMENT), _key)


def _swept(
    runs: int, failing: tuple[object, ...] | None = None
) -> tuple[collections.Counter[tuple[object, ...]], GridSearch]:
    search, had = GridSearch(SPACE, 1), collections.Counter[tuple[object, ...]]()
    while points := search.ask(runs - had.total()):
        assert len(points) <= runs - had.total()
        had.update(map(_key, points))
        search.tell({p: None if _key(p) == failing else 1.0 + p["threads"] for p in points})
    return had, search


def test_every_setting_runs_equally_often_once_by_each_identity() -> None:
    assert len(grid(SPACE)) == 5
    had, search = _swept(1000)
    assert set(had.values()) == {ROUNDS} and len(had) == 5
    assert not search.without_run and search.ranking[0]["threads"] == 1


@pytest.mark.parametrize("runs", range(1, 12))
def test_with_few_runs_no_setting_has_a_second_one_before_all_have_a_first(runs: int) -> None:
    had, search = _swept(runs)
    assert had.total() == runs and max(had.values()) - min([*had.values(), *([0] if len(had) < 5 else [])]) <= 1
    assert len(search.without_run) == max(0, 5 - runs)


@pytest.mark.parametrize("seed", range(8))
def test_those_with_the_fewest_runs_are_next(seed: int) -> None:
    search = GridSearch(SPACE, seed)
    first = search.ask(3)
    search.tell(dict.fromkeys(first, 1.0))
    assert not set(map(_key, search.ask(2))) & set(map(_key, first))


def test_what_fails_is_not_run_again() -> None:
    had, _ = _swept(1000, failing=(2, "compact"))
    assert had[(2, "compact")] == 1 and had[(4, "os")] == ROUNDS


def test_a_space_without_end_is_refused() -> None:
    many = Axis("n", tuple(range(MOST_COMBINATIONS)), (0,), 0)
    with pytest.raises(InputError, match="has no end"):
        grid(Space((THREADS, many), lambda p: (p["n"],)))


def test_which_of_those_with_as_few_runs_is_left_to_chance() -> None:
    assert len({tuple(map(_key, GridSearch(SPACE, seed).ask(2))) for seed in range(12)}) > 3


def test_what_has_runs_to_come_is_unseen() -> None:
    search = GridSearch(SPACE, 0)
    assert len(search.unseen) == 5
    while points := search.ask(100):
        search.tell(dict.fromkeys(points, 1.0))
    assert search.unseen == []
