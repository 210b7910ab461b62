# SPDX-License-Identifier: BSD-3-Clause
"""Trends of what was measured, by machine and time, with their marks."""

from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.history.store import Store
from nodewise.history.trend import Trends, Word, trends_of
from tests.history.entries import BEGAN, entry


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(str(tmp_path / "h.sqlite"))
    made.add(entry(i, 1.0 if i < 20 else 1.2) for i in range(40))
    made.add(entry(i, 2.0, key=f"other {i}", host="node8") for i in range(15))
    made.add([entry(50, 1.0, "sleep 1", project="")])
    return made


def _names(trends: Trends) -> list[tuple[str, str]]:
    return [(t.name, t.machine) for t in trends.trends]


def test_a_trend_is_of_one_command_and_one_machine(store: Store) -> None:
    found = trends_of(store)
    assert _names(found) == [("sleep 1", "node7"), ("./solver a", "node7"), ("./solver a", "node8")]
    assert [len(t.points) for t in found.trends] == [1, 40, 15]
    assert found.left_out == 0


def test_a_regression_is_marked_where_it_began(store: Store) -> None:
    trend = trends_of(store, "solver").trends[0]
    (mark,) = trend.marks
    assert mark.word is Word.REGRESSION
    assert mark.experiment == trend.points[20].experiment
    assert mark.ratio == pytest.approx(1 / 1.2, rel=0.02)
    assert (mark.commit_before, mark.commit) == (f"{19:040x}", f"{20:040x}")


def test_where_more_is_better_more_is_an_improvement(tmp_path: Path) -> None:
    from dataclasses import replace

    with Store(str(tmp_path / "rates.sqlite")) as store:
        for i in range(40):
            one = entry(i, 100.0 if i < 20 else 120.0)
            store.add([replace(one, points=(replace(one.points[0], maximise=True, metric="items/s"),))])
        (mark,) = trends_of(store, "solver").trends[0].marks
    assert mark.word is Word.IMPROVEMENT
    assert mark.ratio == pytest.approx(1.2, rel=0.02)


def test_it_is_asked_by_program_machine_and_time(store: Store) -> None:
    assert _names(trends_of(store, "solver", machine="node8")) == [("./solver a", "node8")]
    # a part of the processor's name will do
    assert len(trends_of(store, "solver", machine="Some Proc").trends) == 2
    late = trends_of(store, "solver", since=BEGAN + 86400 * 30)
    assert [len(t.points) for t in late.trends] == [10]
    assert late.since == "2023-12-14"
    # time zones lead beyond the first and the last day
    assert trends_of(store, "solver", since=-62135683140.0).since == "0001-01-01"
    with pytest.raises(InputError, match="9999-12-31"):
        trends_of(store, "solver", since=253402387139.0)
    with pytest.raises(InputError, match="nothing of solver on node9"):
        trends_of(store, "solver", machine="node9")


def test_of_many_the_latest_are_shown(store: Store) -> None:
    store.add(entry(60 + i, 1.0, f"./app {i}") for i in range(30))
    found = trends_of(store, most=5)
    assert [t.name for t in found.trends] == [f"./app {i}" for i in (29, 28, 27, 26, 25)]
    assert found.left_out == 27
    assert len(trends_of(store, most=None).trends) == 33


def test_what_is_not_there_is_answered_with_what_is(store: Store) -> None:
    for asked, hint in (
        ({"machine": "node9"}, "it has the machines node7, node8"),
        ({"program": "solver", "machine": "node9"}, "it has the machines node7, node8"),
        ({"program": "solvr"}, "it has sleep, solver"),
        ({"program": "sleep", "machine": "node8"}, "it has sleep, solver"),
    ):
        with pytest.raises(InputError) as caught:
            trends_of(store, **asked)  # type: ignore[arg-type]
        assert caught.value.hint == hint


def test_of_several_machines_those_that_are_not_shown_are_counted(store: Store) -> None:
    found = trends_of(store, "solver", machine="node", most=1)
    assert _names(found) == [("./solver a", "node7")] and found.left_out == 1
    assert trends_of(store, "solver", machine="node", most=2).left_out == 0


def test_history_may_be_empty(tmp_path: Path) -> None:
    with Store(str(tmp_path / "e.sqlite")) as store, pytest.raises(InputError, match="history is empty"):
        trends_of(store)
