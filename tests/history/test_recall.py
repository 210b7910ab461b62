# SPDX-License-Identifier: BSD-3-Clause
"""What a tune leaves to later ones in history, and which of them a new one is given."""

import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.base.errors import InputError, StoreError
from nodewise.history import learned
from nodewise.history.learned import Learned, learned_from_text, program_named, settings_seen, surface_text
from nodewise.history.recall import recalled
from nodewise.history.store import Store
from nodewise.records.earlier import SAME_LIBRARIES, SAME_PROGRAM, SettingSeen, Width
from nodewise.runner.loaded import Loaded
from nodewise.runner.setting import Setting
from tests.history.entries import entry
from tests.surfaces import machine
from tests.verdicts.cases import Runs, tuned

HERE = machine(8, 2)
SEEN = (
    SettingSeen({}, 0.0, 0.01, 6),
    SettingSeen({"threads": 8}, -0.25, 0.01, 6),
    SettingSeen({"threads": 1}, None, 0.1, 1),
)
OPENMP = Loaded(mapped=("/usr/lib/libgomp.so.1", "/usr/lib/libc.so.6"))


def _learned(program: str = "solver", **more: Any) -> Learned:
    facts: dict[str, Any] = {"libraries": ("gnu-openmp", "openmp"), "metric": "seconds", "width": Width(8, 16)}
    facts |= {"defaults": {"threads": 16}, "settings": SEEN, "best": "threads=8", "ratio": 1.28}
    return Learned(program, **{**facts, **more})


def _store(place: Path, *found: tuple[int, str, Learned, dict[str, Any]]) -> str:
    with Store(str(place)) as store:
        store.add([entry(n, 1.0, name, kind="tune", learned=one, **more) for n, name, one, more in found])
    return str(place)


THERE = {"host": "", "processor": "imaginary"}


def test_the_same_program_with_another_input_and_on_another_machine_are_found(tmp_path: Path) -> None:
    place = _store(
        tmp_path / "h.sqlite",
        (1, "./solver a", _learned(ratio=1.1), THERE),
        (2, "./solver a", _learned(), THERE),
        (3, "./solver b", _learned(width=Width(24, 48)), {"host": "n2"}),
        (4, "./other", _learned("other"), THERE),
    )
    found = recalled(place, ("/opt/solver", "c"), HERE, "seconds", OPENMP)
    assert [(one.command, one.here, one.ratio) for one in found] == [
        ("./solver a", True, 1.28),
        ("./solver b", False, 1.28),
    ]
    assert {one.relation for one in found} == {SAME_PROGRAM}
    assert found[0].settings[1] == SEEN[1]
    assert found[0].began.startswith("2023-11-16T")
    # what was decided by something else says nothing
    assert recalled(place, ("solver",), HERE, "bandwidth", OPENMP) == ()


def test_another_program_of_the_same_libraries_is_found_where_the_program_is_not_known(tmp_path: Path) -> None:
    place = _store(
        tmp_path / "h.sqlite",
        (1, "./other", _learned("other"), THERE),
        (2, "./third", _learned("third", libraries=("openblas",)), THERE),
        (3, "./plain", _learned("plain", libraries=()), THERE),
    )
    (one,) = recalled(place, ("./new",), HERE, "seconds", OPENMP)
    assert (one.command, one.relation) == ("./other", SAME_LIBRARIES)
    # a study's kernel is a program of its own
    kernels = _store(tmp_path / "k.sqlite", (1, "study:is", _learned("nodewise-worker is.so"), THERE))
    assert recalled(kernels, ("./new",), HERE, "seconds", OPENMP) == ()
    assert len(recalled(kernels, ("/x/nodewise-worker", "is.so", "class=S"), HERE, "seconds", OPENMP)) == 1
    assert recalled(kernels, ("/x/nodewise-worker", "fft.so"), HERE, "seconds", OPENMP) == ()
    assert recalled(place, ("/x/nodewise-worker", "is.so"), HERE, "seconds", OPENMP) == ()
    # what all programs load makes none alike
    assert recalled(place, ("./new",), HERE, "seconds", Loaded(mapped=("/usr/lib/libc.so.6",))) == ()
    assert recalled(place, ("./new",), HERE, "seconds", None) == ()


def test_no_more_than_three_are_given_the_latest_and_none_where_there_is_no_history(tmp_path: Path) -> None:
    many = [(n, f"./solver {n}", _learned(), THERE) for n in range(1, 7)]
    found = recalled(_store(tmp_path / "h.sqlite", *many), ("solver",), HERE, "seconds", None)
    assert [one.command for one in found] == ["./solver 6", "./solver 5", "./solver 4"]
    assert recalled(str(tmp_path / "none.sqlite"), ("solver",), HERE, "seconds", None) == ()
    assert not (tmp_path / "none.sqlite").exists()


