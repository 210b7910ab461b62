# SPDX-License-Identifier: BSD-3-Clause
"""Processes that a program leaves are named, and disturb nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.records.experiment import read_experiment
from nodewise.verdicts.compare import compare_verdict
from nodewise.verdicts.left_behind import left_behind_notes
from tests.verdicts.cases import BUSY, Runs, compared

LEFT = "left behind: 1 process outlived the program and was ended: sleep"


def _marked(run: int) -> Mapping[str, Any]:
    return {"marks": ((LEFT,), (LEFT, BUSY), (BUSY,), ())[run % 4]}


def test_what_a_program_leaves_is_said_and_counted(tmp_path: Path) -> None:
    experiment = compared(tmp_path / "x", {"a": Runs(1.0, change=_marked), "b": Runs(0.5)})
    made = len(experiment.records.of("a"))
    assert left_behind_notes(experiment, "a") == [f"{LEFT} (in {made // 2} of {made} runs)"]
    assert left_behind_notes(experiment, "b") == []
    verdict = compare_verdict(read_experiment(tmp_path / "x"), "decided")
    assert verdict.contenders[0].disturbed == made // 2
    warnings = verdict.warnings
    assert f"a: {LEFT} (in {made // 2} of {made} runs)" in warnings


def test_the_last_run_that_left_something_is_the_one_that_is_told_of(tmp_path: Path) -> None:
    marks = {n: {"marks": (f"{LEFT} {n}",)} for n in (1, 4, 7)}
    experiment = compared(tmp_path / "x", {"a": Runs(1.0, change=lambda n: marks.get(n, {})), "b": Runs(0.5)}, 9)
    assert left_behind_notes(experiment, "a") == [f"{LEFT} 7 (in 3 of 9 runs)"]
