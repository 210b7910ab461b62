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
    from pathlib import Path

    from nodewise.pipelines.result import PipelineResult

#: How often there is a line where no terminal is, and how often the page is written again, in seconds.
_EVERY_S, _PAGE_S = 10.0, 2.0


def write_page(path: Path, found: PipelineResult | None, file: str = "") -> None:
    """Write the page of a result, or of a pipeline of which there is nothing yet. Raises StoreError."""
    from nodewise.base.files import write_whole
    from nodewise.report.pages.pipeline import beginning_page, pipeline_page

    write_whole(path, pipeline_page(found) if found is not None else beginning_page(file))


class PipelineProgress:
    """A context manager whose `show` is told how a pipeline goes; nothing is printed where it is `quiet`, and written where there is no `html`."""

    def __init__(self, quiet: bool, html: Path | None = None):
        self._quiet, self._html = quiet, html
        self._written = 0.0
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
        if self._html is not None and time.monotonic() - self._written > _PAGE_S:
            write_page(self._html, now)
            self._written = time.monotonic()
        if self._quiet:
            return
        if self._console.is_terminal:
            self._live.update(
                Text(shown("\n".join(pipeline_lines(now))), overflow="ellipsis", no_wrap=True), refresh=True
            )
        elif time.monotonic() - self._last > _EVERY_S:
            self._console.print(shown(f"{now.seconds:.0f} s: {now.sentence}"), soft_wrap=True)
            self._last = time.monotonic()
