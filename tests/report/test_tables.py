# SPDX-License-Identifier: BSD-3-Clause
"""What settings are called in tables and figures, and the numbers in these."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nodewise.history.points import comparison_points
from nodewise.records.experiment import Experiment
from nodewise.report.exports.registry import export_text
from nodewise.report.tables import _shortened, condition_rows, labels_of, leaders, sample_rows, thread_rows
from nodewise.runner.setting import Setting
from nodewise.verdicts.compare import compare_verdict
from nodewise.verdicts.run import run_summary
from nodewise.verdicts.stored import stored
from nodewise.verdicts.tune import SettingSummary
from tests.questions import tune_question
from tests.verdicts.cases import BUSY, Runs, compared


def test_no_two_settings_of_a_tune_are_called_alike() -> None:
    spelled = {"threads": 1, "placement": "balanced", "hugepages": "default", "allocator": "tcmalloc"}
    bare = {"threads": 1, "placement": "balanced", "allocator": "tcmalloc"}
    other = {"threads": 1, "placement": "balanced", "allocator": "tcmalloc", "wait": "default", "knob": "default"}
    settings = [Setting(("app",)), *(Setting(("app",), values) for values in (bare, spelled, other))]
    labels = labels_of(Experiment(Path("x"), {}, {s.key: s for s in settings}))
    assert len(set(labels.values())) == len(labels) == 4
    assert labels[settings[0].key] == "baseline"
    assert labels[settings[3].key] == "1 thread, balanced, allocator tcmalloc"
    assert list(labels) == [s.key for s in settings]


def test_what_makes_commands_differ_is_never_cut() -> None:
    rest = "./solver --grid 4096x4096 --steps 1000 --input a-very-long-name-of-a-file.dat"
    lines = [rest, f"env OMP_PROC_BIND=close OMP_SCHEDULE=dynamic,16 OMP_NUM_THREADS=128 {rest}", f"{rest} --fast"]
    labels = list(_shortened({line: line for line in lines}).values())
    assert all(label.count("…") == 1 and len(label) < len(line) for label, line in zip(labels, lines, strict=True))
    assert labels[1].startswith("env OMP_PROC_BIND=close OMP_SCHEDULE=dynamic,16 OMP_NUM_THREADS=128 ./solver")
    assert labels[2].endswith(" --fast") and len(set(labels)) == 3
    assert len(_shortened({rest: rest})[rest]) <= 50
    assert _shortened({"a": "./a 1", "b": "./b 1"}) == {"a": "./a 1", "b": "./b 1"}


def _summary(key: str, median: float | None, runs: int) -> SettingSummary:
    return SettingSummary(key, {}, runs, 0, median, 0.0, None, None, None, {})


@pytest.mark.parametrize(
    ("maximise", "order"), [(False, ["a", "best", "c", "baseline"]), (True, ["baseline", "c", "best", "a"])]
)
def test_the_leaders_are_those_that_ran_thrice_and_the_two_of_the_verdict(maximise: bool, order: list[str]) -> None:
    rows = [
        _summary("a", 1.0, 3),
        _summary("twice", 1.5, 2),
        _summary("best", 2.0, 2),
        _summary("c", 3.0, 3),
        _summary("failed", None, 3),
        _summary("baseline", 4.0, 1),
    ]
    tune: Any = SimpleNamespace(candidate="best", settings=rows[:: -1 if maximise else 1], maximise=maximise)
    assert [one.key for one in leaders(tune)] == order
    assert {one.key for one in leaders(tune, 2)} == {"baseline", "best"} and len(leaders(tune, 3)) == 3


def test_a_command_by_itself_has_one_answer(tmp_path: Path) -> None:
    """What the terminal says of it without its disturbed runs, the page, exports and history say, too; the figure shows those as well."""
    slow = {"marks": (BUSY,), "seconds": 0.9, "wall_s": 0.9}
    made = compared(tmp_path / "x", {"a": Runs(0.5, change=lambda run: slow if run < 4 else {})}, 9, kind="run")
    verdict = compare_verdict(made, "runs")
    summary, (row,) = run_summary(made, verdict), verdict.contenders
    assert summary.runs == row.runs == 5 and row.disturbed == summary.left_out == 4
    assert (row.median, row.mad, row.low, row.max) == (summary.median_s, summary.mad_s, summary.low_s, summary.max_s)
    assert row.medians["seconds"] == summary.median_s < 0.6
    whole = stored(made, verdict)
    exported = json.loads(export_text("json", whole))["results"][0]
    assert (exported["median"], len(exported["times"])) == (summary.median_s, 5)
    (point,) = comparison_points(whole)
    assert point.median == summary.median_s
    rows = sample_rows(made)
    assert len(rows) == 9 and rows[4]["relative"] == pytest.approx(rows[4]["value"] / summary.median_s)
    _, (condition,) = condition_rows(made, ["a"])
    assert (condition["runs"], condition["marked"]) == (9, 4)
    assert any("4 of 9 runs were disturbed" in text for text in verdict.warnings)


def test_disturbed_runs_are_a_share_of_all_that_were_made(tmp_path: Path) -> None:
    """Also where they do not count: two of ten are not more than a fifth."""
    for disturbed, said in ((2, False), (3, True)):
        change = {"marks": (BUSY,)}
        runs = Runs(0.5, change=lambda run, most=disturbed, change=change: change if run < most else {})
        made = compared(tmp_path / str(disturbed), {"a": runs}, 10, kind="run")
        assert any("were disturbed" in text for text in compare_verdict(made, "runs").warnings) is said


def test_of_many_runs_few_are_shown_and_as_many_that_lie_far_out_at_most(tmp_path: Path) -> None:
    runs = {"a": Runs(1.0, 0.001, change=lambda run: {"seconds": 1.4} if run % 7 == 0 else {})}
    rows = sample_rows(compared(tmp_path / "x", runs, 120), most=10)
    far = [row for row in rows if row["relative"] > 1.25]
    assert 10 < len(rows) <= 20 and 5 <= len(far) <= 12


@pytest.mark.parametrize("more_first", [True, False])
def test_of_two_settings_at_one_place_that_with_more_runs_is_drawn(more_first: bool) -> None:
    """A number of threads that is named and the same one by itself."""
    # alphabetically the other one is the longer
    runs = {"a": (9, 1.0), "b": (10, 2.0)}
    settings = {"a": Setting(("app",), {"threads": 2}), "b": Setting(("app",), {"threads": "default"})}
    experiment = Experiment(Path("x"), tune_question(defaults={"threads": 2}), settings)
    rows = [
        SettingSummary(key, settings[key].values, *(count, 0), median, 0.0, None, None, None, {})
        for key, (count, median) in sorted(runs.items(), reverse=more_first)
    ]
    (row,) = thread_rows(experiment, [replace(r, values={**r.values, "threads": 2}) for r in rows])
    assert (row["key"], row["runs"], row["median"], row["threads"]) == ("b", 10, 2.0, 2)