def test_put_in_again_it_is_there_once_and_cleared_it_is_gone(tmp_path: Path) -> None:
    one = (1, "./solver a", _learned(), THERE)
    _store(tmp_path / "h.sqlite", one)
    place = _store(tmp_path / "h.sqlite", one)
    assert len(recalled(place, ("solver",), HERE, "seconds", None)) == 1
    with Store(place) as store:
        store.clear()
    assert recalled(place, ("solver",), HERE, "seconds", None) == ()


def test_what_is_damaged_or_of_an_unknown_schema_is_said(tmp_path: Path) -> None:
    place = _store(tmp_path / "h.sqlite", (1, "./solver a", _learned(), THERE))
    with sqlite3.connect(place) as own:
        own.execute("UPDATE learned SET surface = '{\"width\": 3}'")
    with pytest.raises(StoreError, match="damaged") as told:
        recalled(place, ("solver",), HERE, "seconds", None)
    assert "--rebuild" in (told.value.hint or "")
    with sqlite3.connect(place) as own:
        own.execute("PRAGMA user_version = -1")
    with pytest.raises(InputError, match="schema -1"):
        recalled(place, ("solver",), HERE, "seconds", None)


def test_others_who_write_are_waited_for_no_longer_than_two_seconds(tmp_path: Path) -> None:
    place = _store(tmp_path / "h.sqlite", (1, "./solver a", _learned(), THERE))
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="in use by others for 2 s"):
        recalled(place, ("solver",), HERE, "seconds", None)
    other.close()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./bin/solver -n 3 a.dat", "solver"),
        ("/usr/bin/python3 -O -W ignore train.py --epochs 3", "python3 train.py"),
        ("python3 -X dev train.py", "python3 train.py"),
        ("java -cp a.jar:b.jar Main", "java Main"),
        ("ruby -r json -I lib a.rb", "ruby a.rb"),
        ("python3.11 -m pkg.train x", "python3.11 -m pkg.train"),
        ("java -Xmx3g -cp a.jar Main x", "java Main"),
        ("java -jar build/app.jar x", "java -jar app.jar"),
        ("/x/native/nodewise-worker /x/studies/is.so --variant narrow", "nodewise-worker is.so"),
        ("python3", "python3"),
        ("", ""),
    ],
)
def test_a_program_is_the_same_whatever_its_arguments(command: str, name: str) -> None:
    assert program_named(command.split()) == name


def test_of_very_many_settings_those_with_the_most_runs_and_the_fastest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "MOST_SETTINGS", 4)
    base = Setting(("app",))
    some = [(Setting(("app",), values={"a": i}, name=f"a={i}"), Runs(4.0 - 0.5 * i), [1]) for i in range(1, 6)]
    often = (Setting(("app",), values={"a": 9}, name="a=9"), Runs(5.0), [1, 2])
    seen = settings_seen(tuned(tmp_path / "x", [(base, Runs(3.0), [1, 2, 3]), *some, often], axes={"a": [0, 9]}))
    assert [one.values.get("a") for one in seen] == [None, 9, 5, 4]
    failing = (
        Setting(("app",), values={"a": 8}, name="a=8"),
        Runs(1.0, change=lambda _: {"error": "exit code 1"}),
        [1],
    )
    again = settings_seen(
        tuned(tmp_path / "y", [(base, Runs(3.0), [1, 2, 3]), *some, often, failing], axes={"a": [0, 9]})
    )
    # what failed is none of the fastest
    assert [one.values.get("a") for one in again] == [None, 9, 5, 4]
    assert seen[0].log == 0 and seen[2].log == pytest.approx(math.log(1.5 / 3), abs=0.05)


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_the_deviation_of_what_was_seen_is_the_true_one_however_few_runs_there_were(tmp_path: Path, runs: int) -> None:
    dice = np.random.default_rng(3)
    drawn = {f"a={i}": np.exp(dice.normal(0, 0.05, runs)) for i in range(60)}

    def seconds(key: str) -> Callable[[int], dict[str, Any]]:
        return lambda run: {"seconds": float(drawn[key][run])}

    settings = [
        (Setting(("app",), values={"a": i}, name=f"a={i}"), Runs(1.0, change=seconds(f"a={i}")), range(1, runs + 1))
        for i in range(60)
    ]
    base = (Setting(("app",)), Runs(1.0, change=seconds("a=0")), range(1, runs + 1))
    seen = settings_seen(tuned(tmp_path / "x", [base, *settings], axes={"a": [0, 59]}))
    for one in seen:
        assert one.deviation == pytest.approx(0.05 * math.sqrt(2 / runs), rel=0.2)


def test_what_was_seen_is_read_back_as_it_was() -> None:
    one = _learned()
    again = learned_from_text(one.program, " ".join(one.libraries), one.metric, surface_text(one))
    assert again == Learned(**{**one.__dict__, "settings": again.settings})
    assert list(again.settings) == list(SEEN)
