# SPDX-License-Identifier: BSD-3-Clause
"""Every study, one thread and two: its contenders interleaved, with the limit beside them."""

from nodewise.api.study import StudyQuestion, run_study
from nodewise.runner.local import LocalLauncher
from nodewise.studies.discovery import find_study, study_names

BLOCKS = 11


def main() -> None:
    """Print a table for each study and number of threads, each row against the study's plain variant."""
    for name in study_names():
        for threads in (1, 2):
            _one(name, threads)


def _one(name: str, threads: int) -> None:
    found = find_study(name)
    question = StudyQuestion(found, found.study.point({}), threads, blocks=BLOCKS, seconds=600)
    with LocalLauncher() as launcher:
        result = run_study(question, launcher)
    point = ", ".join(f"{k} {v}" for k, v in result["point"].items())
    print(f"{name}: {point}, {threads} threads, {result['blocks']} blocks")
    for row in result["rows"]:
        if row["not_run"]:
            print(f"  {row['contender']:<16} not run: {row['not_run']}")
            continue
        ratio, low, high = row["ratio_to_plain"]
        print(
            f"  {row['contender']:<16}{row['seconds'] * 1e3:>9.1f} ms{row['rate']:>9.0f} {row['unit']}"
            f"  {ratio:.2f}x ({low:.2f}-{high:.2f}) of {result['plain_variant']}, {row['share_of_limit']:.0%} of the limit"
        )
