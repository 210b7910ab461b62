# SPDX-License-Identifier: BSD-3-Clause
"""What a pipeline does right now, on standard error: redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from nodewise.cli.masked_terminal import redrawn, shown
from nodewise.report.text.pipeline import pipeline_lines

if TYPE_CHECKING:
    from nodewise.pipelines.result import PipelineResult

_EVERY_S = 10.0


class PipelineProgress:
    """A context manager whose `show` is told how a pipeline goes; none where it is `quiet`."""

    def __init__(self, quiet: bool):
        self._quiet = quiet
        self._console = Console(file=redrawn(sys.stderr), highlight=False)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._last = time.monotonic()

    def __enter__(self) -> PipelineProgress:
        if self._console.is_terminal and not self._quiet:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, now: PipelineResult) -> None:
        """Show the tables, or where no terminal is a line."""
        if self._quiet:
            return
        if self._console.is_terminal:
            self._live.update(
                Text(shown("\n".join(pipeline_lines(now))), overflow="ellipsis", no_wrap=True), refresh=True
            )
        elif time.monotonic() - self._last > _EVERY_S:
            self._console.print(shown(f"{now.seconds:.0f} s: {now.sentence}"), soft_wrap=True)
            self._last = time.monotonic()
