# SPDX-License-Identifier: BSD-3-Clause
"""The points of each kind of experiment: what of its verdict is looked at over time."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import Any

from nodewise.base.units import format_count
from nodewise.history.entry import TUNED, Point, point_of
from nodewise.records.commit import in_commit, of_checkout
from nodewise.runner.launch import quoted_line
from nodewise.runner.setting import BASELINE
from nodewise.verdicts.compare import COMPARE, CompareVerdict
from nodewise.verdicts.confirm import Comparison, comparison_of
from nodewise.verdicts.pair import values_of
from nodewise.verdicts.roofline import RoofKind, RooflineVerdict
from nodewise.verdicts.scale import SCALE, ScaleVerdict
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.study import StudyVerdict
from nodewise.verdicts.tune import CONFIRM, TuneVerdict


def program_of(command: str) -> str:
    """What a command is called in short: its program, without folders; of no program the text itself."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    # NAME=VALUE in front sets a variable
    first = next((w for w in words if "=" not in w.partition("/")[0]), "")
    return PurePath(first).name or command


def tune_points(stored: Stored[TuneVerdict]) -> list[Point]:
    """The program as it is started now, and where a gain is sure the setting that was found, in the runs that decided."""
    verdict, experiment = stored.verdict, stored.experiment
    line = quoted_line(verdict.baseline.command)
    roles = {BASELINE: ""} | ({} if verdict.best.key == BASELINE else {verdict.best.key: TUNED})
    made = []
    for key, role in roles.items():
        # without a confirmation those of the search are all there is
        values = values_of(experiment, key, CONFIRM) or values_of(experiment, key)
        failed = verdict.summary(key).failed
        made.append(_point(values, line, verdict, role=role, failed=failed))
    return [one for one in made if one is not None]


def comparison_points(stored: Stored[Comparison]) -> list[Point]:
    """Each command that was run, also by itself or to confirm a promise. One in a commit that was checked out for it is of the program where
    that is the working directory's commit, and else has the commit in its name."""
    verdict, experiment, here = comparison_of(stored), stored.experiment, stored.question.commit
    made = []
    for row in verdict.contenders:
        values = values_of(experiment, row.key, COMPARE)
        line, commit = of_checkout(row.command or row.name)
        if commit and (here is None or not here.hash.startswith(commit)):
            line = in_commit(line, commit)
        made.append(_point(values, line, verdict, failed=row.failed))
    return [one for one in made if one is not None]


def _point(
    values: list[float], line: str, verdict: TuneVerdict | CompareVerdict, role: str = "", failed: int = 0
) -> Point | None:
    named: dict[str, Any] = {"metric": verdict.metric, "maximise": verdict.maximise}
    return point_of(values, program_of(line), line, role=role, failed=failed, **named)


def scale_points(stored: Stored[ScaleVerdict]) -> list[Point]:
    """The program with each number of threads, ranks or nodes, in seconds."""
    verdict, experiment = stored.verdict, stored.experiment
    line = quoted_line(experiment.question["asked"])
    made = []
    for key, point in zip(experiment.question["settings"], verdict.points, strict=True):
        command = quoted_line(experiment.settings[key].command) if key in experiment.settings else line
        values = values_of(experiment, key, SCALE)
        made.append(
            point_of(
                values, program_of(command), f"{command}, {format_count(point.count, verdict.over.removesuffix('s'))}"
            )
        )
    return [one for one in made if one is not None]


def study_points(stored: Stored[StudyVerdict]) -> list[Point]:
    """Each contender of each run, in seconds."""
    made = []
    for verdict in stored.verdicts:
        at = " ".join(f"{k}={v}" for k, v in verdict.point.items())
        ranks = f" ranks={verdict.ranks}" if verdict.ranks > 1 else ""
        name = f"study {verdict.study} {at}{ranks} threads={verdict.threads}"
        for row in verdict.rows:
            times = [] if row.not_run else [t for t in row.times if t is not None]
            made.append(point_of(times, verdict.study, f"{name}: {row.contender}"))
    return [one for one in made if one is not None]


def roofline_points(stored: Stored[RooflineVerdict]) -> list[Point]:
    """Each roof, in operations or bytes a second: the median of its blocks."""
    verdict = stored.verdict
    units = {RoofKind.FLOPS: "flops/s", RoofKind.BANDWIDTH: "bytes/s"}
    return [
        Point(
            "roofline",
            f"roofline threads={verdict.threads}: {roof.name}",
            units[roof.kind],
            roof.median,
            None,
            None,
            None,
            verdict.blocks,
            maximise=True,
        )
        for roof in verdict.roofs
        if roof.median > 0
    ]
