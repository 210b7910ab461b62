# SPDX-License-Identifier: BSD-3-Clause
"""Confirm: what a tune or a comparison promised is run again, in the same blocks as what it was compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from nodewise.base.shapes import Positive, ShapeError
from nodewise.records.kind import Kind
from nodewise.records.question import ComparisonQuestion, check_contenders


class _Promise(TypedDict):
    experiment: str
    taken_at: str
    one: str
    other: str
    ratio: Positive
    low: Positive
    high: Positive
    launch_line: str
    command: Sequence[str]
    differences: Sequence[str]
    notes: Sequence[str]


class _Confirm(ComparisonQuestion):
    kind: Literal["confirm"]
    promise: _Promise


def _check(question: Mapping[str, Any]) -> None:
    check_contenders(question)
    names = {c["name"] for c in question["contenders"]}
    if {question["promise"]["one"], question["promise"]["other"]} - names:
        raise ShapeError("promise", "it is of no command that was run")


KIND = Kind(
    name="confirm",
    question=_Confirm,
    check=_check,
    judge="nodewise.verdicts.judge:judge_confirm",
    verdict="nodewise.verdicts.confirm:ConfirmVerdict",
    text="nodewise.report.text.confirm:confirm_text",
    page="nodewise.report.pages.compare:confirm_page",
    figures="nodewise.report.figures.experiment:comparison_files",
    rows="nodewise.report.exports.rows:sample_rows_csv",
    command="nodewise.cli.commands.confirm:command",
    points="nodewise.history.points:comparison_points",
)
