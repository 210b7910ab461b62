# SPDX-License-Identifier: BSD-3-Clause
"""Which values of the axes a tune came to."""

from pathlib import Path

import pytest

from nodewise.records.columns import Record
from nodewise.records.experiment import Writer, read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.untried import untried, untried_notes
from tests.questions import tune_question

AXES = {"a": [0, 1, 2], "b": ["x", "y"], "threads": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("at", "left", "said"),
    [
        (
            [[2], [], [3]],
            {"a": [2], "threads": [4]},
            "no run had these 2 values, for which the runs did not suffice: a: 2; threads: 4",
        ),
        ([[], [], []], {}, None),
        ([[], [1], []], {"b": ["y"]}, "no run had this value, for which the runs did not suffice: b: y"),
        # a file whose last line is cut off
        ([], {}, None),
        ([[3, 1], [2]], {"a": [1]}, "no run had this value, for which the runs did not suffice: a: 1"),
    ],
)
def test_what_no_run_had_is_said(
    tmp_path: Path, at: list[list[int]], left: dict[str, list[object]], said: str | None
) -> None:
    with Writer(tmp_path / "x", {**tune_question(axes=AXES), "untried": at}) as writer:
        setting = Setting(("app",))
        writer.add(Record(setting.key, "search", 0, 0, Sample(1.0, 1.0, 0.0)), setting)
    experiment = read_experiment(tmp_path / "x")
    assert untried(experiment) == left
    assert untried_notes(experiment) == ([said] if said else [])


def test_many_values_are_counted(tmp_path: Path) -> None:
    axes = {"a": list(range(7)), "b": list(range(5))}
    with Writer(tmp_path / "x", {**tune_question(axes=axes), "untried": [list(range(1, 7)), [1, 2, 3, 4]]}) as writer:
        setting = Setting(("app",))
        writer.add(Record(setting.key, "search", 0, 0, Sample(1.0, 1.0, 0.0)), setting)
    (note,) = untried_notes(read_experiment(tmp_path / "x"))
    assert note.endswith("6 of a, 4 of b") and "these 10 values" in note
