# SPDX-License-Identifier: BSD-3-Clause
"""Every study at its points, one thread and two: variants, peers and limits interleaved, each against the best peer."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.experiments.study import StudyQuestion, run_study
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.studies.discovery import find_study, study_names
from nodewise.verdicts.study import StudyRow, StudyVerdict

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
    print(f"{name}: {result.where}, {result.blocks} blocks", flush=True)
    for row in result.rows:
        print(_line(result, row), flush=True)


def _line(result: StudyVerdict, row: StudyRow) -> str:
    head = f"  {row.contender:<20}{row.kind:<9}"
    if row.seconds is None:
        return f"{head}not run: {row.not_run}"
    parts = [f"{head}{row.seconds * 1e3:>10.2f} ms {row.rate:>9.4g} {row.unit:<9}"]
    if (ratio := result.ratio_to_peer(row)) is not None:
        pair = row.against_peer
        span = f"({pair.low:.2f}-{pair.high:.2f})" if pair and pair.low is not None and pair.high is not None else ""
        parts.append(f"{ratio:.2f}x {span} of the best peer")
    if (ratio := result.ratio_to_plain(row)) is not None:
        parts.append(f"{ratio:.2f}x of {result.plain_variant}")
    if row.share_of_limit is not None:
        parts.append(f"{row.share_of_limit:.0%} of the limit")
    return "  ".join(parts)
