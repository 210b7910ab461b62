# SPDX-License-Identifier: BSD-3-Clause
"""History keeps each experiment once, whoever writes at the same time, and says what is wrong with its file."""

import os
import sqlite3
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, StoreError
from nodewise.history import database
from nodewise.history.entry import MOST_VALUES, Entry, point_of
from nodewise.history.store import Store
from tests.history.entries import entry

WRITERS = 16


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "data/history.sqlite")


def test_what_is_put_in_comes_back(place: str) -> None:
    made = entry(1, 2.0, stopped="decided", sentence="said", folder="/some/where", version="0.1")
    with Store(place) as store:
        assert store.add([made]) == 1
    with Store(place, make=False) as store:
        assert store.entry(1) == made
        assert [s.name for s in store.series()] == ["./solver a"]
        assert store.series("solver") == store.series("ver a") == store.series()
        assert store.series("other") == []


def test_of_one_experiment_the_last_word_counts(place: str) -> None:
    with Store(place) as store:
        store.add([entry(1, 2.0), entry(2, 2.0)])
        store.add([replace(entry(1, 5.0), stopped="decided")])
        assert len(store.keys()) == 2
        assert store.entry(1).points[0].median == pytest.approx(5, rel=0.02)
        assert len(store.points([1])) == 2


def test_sixteen_processes_write_at_once(place: str) -> None:
    """Each opens a file that is not there yet, and puts in its own and one that all have."""
    children = []
    for number in range(WRITERS):
        if not (child := os.fork()):
            code = 1
            try:
                with Store(place) as store:
                    for i in range(4):
                        store.add([entry(i, 1.0, f"./solver {number}"), entry(0, 1.0, "./shared")])
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * WRITERS
    with Store(place, make=False) as store:
        assert len(store.keys()) == 4 * WRITERS + 1
        assert len(store.series()) == WRITERS + 1
        assert len(store.machines()) == 1
        assert len(store.points([s.number for s in store.series()])) == 4 * WRITERS + 1


def test_who_waits_too_long_is_told(place: str) -> None:
    with Store(place, wait_s=0.05) as store:
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="in use by others"):
            store.add([entry(1, 1.0)])
        other.close()
        assert store.add([entry(1, 1.0)]) == 1


def test_a_damaged_file_is_one_message_with_the_way_out(place: str) -> None:
    with Store(place) as store:
        store.add([entry(i, 1.0) for i in range(200)])
    path = Path(place)
    whole = path.read_bytes()
    for damaged in (
        b"no database at all, but long enough to be one" * 40,
        whole[:5000],
        whole[:4096] + b"\xff" * 20000,
    ):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match="damaged") as problem, Store(place, make=False) as store:
            store.points([s.number for s in store.series()])
            store.entry(1)
            store.add([entry(1, 1.0)])
        assert "--rebuild" in str(problem.value.hint)


def test_a_file_without_a_table_is_damaged_too(place: str) -> None:
    Store(place).close()
    with sqlite3.connect(place) as own:
        own.execute("DROP TABLE point")
    with pytest.raises(StoreError, match=r"damaged.*no such table"), Store(place) as store:
        store.latest()


def test_another_schema_is_not_touched(place: str) -> None:
    Store(place).close()
    with sqlite3.connect(place) as own:
        own.execute(f"PRAGMA user_version = {database.SCHEMA + 1}")
    with pytest.raises(InputError, match="newer nodewise"):
        Store(place)
    with sqlite3.connect(place) as own:
        own.execute("PRAGMA user_version = -1")
    with pytest.raises(InputError, match="has schema -1") as problem:
        Store(place)
    assert "--rebuild" in str(problem.value.hint)


def _of_schema_1(place: str) -> None:
    """A history as the first schema kept it: what tunes have learned was not in it."""
    with Store(place) as store:
        store.add([entry(1, 2.0)])
    with sqlite3.connect(place) as own:
        own.execute("DROP TABLE learned")
        own.execute("PRAGMA user_version = 1")


def test_an_older_schema_is_converted_and_a_copy_kept(place: str) -> None:
    _of_schema_1(place)
    with Store(place, make=False) as store:
        assert store.entry(1) == entry(1, 2.0)
        store.add([entry(2, 3.0)])
        assert store.learned("solver", ["libgomp"], "seconds", 3) == []
    (kept,) = Path(place).parent.glob("*.old*")
    with sqlite3.connect(kept) as own:
        assert own.execute("PRAGMA user_version").fetchone() == (1,)
        assert own.execute("SELECT count(*) FROM experiment").fetchone() == (1,)
    with sqlite3.connect(place) as own:
        assert own.execute("PRAGMA user_version").fetchone() == (database.SCHEMA,)


def test_a_conversion_that_fails_leaves_all_as_it_was(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _of_schema_1(place)
    added = (*database._ADDED[2], "CREATE TABLE experiment (id {id})")
    monkeypatch.setitem(database._ADDED, 2, added)
    with pytest.raises(StoreError):
        Store(place)
    monkeypatch.undo()
    with sqlite3.connect(place) as own:
        assert own.execute("PRAGMA user_version").fetchone() == (1,)
    with Store(place) as store:
        assert store.entry(1) == entry(1, 2.0)


def test_several_convert_at_once(place: str) -> None:
    _of_schema_1(place)
    children = []
    for number in range(8):
        if not (child := os.fork()):
            code = 1
            try:
                with Store(place) as store:
                    store.add([entry(number, 1.0, f"./solver {number}")])
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    with Store(place) as store:
        assert len(store.keys()) == 9
    assert len(list(Path(place).parent.glob("*.old*"))) == 1


def test_a_database_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as own:
        own.execute("CREATE TABLE dear (to_me TEXT)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="something else"):
        Store(str(path))
    assert path.read_bytes() == before


def test_one_that_is_not_there_is_not_made_by_a_question(place: str) -> None:
    with pytest.raises(InputError, match="no history yet"):
        Store(place, make=False)
    assert not Path(place).exists()


def test_texts_of_all_sorts_are_kept(place: str) -> None:
    odd = entry(1, 1.0, "./solver \udcff \x00 é " + "x" * 10_000)
    with Store(place) as store:
        store.add([odd, entry(1, 1.0, "./solver \udcff \x00 é " + "x" * 10_000 + "y")])
        # told apart by what is not shown of them
        assert len(store.series()) == 2


def test_of_many_runs_some_are_kept() -> None:
    point = point_of([1.0 + i for i in range(10_000)], "a", "a")
    assert point is not None
    assert point.runs == 10_000
    assert len(point.values) == MOST_VALUES
    assert point_of([0.0, -1.0, float("nan")], "a", "a") is None


def test_an_entry_without_commit_or_conditions(place: str) -> None:
    plain = Entry("k", "run", 5.0, entry(1, 1.0).points)
    with Store(place) as store:
        store.add([plain])
        assert store.entry(1) == plain


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "."):
        with pytest.raises(InputError, match="no file that history"):
            Store(str(tmp_path / name))
