# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise history`: what ends is in it, and is found again."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.history.entry import Entry
from nodewise.history.store import Store
from tests.cli.conftest import Command
from tests.history.entries import entry

SLEEP = ("--", "sleep", "0.01")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A history of the test's own."""
    path = tmp_path / "data/history.sqlite"
    monkeypatch.setenv("NODEWISE_HISTORY", str(path))
    return path


def _kept(place: Path) -> list[Entry]:
    with Store(str(place), make=False) as store:
        return [store.entry(number + 1) for number in range(len(store.keys()))]


def _store(place: Path, *entries: Entry) -> None:
    with Store(str(place)) as store:
        store.add(entries)


def _commit(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "x"], cwd=folder, check=True)


def test_what_has_ended_is_there_and_is_found_again(nodewise_here: Command, place: Path, tmp_path: Path) -> None:
    _commit(tmp_path)
    for words in (("run", "-r", "6", "--out", "r", *SLEEP), ("compare", "-r", "3", "--out", "c", "sleep 0.01", "true")):
        done = nodewise_here(*words)
        assert done.returncode == 0, done.stderr
        assert "not in the history" not in done.stderr
    found = _kept(place)
    assert [e.kind for e in found] == ["run", "compare"]
    assert found[0].points[0].name == "sleep 0.01"
    assert len(found[0].points[0].values) == found[0].points[0].runs
    assert {p.name for p in found[1].points} == {"sleep 0.01", "true"}
    assert {e.commit.repository for e in found} == {tmp_path.name}
    # going on with one leaves it one
    assert nodewise_here("compare", "--resume", "c").returncode == 0
    assert len(_kept(place)) == 2
    again = nodewise_here("history", "--rebuild", ".", "--json")
    assert json.loads(again.stdout)["experiments"] == 2
    assert json.loads(again.stdout)["gone"] == 0
    assert [p.suffix for p in sorted(place.parent.iterdir())] == [".sqlite", ".old"]


@pytest.mark.long
def test_each_kind_is_there_once_it_has_ended(nodewise_here: Command, place: Path) -> None:
    for words in (
        ("compare", "-r", "12", "--out", "c", "sleep 0.02", "sleep 0.002"),
        ("confirm", "c", "--max-runs", "14"),
        ("tune", "--max-runs", "20", "--axes", "hugepages", "--any-output", "--out", "t", *SLEEP),
        ("study", "is", "--class", "S", "--blocks", "1", "--out", "s"),
    ):
        done = nodewise_here(*words)
        # on a busy machine a promise may be undecided, which ends with 1
        assert done.returncode in (0, int(words[0] == "confirm")), done.stderr
        assert "not in the history" not in done.stderr
    found = _kept(place)
    assert [e.kind for e in found] == ["compare", "confirm", "tune", "study"]
    assert {p.name for p in found[1].points} == {"sleep 0.02", "sleep 0.002"}
    assert "sleep 0.01" in {p.name for p in found[2].points}
    assert {p.program for p in found[3].points} == {"is"}


def test_an_experiment_ends_as_well_where_history_cannot_be_kept(
    nodewise_here: Command, place: Path, tmp_path: Path
) -> None:
    place.parent.mkdir()
    place.write_bytes(b"no database " * 1000)
    done = nodewise_here("run", "-r", "6", "--out", "r", *SLEEP)
    assert done.returncode == 0
    assert "report    r/report.html" in done.stdout
    (line,) = [one for one in done.stderr.splitlines() if "history" in one]
    assert line.startswith("warning: this experiment is not in the history: the history ")
    assert "nodewise history --rebuild DIR…" in line
    shown = nodewise_here("history")
    assert shown.returncode == 2
    assert "damaged" in shown.stderr
    assert "nodewise history --rebuild DIR…" in shown.stderr
    assert nodewise_here("history", "--rebuild", ".").returncode == 0
    assert "sleep 0.01" in nodewise_here("history").stdout


