# SPDX-License-Identifier: BSD-3-Clause
"""Run: one command is measured by itself."""

from __future__ import annotations

from typing import Literal

from nodewise.records.kind import Kind
from nodewise.records.question import ComparisonQuestion, check_contenders


class _Run(ComparisonQuestion):
    kind: Literal["run"]


KIND = Kind(
    name="run",
    question=_Run,
    check=check_contenders,
    judge="nodewise.verdicts.judge:judge_comparison",
    verdict="nodewise.verdicts.compare:CompareVerdict",
    text="nodewise.report.text.run:run_text",
    page="nodewise.report.pages.compare:compare_page",
    figures="nodewise.report.figures.experiment:comparison_files",
    rows="nodewise.report.exports.rows:sample_rows_csv",
    command="nodewise.cli.commands.run:command",
    printed="nodewise.verdicts.run:RunSummary",
    points="nodewise.history.points:comparison_points",
    undisturbed=True,
)
