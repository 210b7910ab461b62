# SPDX-License-Identifier: BSD-3-Clause
"""Integer sort, class B, one thread and two: every contender of the study, interleaved, with the limit beside it."""

from nodewise.api.study import StudyQuestion, run_study
from nodewise.runner.local import LocalLauncher
from nodewise.studies.discovery import find_study

BLOCKS = 11


def main() -> None:
    """Print a table for each number of threads, and the best variant over the published algorithm."""
    found = find_study("is")
    for threads in (1, 2):
        question = StudyQuestion(found, found.study.point({"class": "B"}), threads, blocks=BLOCKS, seconds=600)
        with LocalLauncher() as launcher:
            result = run_study(question, launcher)
        print(f"class B, {threads} threads, {result['blocks']} blocks")
        for row in result["rows"]:
            if row["not_run"]:
                print(f"  {row['contender']:<16} not run: {row['not_run']}")
                continue
            ratio, low, high = row["ratio_to_plain"]
            print(
                f"  {row['contender']:<16}{row['seconds'] * 1e3:>9.1f} ms{row['rate']:>9.0f} {row['unit']}"
                f"  {ratio:.2f}x ({low:.2f}-{high:.2f}) of {result['plain_variant']}, {row['share_of_limit']:.0%} of the limit"
            )
