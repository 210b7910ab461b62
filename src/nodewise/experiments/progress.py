# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment that is running reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Where a tune is: `phase` (`first run`, `search`, `confirm`), what was spent, and the leader so far with its speedup."""

    phase: str
    runs: int
    seconds: float
    leader: str | None = None
    speedup: float | None = None
    racing: int = 0
