# SPDX-License-Identifier: BSD-3-Clause
"""What is said of one command's runs, in full, from runs made of numbers."""

from pathlib import Path
from typing import Any

import pytest

from nodewise.verdicts.compare import compare_verdict
from nodewise.verdicts.run import RunSummary, run_summary
from tests.verdicts.cases import BUSY, Runs, compared, hold, usage


def _summary(path: Path, blocks: int, disturbed: int, failed: int, **question: Any) -> RunSummary:
    def change(run: int) -> dict[str, Any]:
        error = {"error": "exit code 3"} if run < failed else {}
        return error | ({"marks": (BUSY,)} if failed <= run < failed + disturbed else {})

    fields = {
        "source": "program",
        "usage": usage(0.5, peak_bytes=1e6),
        "metrics": {"items": 100.0},
        "conditions": {"energy_j": 3.0},
    }
    made = compared(path, {"a": Runs(0.5, 0.02, fields, change)}, blocks, kind="run", **question)
    return run_summary(made, compare_verdict(made, "runs"), counters="not allowed", energy=None)


@pytest.mark.parametrize(
    ("name", "blocks", "disturbed", "failed", "question"),
    [
        ("well", 7, 0, 0, {}),
        ("disturbed", 8, 4, 0, {}),
        ("mostly disturbed", 8, 5, 0, {}),
        ("accepted", 8, 3, 0, {"accept_disturbed": True}),
        ("failing", 5, 0, 2, {"shown": {"metrics": [{"metric": "items", "maximise": True}], "currency": ""}}),
    ],
)
def test_all_that_is_said(
    tmp_path: Path, name: str, blocks: int, disturbed: int, failed: int, question: dict[str, Any]
) -> None:
    summary = _summary(tmp_path / "x", blocks, disturbed, failed, **question)
    said = hold(f"run {name}", summary, tmp_path / "x")
    # as many disturbed ones as others are left out, and more are not
    assert (said["runs"], said["left_out"]) == {
        "well": (7, 0),
        "disturbed": (4, 4),
        "mostly disturbed": (8, 0),
        "accepted": (8, 0),
        "failing": (3, 0),
    }[name]
    assert summary.made == blocks and said["failed"] == failed


def test_a_metric_that_some_runs_lack_is_the_median_of_those_that_have_it(tmp_path: Path) -> None:
    def change(run: int) -> dict[str, Any]:
        return {"metrics": {1: {"late": 49.0}, 2: {"late": 51.0, "once": 7.0}}.get(run, {})}

    made = compared(tmp_path / "x", {"a": Runs(0.5, change=change)}, 4, kind="run")
    assert run_summary(made, compare_verdict(made, "runs")).metrics == {"late": 50.0, "once": 7.0}
