# SPDX-License-Identifier: BSD-3-Clause
"""What is looked at over time of each kind of experiment, and what tells projects apart."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.history.entries import entry_of, folders_below, read_entry, seconds_since_1970
from nodewise.history.points import program_of, tune_points
from nodewise.history.store import Store
from nodewise.records.commit import Commit
from nodewise.records.kind_registry import all_kinds
from nodewise.records.result_store import ROOFLINE
from nodewise.runner.setting import Setting
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.stored import read_stored, stored
from nodewise.verdicts.tune import tune_verdict
from tests.kept_result import keep_result
from tests.report.stored import roofline_page_of, roofline_result, study_page_of, study_result
from tests.surfaces import machine
from tests.verdicts.cases import Runs, compared, tuned


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("./solver a", "solver"),
        ("/opt/x/bin/solver --size=3", "solver"),
        ("OMP_NUM_THREADS=4 ./solver", "solver"),
        ("sort a | uniq", "sort"),
        ("'un closed", "'un"),
        ("", ""),
        ("A=1", "A=1"),
    ],
)
def test_a_command_is_called_by_its_program(command: str, program: str) -> None:
    assert program_of(command) == program


def test_every_kind_has_points() -> None:
    assert all(kind.points and callable(kind.load("points")) for kind in all_kinds())


def test_each_contender_of_a_study_is_one(tmp_path: Path) -> None:
    result = study_result()
    study_page_of(result, "", tmp_path / "s")
    entry = read_entry(tmp_path / "s")
    assert entry is not None
    ran = [row for row in result.rows if row.not_run is None]
    assert len(entry.points) == len(ran)
    assert {p.program for p in entry.points} == {"pretend"}
    by_end = {p.name.rpartition(": ")[2]: p for p in entry.points}
    for row in ran:
        assert by_end[row.contender].median == pytest.approx(row.seconds, rel=0.05)
        assert len(by_end[row.contender].values) == sum(t is not None for t in row.times)


def test_each_roof_of_a_roofline_is_one(tmp_path: Path) -> None:
    result = roofline_result()
    roofline_page_of(result, tmp_path / "r")
    entry = read_entry(tmp_path / "r")
    assert entry is not None
    assert [p.median for p in entry.points] == [roof.median for roof in result.roofs]
    assert all(p.maximise for p in entry.points)
    assert {p.metric for p in entry.points} == {"flops/s", "bytes/s"}


def test_a_roof_that_was_not_reached_at_all_is_none(tmp_path: Path) -> None:
    """A median of 0 has no logarithm, by which changes are found."""
    result = roofline_result()
    gone = replace(result, roofs=(replace(result.roofs[0], median=0.0), *result.roofs[1:]))
    keep_result(tmp_path / "r", ROOFLINE, {"result": encode(gone)}, machine(2, 1), {}, ("nodewise",))
    entry = read_entry(tmp_path / "r")
    assert entry is not None
    assert [p.median for p in entry.points] == [roof.median for roof in result.roofs[1:]]


def test_the_project_is_the_repository_or_where_a_program_is_named_from(tmp_path: Path) -> None:
    study_page_of(study_result(), "", tmp_path / "s")
    stored = read_stored(tmp_path / "s")

    def project(command: str, commit: Commit | None = None) -> str:
        entry = entry_of(
            replace(stored, question=replace(stored.question, command=(command,), cwd="/w", commit=commit))
        )
        assert entry is not None
        return entry.project

    assert project("sleep 1") == project("/usr/bin/sleep 1") == ""
    assert project("./solver") == project("bin/solver") == project("python scripts/a.py") == "/w"
    assert project("sleep 1", Commit("abc", True, "main", "solver")) == "solver"


def test_a_command_of_every_folder_is_one_trend_whatever_it_was_compared_with(tmp_path: Path) -> None:
    with Store(str(tmp_path / "h.sqlite")) as store:
        for other in ("sleep 2", "./two"):
            folder = tmp_path / other.replace("/", "-")
            compared(folder, {"sleep 1": Runs(1.0), other: Runs(2.0)})
            found = read_stored(folder)
            asked = replace(found.question, command=("sleep 1", other), cwd="/w", commit=None)
            entry = entry_of(replace(found, question=asked))
            assert entry is not None
            store.add([entry])
        projects = {one.name: one.project for one in store.series()}
    assert projects == {"sleep 1": "", "sleep 2": "", "./two": "/w"}


def test_one_from_before_they_had_names_has_the_same_each_time(tmp_path: Path) -> None:
    study_page_of(study_result(), "", tmp_path / "s")
    stored = read_stored(tmp_path / "s")
    old = replace(stored, question=replace(stored.question, id=""))
    one, other = entry_of(old), entry_of(replace(old, folder=Path("/elsewhere")))
    assert one is not None and other is not None
    assert (one.host, one.processor) == (stored.machine.hostname, stored.machine.processor.model) and one.processor
    assert one.key == other.key != entry_of(replace(old, question=replace(old.question, id="", started_at="x"))).key


def test_folders_are_found_at_any_depth_and_not_within_each_other(tmp_path: Path) -> None:
    for name in ("a/one", "a/b/c/two", "a/one/within"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "question.json").touch()
    (tmp_path / "a/around").symlink_to(tmp_path)
    assert [f.relative_to(tmp_path).as_posix() for f in folders_below([tmp_path])] == ["a/b/c/two", "a/one"]


def test_times_without_a_zone_are_utc() -> None:
    assert seconds_since_1970("1970-01-01T01:00:00") == 3600
    assert seconds_since_1970("1970-01-01T01:00:00+01:00") == 0
    assert seconds_since_1970("no time") == 0


def test_a_tunes_point_is_of_the_runs_that_decided(tmp_path: Path) -> None:
    """Those of the search come of other blocks, and only where nothing was confirmed are there no others."""
    other = Setting(("app",), {"a": 1}, name="other")
    search = [(Setting(("app",)), Runs(3.0), [1, 2, 3]), (other, Runs(2.5), [1, 2, 3])]
    key = search[0][0].key
    made = tuned(
        tmp_path / "x", search, {key: Runs(1.0), other.key: Runs(0.8)}, candidate=other.key, axes={"a": [0, 1]}
    )
    points = tune_points(stored(made, tune_verdict(made, "decided")))
    assert [point.runs for point in points] == [20, 20]
    assert [point.median for point in points] == [pytest.approx(1.0, rel=0.05), pytest.approx(0.8, rel=0.05)]
    alone = tuned(tmp_path / "y", search, axes={"a": [0, 1]})
    (point,) = tune_points(stored(alone, tune_verdict(alone, "interrupted")))[:1]
    assert (point.runs, point.median) == (3, pytest.approx(3.0, rel=0.05))
