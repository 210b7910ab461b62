# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise tune` starts from what history knows, says so, and does without where it cannot be read."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Command

SIZE = ("--max-runs", "24", "--axes", "hugepages", "--any-output", "--accept-disturbed", "--env-axis", "MODE=a,b")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A history of the test's own."""
    path = tmp_path / "data/history.sqlite"
    monkeypatch.setenv("NODEWISE_HISTORY", str(path))
    return path


@pytest.fixture
def known(nodewise_here: Command, place: Path) -> Path:
    """A history that knows a tune of `sleep`."""
    done = nodewise_here("tune", *SIZE, "--out", "first", "--", "sleep", "0.01")
    assert done.returncode == 0, done.stderr
    assert "not in the history" not in done.stderr
    assert "history " not in done.stdout
    return place


def _dry(nodewise_here: Command, *words: str) -> list[dict[str, object]]:
    done = nodewise_here("tune", *SIZE, "--dry-run", "--json", *words, "--", "sleep", "0.012")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)["history"]
    return found


@pytest.mark.usefixtures("known")
def test_the_same_program_with_another_input_starts_from_it(nodewise_here: Command, tmp_path: Path) -> None:
    (one,) = _dry(nodewise_here)
    assert (one["command"], one["relation"], one["here"]) == ("sleep 0.01", "same program", True)
    assert _dry(nodewise_here, "--no-history") == []
    done = nodewise_here("tune", *SIZE, "--out", "second", "--", "sleep", "0.012")
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "history the search starts from an earlier tune, the verdict from fresh runs" in words
    assert "sleep 0.01, on this machine, 20" in words
    question = json.loads((tmp_path / "second/question.json").read_text())
    assert len(question["earlier"]) == 1
    assert "What the search started from" in (tmp_path / "second/report.html").read_text()
    # gone on with, it is led by what it was led by then
    again = nodewise_here("tune", "--resume", "second", "--json")
    assert again.returncode == 0, again.stderr
    assert [h["command"] for h in json.loads(again.stdout)["history"]] == ["sleep 0.01"]


def test_turned_off_it_starts_from_nothing(
    nodewise_here: Command, known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert known.exists()
    monkeypatch.setenv("NODEWISE_HISTORY", "off")
    assert _dry(nodewise_here) == []


def test_a_history_that_is_damaged_or_in_use_stops_no_tune(nodewise_here: Command, known: Path) -> None:
    other = sqlite3.connect(known, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    done = nodewise_here("tune", *SIZE, "--dry-run", "--", "sleep", "0.012")
    other.close()
    assert done.returncode == 0, done.stderr
    assert "warning: this tune starts from nothing: the history " in done.stderr
    assert "in use by others" in done.stderr
    known.write_bytes(b"no database " * 1000)
    done = nodewise_here("tune", *SIZE, "--out", "third", "--", "sleep", "0.012")
    assert done.returncode == 0, done.stderr
    assert "warning: this tune starts from nothing: the history " in done.stderr
    assert "launch    " in done.stdout
