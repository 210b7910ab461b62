# SPDX-License-Identifier: BSD-3-Clause
"""Tune: the settings of one program are searched, and the best one is confirmed against the way it is started now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from nodewise.base.shapes import Scalar, Share
from nodewise.records.earlier import Earlier
from nodewise.records.kind import Kind
from nodewise.records.question import BlocksQuestion
from nodewise.runner.launch import Start
from nodewise.runner.loaded import Loaded


class _Knob(TypedDict):
    title: str
    variable: str
    source: str
    exact: bool
    share: NotRequired[Share | None]
    why: Mapping[str, str]
    sources: NotRequired[Mapping[str, str]]


class _Wanted(TypedDict):
    parameters: Mapping[str, Sequence[Scalar]]
    variables: Mapping[str, Sequence[Scalar]]
    build: str | None
    constraints: Sequence[str]
    isolation: NotRequired[Sequence[str]]


class _Tune(BlocksQuestion):
    kind: Literal["tune"]
    wanted: _Wanted
    start: NotRequired[Start]
    defaults: NotRequired[Mapping[str, Scalar]]
    earlier: NotRequired[Sequence[Earlier]]
    refuted: NotRequired[bool]
    loaded: NotRequired[Loaded | None]
    knobs: NotRequired[Mapping[str, _Knob]]


KIND = Kind(
    name="tune",
    question=_Tune,
    judge="nodewise.verdicts.judge:judge_tune",
    verdict="nodewise.verdicts.tune:TuneVerdict",
    text="nodewise.report.text.tune:tune_text",
    page="nodewise.report.pages.tune:tune_page",
    figures="nodewise.report.figures.experiment:tune_files",
    rows="nodewise.report.exports.rows:sample_rows_csv",
    command="nodewise.cli.commands.tune:command",
    written=("report", "script"),
    phase="confirm",
    promise="nodewise.verdicts.confirm:promised_by_tune",
    points="nodewise.history.points:tune_points",
    learned="nodewise.history.learned:learned_of",
)
