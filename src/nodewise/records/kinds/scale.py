# SPDX-License-Identifier: BSD-3-Clause
"""Scale: how a program's time goes with the number of threads, ranks or nodes, and what that lets expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nodewise.base.shapes import Count, Positive, ShapeError
from nodewise.records.kind import Kind
from nodewise.records.question import BlocksQuestion


class _Scale(BlocksQuestion):
    kind: Literal["scale"]
    over: Literal["threads", "ranks", "nodes"]
    counts: Sequence[Count]
    settings: Sequence[str]
    per_node: Count
    weak: bool
    to: Sequence[Count]
    by: str
    by_epoch_s: Positive | None
    times: Positive


def _check(question: Mapping[str, Any]) -> None:
    """Raises ShapeError where counts do not ascend from 1, or have no settings of their own."""
    counts, settings = list(question["counts"]), question["settings"]
    if not counts or counts[0] < 1 or counts != sorted(set(counts)):
        raise ShapeError("counts", "they do not ascend from 1 or more")
    if len(settings) != len(counts) or len(set(settings)) != len(settings):
        raise ShapeError("settings", "they are not one for each count")
    if any(n < 1 for n in question["to"]):
        raise ShapeError("to", "there is a number below 1")


KIND = Kind(
    name="scale",
    question=_Scale,
    check=_check,
    judge="nodewise.verdicts.scale:judge_scale",
    verdict="nodewise.verdicts.scale:ScaleVerdict",
    text="nodewise.report.text.scale:scale_text",
    page="nodewise.report.pages.scale:scale_page",
    figures="nodewise.report.figures.scale:scale_files",
    rows="nodewise.report.exports.rows:sample_rows_csv",
    command="nodewise.cli.commands.scale:command",
    phase="scale",
    points="nodewise.history.points:scale_points",
)
