# SPDX-License-Identifier: BSD-3-Clause
"""Values of a history that are none: each is named and left out, whatever it is, and the rest is shown."""

import json
import sqlite3
import warnings
from contextlib import closing, suppress
from pathlib import Path

import pytest

from nodewise.api.serve import Served
from nodewise.base.errors import InputError, NodewiseError
from nodewise.cli.main import main
from nodewise.history.database import REBUILD
from nodewise.history.fill import rebuild
from nodewise.history.learned import Learned
from nodewise.history.recall import recalled
from nodewise.history.store import Store
from nodewise.records.earlier import SettingSeen, Width
from nodewise.report.pages.serve import overview_page
from tests.history.entries import entry
from tests.surfaces import machine

TABLES = ("machine", "series", "experiment", "point", "learned")
VALUES = ("x'ff00ff'", "cast(x'ff00ff' as text)", "'['", "0.5", "-1", "null", "1e400", "9223372036854775807", "''")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A history with two experiments of one program on a machine, and one of another program on another machine."""
    path = tmp_path / "h.sqlite"
    with Store(str(path)) as store:
        learned = Learned("solver", (), "seconds", Width(8, 16), {"threads": 16}, (SettingSeen({}, 0.0, 0.01, 6),))
        store.add(
            [entry(1, 1.0, learned=learned), entry(2, 1.1), entry(3, 2.0, "./other", host="node8", tool="hyperfine")]
        )
    monkeypatch.setenv("NODEWISE_HISTORY", str(path))
    return path


def _change(place: Path, table: str, column: str, value: str, where: str = "") -> bool:
    """Whether the value could be put there."""
    with closing(sqlite3.connect(place, isolation_level=None)) as own:
        try:
            own.execute(f"UPDATE {table} SET {column} = {value} {where}")
        except sqlite3.IntegrityError:
            return False
    return True


def _columns(place: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(place)) as own:
        return [(table, row[1]) for table in TABLES for row in own.execute(f"PRAGMA table_info({table})")]


def _page(place: Path) -> str:
    found = Served(str(place)).overview()
    return overview_page((), found.listed, found.trends, found.missing)


#: What reads a history: of each column one half of them, in turn, or all.
READERS = (["--json"], ["solver", "--all"], ["diff", "1", "2"], [], ["solver"], ["diff", "1", "2", "--json"])


@pytest.mark.parametrize(
    ("value", "half"),
    [*((v, True) for v in VALUES[::3]), *(pytest.param(v, False, marks=pytest.mark.long) for v in VALUES)],
)
def test_whatever_one_value_is_all_answer(
    place: Path, value: str, half: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, tried = place.read_bytes(), 0
    for number, (table, column) in enumerate(_columns(place)):
        place.write_bytes(whole)
        first = "WHERE rowid = (SELECT min(rowid) FROM " + table + ")"
        if not _change(place, table, column, value, first):
            continue
        tried += 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for words in READERS[number % 2 * 3 :][:3] if half else READERS:
                code = main(["history", *words])
                err = capsys.readouterr().err
                assert code in (0, 2) and "defect" not in err, (table, column, value, words, err)
            page = _page(place)
            with suppress(NodewiseError):
                recalled(str(place), ("solver",), machine(8, 2), "seconds", None)
        # what is not touched is there, whatever became of the rest
        assert "./other" in page, (table, column, value)
        for one in (1, 2, 3):
            with pytest.raises(NodewiseError):
                Served(str(place)).report(one)
    assert tried > 20 or value == "null"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("series", "name", "x'ff00ff'", "WHERE id = 1"), "table series, row 1: name: a text is needed, not 3 bytes"),
        (("point", "median", "'['", "WHERE experiment = 1"), "table point, row series 1 of experiment 1: median: a number above zero"),
        (("experiment", "began", "1e400", "WHERE id = 1"), "table experiment, row 1: began: a time, in seconds since 1970 is needed"),
        (("experiment", "machine", "99", "WHERE id = 1"), "table experiment, row 1: machine: there is no such row"),
        (("machine", "host", "cast(x'ff' as text)", "WHERE id = 1"), "table machine, row 1: host: a text is needed"),
    ],
)  # fmt: skip
def test_what_is_left_out_is_named(
    place: Path, change: tuple[str, str, str, str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _change(place, *change)
    page = _page(place)
    assert named in page.replace("&#39;", "'") and "./other" in page
    assert main(["history", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    if change[1] != "machine":
        assert [one for one in told["damaged"] if f"{place}: {named}" in one]
        assert main(["history"]) == 0
        shown = capsys.readouterr()
        assert f"warning: left out, since it is damaged: {place}: {named}" in shown.err and "./other" in shown.out


def test_an_experiment_whose_values_are_damaged_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _change(place, "point", "singles", "'abc'", "WHERE experiment = 1")
    assert main(["history", "diff", "1", "2"]) == 2
    err = capsys.readouterr().err
    assert "singles: the bytes of numbers above zero is needed" in err and REBUILD in err
    # its report does not need them
    with pytest.raises(InputError, match="the folder of experiment 1 is not here"):
        Served(str(place)).report(1)


def test_only_damaged_rows_are_no_empty_history(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _change(place, "series", "name", "x'ff'")
    assert main(["history"]) == 2
    err = capsys.readouterr().err
    assert "damaged is" in err and "table series, row 1: name" in err and ", and 1 more" in err


def test_a_rebuild_keeps_what_is_whole_of_other_tools(place: Path, tmp_path: Path) -> None:
    with Store(str(place)) as store:
        store.add([entry(4, 2.0, "./third", tool="hyperfine")])
    assert _change(place, "experiment", "began", "'x'", "WHERE id = 3")
    (tmp_path / "none").mkdir()
    left_out = rebuild(str(place), [tmp_path / "none"]).left_out
    assert left_out == (f"{place}: table experiment, row 3: began: a time, in seconds since 1970 is needed, not 'x'",)
    with Store(str(place)) as store:
        assert [one.name for one in store.series()] == ["./third"]
