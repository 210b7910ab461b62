# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment that is running reports."""

from __future__ import annotations

from nodewise.base.frozen import dataclass


@dataclass(frozen=True)
class Progress:
    """Where an experiment is: `phase` (of a tune `first run`, `search`, `confirm`), what was spent, and the leader so far with its speedup.

    `disturbed` of the runs had marks of what comes and goes, `by` what most of them met (`other load`).
    """

    phase: str
    runs: int
    seconds: float
    leader: str | None = None
    speedup: float | None = None
    racing: int = 0
    disturbed: int = 0
    by: str = ""


@dataclass(frozen=True)
class StudyProgress:
    """Which contender is running, in which block; block 0 is before them, where what holds for all runs is found."""

    block: int
    blocks: int
    contender: str
    seconds: float
