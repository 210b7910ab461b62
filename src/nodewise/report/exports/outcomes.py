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
    """Of a command, or ` (baseline)` behind it against what it was then: its median in the metric's unit (None: none), and why."""

    name: str
    median: float | None
    state: State
    message: str


def outcomes(stored: Stored[Comparison]) -> list[Outcome]:
    """One for each command, and each that was held against an earlier experiment.

    Without a threshold (`--fail-if-slower`) a command fails that is slower than the reference by more than counts as none.
    """
    from nodewise.statistics.verdict import Word
    from nodewise.verdicts.confirm import comparison_of
    from nodewise.verdicts.gate import gate_of

    verdict, threshold = comparison_of(stored), stored.experiment.question.get("threshold")
    gate = gate_of(verdict, threshold)
    found: list[tuple[str, float | None, Word | None, str]] = []
    for one in verdict.contenders:
        pair = one.against_reference
        if pair is None:
            found.append((one.name, one.median, None, one.error or "the reference"))
        else:
            found.append((one.name, one.median, pair.verdict, one.error or pair.sentence))
    then = verdict.baseline.pairs if verdict.baseline is not None else ()
    found += [(f"{p.name} (baseline)", None, p.verdict, p.sentence or "cannot be compared") for p in then]

    def state(name: str, word: Word | None) -> State:
        if name in gate.failed or name in gate.slower or (threshold is None and word == Word.SLOWER):
            return State.FAILED
        return State.OPEN if name in gate.undecided else State.PASSED

    return [Outcome(name, median, state(name, word), message) for name, median, word, message in found]


def outcomes_of_suite(verdict: SuiteVerdict) -> list[Outcome]:
    """One for each command of a suite; without a threshold one fails that is slower than it was by more than counts as none."""
    from nodewise.statistics.verdict import Word

    def state(row: SuiteRow) -> State:
        slower = row.slower or (verdict.threshold is None and row.then is not None and row.then.verdict == Word.SLOWER)
        if row.error is not None or slower:
            return State.FAILED
        return State.OPEN if row.undecided else State.PASSED

    return [Outcome(row.name, row.median, state(row), row.error or row.told) for row in verdict.rows]


def outcomes_of_stopped(commands: Mapping[str, str], why: str) -> list[Outcome]:
    """One for each command, given by name and text, where `why`, which begins with its text, says that one did not run."""
    broken = [name for name, text in commands.items() if why.startswith(f"{text}: ")] or list(commands)
    return [
        Outcome(name, None, State.BROKEN, why)
        if name in broken
        else Outcome(name, None, State.OPEN, "not compared, as another command does not run")
        for name in commands
    ]
