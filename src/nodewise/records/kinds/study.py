# SPDX-License-Identifier: BSD-3-Clause
"""Study: the variants of a program family, its peers and the machine's limit."""

from __future__ import annotations

from typing import Literal, NotRequired

from nodewise.records.kind import Kind
from nodewise.records.question import CommonQuestion


class _Study(CommonQuestion):
    kind: Literal["study"]
    readme: NotRequired[str]


KIND = Kind(
    name="study",
    question=_Study,
    keeps="results",
    verdict="nodewise.verdicts.study:StudyVerdict",
    text="nodewise.report.text.study:study_text",
    page="nodewise.report.pages.study:study_page",
    figures="nodewise.report.figures.study:study_files",
    rows="nodewise.report.exports.rows:study_rows_csv",
    command="nodewise.cli.commands.study:command",
    points="nodewise.history.points:study_points",
)
