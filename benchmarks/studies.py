# SPDX-License-Identifier: BSD-3-Clause
"""Every study at its points, one thread and two: variants, peers and limits interleaved, each against the best peer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.experiments.study import StudyQuestion, run_study
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.studies.discovery import find_study, study_names

BLOCKS = 9
_TIMEOUT_S = 900


def main(*names: str) -> None:
    """Print a table for each study (those named, or all), point and number of threads."""
    for name in names or study_names():
        study = find_study(name).study
        for point in study.bench:
            for threads in (1, 2):
                _one(name, study.point(point), threads)


def _one(name: str, point: Mapping[str, str], threads: int) -> None:
    found = find_study(name)
    question = StudyQuestion(found, point, threads, blocks=BLOCKS, seconds=240)
    with LocalLauncher(RunOptions(timeout_s=_TIMEOUT_S)) as launcher:
        result = run_study(question, launcher)
    shown = ", ".join(f"{k} {v}" for k, v in result["point"].items())
    print(f"{name}: {shown}, {threads} threads, {result['blocks']} blocks", flush=True)
    for row in result["rows"]:
        print(_line(row, result["plain_variant"]), flush=True)


def _line(row: Mapping[str, Any], plain: str) -> str:
    head = f"  {row['contender']:<20}{row['kind']:<9}"
    if row["not_run"]:
        return f"{head}not run: {row['not_run']}"
    parts = [f"{head}{row['seconds'] * 1e3:>10.2f} ms {row['rate']:>9.4g} {row['unit']:<9}"]
    if row["ratio_to_best_peer"] is not None:
        span = f"({row['low']:.2f}-{row['high']:.2f})" if row["low"] is not None and row["high"] is not None else ""
        parts.append(f"{row['ratio_to_best_peer']:.2f}x {span} of the best peer")
    if row["ratio_to_plain"] is not None:
        parts.append(f"{row['ratio_to_plain'][0]:.2f}x of {plain}")
    if row["share_of_limit"] is not None:
        parts.append(f"{row['share_of_limit']:.0%} of the limit")
    return "  ".join(parts)
