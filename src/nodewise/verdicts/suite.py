# SPDX-License-Identifier: BSD-3-Clause
"""What measuring a suite of commands found: a row for each."""

from __future__ import annotations

from nodewise.base.frozen import dataclass
from nodewise.verdicts.baseline import BaselinePair


@dataclass(frozen=True)
class SuiteRow:
    """One case: its median of `metric` with the 95% interval over `runs`, and where its experiment is kept.

    `wall_s` is how long a run took (seconds), by median, `warnings` what is to be known of the runs.
    `then` is it against the baseline (None: there is none, or it could not be compared, which `why` says), `slower` and
    `undecided` whether it stands in the way of a change. What could not be measured has an `error` and no median.
    """

    name: str
    command: str
    metric: str
    median: float | None
    low: float | None
    high: float | None
    runs: int
    failed: int
    error: str | None
    experiment: str
    then: BaselinePair | None = None
    why: str = ""
    slower: bool = False
    undecided: bool = False
    wall_s: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What is said of it against then; empty where it was held against nothing."""
        return (self.then.sentence if self.then is not None else None) or self.why


@dataclass(frozen=True)
class SuiteVerdict:
    """The rows of a suite's file, in its order; `left_out` are cases for other machines."""

    kind: str
    file: str
    rows: tuple[SuiteRow, ...]
    left_out: tuple[str, ...]
    threshold: float | None = None

    @property
    def failed(self) -> bool:
        """Whether a case could not be measured."""
        return any(row.error is not None for row in self.rows)

    @property
    def slower(self) -> bool:
        """Whether one is surely slower than is allowed."""
        return any(row.slower for row in self.rows)

    @property
    def undecided(self) -> bool:
        """Whether the runs leave it open of one."""
        return any(row.undecided for row in self.rows)
