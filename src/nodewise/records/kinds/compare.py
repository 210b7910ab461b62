# SPDX-License-Identifier: BSD-3-Clause
"""Compare: commands are compared with each other."""

from __future__ import annotations

from typing import Literal

from nodewise.records.kind import Kind
from nodewise.records.question import ComparisonQuestion, check_contenders


class _Compare(ComparisonQuestion):
    kind: Literal["compare"]


KIND = Kind(
    name="compare",
    question=_Compare,
    check=check_contenders,
    judge="nodewise.verdicts.judge:judge_comparison",
    verdict="nodewise.verdicts.compare:CompareVerdict",
    text="nodewise.report.text.comparison:comparison_text",
    page="nodewise.report.pages.compare:compare_page",
    figures="nodewise.report.figures.experiment:comparison_files",
    rows="nodewise.report.exports.rows:sample_rows_csv",
    command="nodewise.cli.commands.compare:command",
    promise="nodewise.verdicts.confirm:promised_by_compare",
    points="nodewise.history.points:comparison_points",
)
