# SPDX-License-Identifier: BSD-3-Clause
"""What a comparison is to a continuous integration: for each command whether it passes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from nodewise.base.frozen import dataclass

if TYPE_CHECKING:
    from nodewise.statistics.verdict import Word
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored
    from nodewise.verdicts.suite import SuiteRow, SuiteVerdict


class State(StrEnum):
    """Whether a command passes; `open` where the runs do not say, `broken` where it did not run at all."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"
    BROKEN = "broken"


@dataclass(frozen=True)
class Outcome:
    """Of a command, or ` (baseline)` behind it against what it was then: whether it passes, and why.

    `seconds` is the time of a run, by median (None: none); `value` the median of the `metric` that decides, where that is another one.
    """

    name: str
    state: State
    message: str
    seconds: float | None = None
    metric: str = ""
    value: float | None = None


def outcomes(stored: Stored[Comparison]) -> list[Outcome]:
    """One for each command, and each that was held against an earlier experiment.

    Without a threshold (`--fail-if-slower`) a command fails that is slower than the reference by more than counts as none.
    """
    from nodewise.statistics.verdict import Word
    from nodewise.verdicts.confirm import comparison_of
    from nodewise.verdicts.gate import gate_of

    verdict, threshold = comparison_of(stored), stored.experiment.question.get("threshold")
    gate = gate_of(verdict, threshold)

    def state(name: str, word: Word | None) -> State:
        if name in gate.failed or name in gate.slower or (threshold is None and word == Word.SLOWER):
            return State.FAILED
        return State.OPEN if name in gate.undecided else State.PASSED

    found = []
    for one in verdict.contenders:
        pair = one.against_reference
        word, said = (None, "the reference") if pair is None else (pair.verdict, pair.sentence)
        measured = _measured(verdict.metric, one.median, one.medians.get("wall_s"))
        found.append(Outcome(one.name, state(one.name, word), one.error or said, *measured))
    for then in verdict.baseline.pairs if verdict.baseline is not None else ():
        name = f"{then.name} (baseline)"
        if not then.comparable:
            # what was to hold against the baseline, of which nothing could be compared, does not hold
            kept = State.OPEN if threshold is None or not gate.incomparable else State.FAILED
            found.append(Outcome(name, kept, then.sentence or "cannot be compared"))
            continue
        found.append(Outcome(name, state(name, then.verdict), then.sentence or ""))
    return found


def _measured(metric: str, median: float | None, wall_s: float | None) -> tuple[float | None, str, float | None]:
    """The time of a run, and what decides where that is not the time."""
    return (median, "", None) if metric == "seconds" else (wall_s, metric, median)


def outcomes_of_suite(verdict: SuiteVerdict) -> list[Outcome]:
    """One for each command of a suite; without a threshold one fails that is slower than it was by more than counts as none."""
    from nodewise.statistics.verdict import Word

    def state(row: SuiteRow) -> State:
        slower = row.slower or (verdict.threshold is None and row.then is not None and row.then.verdict == Word.SLOWER)
        if row.error is not None or slower:
            return State.FAILED
        return State.OPEN if row.undecided else State.PASSED

    return [
        Outcome(row.name, state(row), row.error or row.told, *_measured(row.metric, row.median, row.wall_s))
        for row in verdict.rows
    ]


def outcomes_of_stopped(commands: Mapping[str, str], why: str) -> list[Outcome]:
    """One for each command, given by name and text, where `why`, which begins with its text, says that one did not run."""
    broken = [name for name, text in commands.items() if why.startswith(f"{text}: ")] or list(commands)
    return [
        Outcome(name, State.BROKEN, why)
        if name in broken
        else Outcome(name, State.OPEN, "not compared, as another command does not run")
        for name in commands
    ]
