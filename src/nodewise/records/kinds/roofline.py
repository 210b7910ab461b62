# SPDX-License-Identifier: BSD-3-Clause
"""Roofline: the machine's roofs, and the studies' kernels below them; `nodewise study --roofline` measures one."""

from __future__ import annotations

from typing import Literal

from nodewise.records.kind import Kind
from nodewise.records.question import CommonQuestion


class _Roofline(CommonQuestion):
    kind: Literal["roofline"]


KIND = Kind(
    name="roofline",
    question=_Roofline,
    keeps="result",
    verdict="nodewise.verdicts.roofline:RooflineVerdict",
    text="nodewise.report.text.roofline:roofline_text",
    page="nodewise.report.pages.roofline:roofline_page",
    figures="nodewise.report.figures.roofline:roofline_files",
    rows="nodewise.report.exports.rows:kernel_rows_csv",
    again="nodewise study --roofline",
    points="nodewise.history.points:roofline_points",
)
