# SPDX-License-Identifier: BSD-3-Clause
"""The progress line of a tune, on standard error: redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from nodewise.base.units import format_seconds
from nodewise.cli.masked_terminal import redrawn, shown
from nodewise.experiments.progress import Progress
from nodewise.records.budget import Budget
from nodewise.statistics.disturbance import mostly
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.verdict import format_factor

_EVERY_S = 10.0


class ProgressLine:
    """A context manager whose `show` is the observer of a tune."""

    def __init__(self, budget: Budget):
        self._budget = budget
        self._console = Console(file=redrawn(sys.stderr), highlight=False)
        self._live = Live(console=self._console, transient=True, refresh_per_second=8)
        self._last = 0.0
        self._phase = ""

    def __enter__(self) -> ProgressLine:
        if self._console.is_terminal:
            self._live.start()
            self._live.update(Text("starting"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, progress: Progress) -> None:
        """Say where the tune is."""
        text = shown(self._line(progress))
        if self._console.is_terminal:
            self._live.update(Text(text, overflow="ellipsis", no_wrap=True))
        elif progress.runs and (progress.phase != self._phase or time.monotonic() - self._last > _EVERY_S):
            self._console.print(text, soft_wrap=True)
            self._last = time.monotonic()
        self._phase = progress.phase

    def _line(self, progress: Progress) -> str:
        limit = f" of {format_seconds(self._budget.seconds)}" if self._budget.seconds is not None else ""
        runs = f"{progress.runs}" + (f" of {self._budget.runs}" if self._budget.runs is not None else "")
        parts = [f"{progress.phase}: run {runs}, {format_seconds(progress.seconds)}{limit}"]
        if progress.runs >= FEWEST_BLOCKS and mostly(progress.disturbed, progress.runs):
            parts.append(f"{progress.disturbed} of {progress.runs} runs met {progress.by}")
        if progress.phase == "search":
            parts.append(f"{progress.racing} setting{'s' * (progress.racing != 1)} in the race")
        if progress.leader:
            # what is tried or confirmed first may turn out slower: then nothing leads but the program as it is
            slower = progress.speedup is not None and progress.speedup < 1
            gain = f" ({format_factor(progress.speedup)} so far)" if progress.speedup else ""
            parts.append("none faster so far" if slower else f"leader {progress.leader}{gain}")
        return " · ".join(parts)