def test_it_can_be_turned_off(nodewise_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert nodewise_here("run", "-r", "2", *SLEEP).returncode == 0
    assert not (tmp_path / "data").exists()
    done = nodewise_here("history")
    assert done.returncode == 2
    assert "turned off" in done.stderr
    monkeypatch.delenv("NODEWISE_HISTORY")
    assert nodewise_here("run", "-r", "2", *SLEEP).returncode == 0
    assert (tmp_path / "data/nodewise/history.sqlite").is_file()


def test_a_table_fits_into_a_terminal(nodewise_here: Command, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nodewise.history.trend import trends_of
    from nodewise.report.text.history import trends_text

    name = "./solver " + "--a-long-option=of-many-letters " * 8
    _store(place, *(entry(i, 1.0 if i < 20 else 1.3, name) for i in range(40)))
    _store(place, *(entry(i, 1.0, name, key=f"n8 {i}", host="a-machine-with-a-name-of-many-letters") for i in range(9)))
    with Store(str(place)) as store:
        for program in (None, "solver"):
            lines = trends_text(trends_of(store, program), 80).splitlines()
            assert max(map(len, lines)) <= 80
            assert any("1.30× slower" in line for line in lines)
            # an option is whole, and its hyphens end no line
            assert not any(line.endswith("-") for line in lines)


def test_it_is_asked_by_program_machine_and_day(nodewise_here: Command, place: Path) -> None:
    _store(place, *(entry(i, 1.0 if i < 20 else 1.2) for i in range(40)))
    shown = nodewise_here("history", "solver", "--since", "2023-12-01")
    assert "2023-12-23 22:13  00000000  run" in shown.stdout
    marked = nodewise_here("history", "solver", "--all").stdout
    assert "! 1.20× slower since 00000000 of 2023-12-04: regression, at #21" in marked
    assert "at most 5% of trends get one" in marked
    none = nodewise_here("history", "solver", "--machine", "node9")
    assert none.returncode == 2
    assert "nothing of solver on node9" in none.stderr
    wrong = nodewise_here("history", "--since", "yesterday")
    assert "neither a day nor how long ago: 'yesterday'" in wrong.stderr


def test_a_number_of_what_is_asked_back_for_its_unit(nodewise_here: Command, place: Path) -> None:
    done = nodewise_here("history", "--since", "30")
    assert done.returncode == 2 and "'30' has no unit" in done.stderr and "write 30d for days" in done.stderr


def test_two_experiments_are_held_against_each_other(nodewise_here: Command, place: Path) -> None:
    _store(place, entry(1, 1.2), entry(2, 1.0), entry(3, 1.0, host="node8"))
    done = nodewise_here("history", "diff", "1", "#2")
    assert "1.2" in done.stdout
    assert "× (" in done.stdout
    assert "faster" in done.stdout
    elsewhere = nodewise_here("history", "diff", "1", "3").stdout
    assert "differs  host: node7 then, node8 now" in elsewhere
    assert "as fast, by the program and what differs together" in elsewhere
    assert "faster" not in elsewhere
    none = nodewise_here("history", "diff", "1", "77")
    assert none.returncode == 2
    assert "no experiment 77" in none.stderr
    assert nodewise_here("history", "diff", "1").returncode == 2
    assert "no such directory" in nodewise_here("history", "diff", "1", "nowhere").stderr


def test_options_that_would_do_nothing_are_refused(nodewise_here: Command, place: Path) -> None:
    _store(place, entry(1, 1.2), entry(2, 1.0))
    for words in (("diff", "1", "2", "--since", "30d"), ("import", "x", "--html", "y"), ("--rebuild", ".", "--all")):
        done = nodewise_here("history", *words)
        assert done.returncode == 2, words
        assert "would do nothing" in done.stderr
    assert nodewise_here("history", "a", "b").returncode == 2
    assert nodewise_here("history", "--rebuild").returncode == 2
    assert nodewise_here("history", "--rebuild", "nowhere").returncode == 2


def test_what_is_damaged_is_left_out_and_named(nodewise_here: Command, place: Path, tmp_path: Path) -> None:
    assert nodewise_here("run", "-r", "6", "--out", "good", *SLEEP).returncode == 0
    shutil.copytree(tmp_path / "good", tmp_path / "deep/bad")
    (tmp_path / "deep/bad/question.json").write_text("{")
    done = nodewise_here("history", "--rebuild", ".")
    assert done.returncode == 0
    assert "1 experiment put into" in done.stdout
    assert "left out: deep/bad/question.json is damaged" in done.stdout
    # a copy is the same experiment, wherever it is
    shutil.copytree(tmp_path / "good", tmp_path / "copy")
    again = nodewise_here("history", "import", "copy")
    assert again.returncode == 0 and " in the place of the same" in " ".join(again.stdout.split())
    assert len(_kept(place)) == 1
    assert "in the place of the same" not in done.stdout


def test_secrets_are_masked_in_it(nodewise_here: Command, place: Path) -> None:
    done = nodewise_here("run", "-r", "2", "--out", "r", "--", "sh", "-c", "true", "--password", "zqsecretzq1")
    assert done.returncode == 0
    assert b"zqsecretzq1" not in place.read_bytes()
    shown = nodewise_here("history", "sh")
    assert "zqsecretzq1" not in shown.stdout
    assert "PASSWORD" in shown.stdout


def test_a_url_of_another_server_is_refused(nodewise_here: Command, place: Path) -> None:
    done = nodewise_here("history", "--store", "mysql://me:geheim77@host/db")
    assert done.returncode == 2
    assert "cannot be kept by mysql" in done.stderr
    assert "geheim77" not in done.stderr


def test_what_cannot_be_written_is_said(nodewise_here: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = nodewise_here("history", "import", "x", "--store", "file/h.sqlite")
    assert done.returncode == 2
