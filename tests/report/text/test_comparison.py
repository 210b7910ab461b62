# SPDX-License-Identifier: BSD-3-Clause
"""A comparison in lines of text: what stands in the place of an interval, and how it ended."""

from pathlib import Path

import pytest

from nodewise.report.text.comparison import comparison_text
from nodewise.verdicts.compare import compare_verdict
from nodewise.verdicts.stored import stored
from tests.verdicts.cases import BUSY, Runs, compared


@pytest.mark.parametrize(
    ("blocks", "busy", "said"), [(4, 3, "too few runs"), (9, 5, "disturbed"), (5, 0, "too few runs")]
)
def test_without_an_interval_the_reason_stands_beside_the_ratio(
    tmp_path: Path, blocks: int, busy: int, said: str
) -> None:
    disturbed = Runs(0.5, change=lambda run: {"marks": (BUSY,)} if run < busy else {})
    experiment = compared(tmp_path / "x", {"a": Runs(1.0), "b": disturbed}, blocks)
    lines = comparison_text(stored(experiment, compare_verdict(experiment, "runs")), 120).splitlines()
    (row,) = [line for line in lines if line.startswith("b ")]
    assert row.endswith(f"({said})")


@pytest.mark.parametrize(
    ("stopped", "said"),
    [
        ("cut off", "; cut off before its end: this is what there is so far"),
        ("interrupted", "; interrupted: this is what there is so far"),
        ("runs", "; as many runs as were asked for"),
        ("decided", ""),
    ],
)
def test_how_it_ended_is_said(tmp_path: Path, stopped: str, said: str) -> None:
    experiment = compared(tmp_path / "x", {"a": Runs(1.0), "b": Runs(0.5)}, 8)
    text = comparison_text(stored(experiment, compare_verdict(experiment, stopped)), 200)
    (line,) = [one for one in text.splitlines() if one.startswith("after ")]
    assert line.split(" blocks, ")[1].partition("s")[2] == f"{said}; all intervals together hold at 95%"
