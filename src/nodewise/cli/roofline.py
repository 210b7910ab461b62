# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise study --roofline`: the machine's roofs, and the studies' kernels below them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nodewise.cli.experiments import result_place
from nodewise.cli.masked_terminal import redrawn

if TYPE_CHECKING:
    from nodewise.experiments.roofline import RooflineProgress


def run_roofline(
    threads: int | None, name: str | None, out: Path | None, as_json: bool, budget: float | None, wait: bool
) -> None:
    """Measure, keep and print it; `name` is of one study, None for all."""
    from rich.console import Console

    from nodewise.api.roofline import prepare_roofline
    from nodewise.cli.experiments import print_note
    from nodewise.cli.keeping import print_answer
    from nodewise.report.exports.layout import caption_of
    from nodewise.report.exports.pictures import write_pictures
    from nodewise.report.figures.roofline import roofline_figure
    from nodewise.report.pages.write import write_page
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.stored import read_stored

    folder = result_place(out, "roofline")
    asked = prepare_roofline(
        folder,
        studies=(name,) if name else (),
        threads=threads,
        budget=budget,
        wait=wait,
        asked=("nodewise", *sys.argv[1:]),
    )
    status = Console(file=redrawn(sys.stderr)).status("starting")

    def show(progress: RooflineProgress) -> None:
        status.update(f"run {progress.done + 1} of about {progress.runs}: {progress.what}")

    with status:
        result = asked.answer(show, print_note)
    page = write_page(folder)
    figures = {"roofline": roofline_figure(result)}
    caption = caption_of(read_stored(folder))
    pictures = [write_pictures(figures, folder / f"roofline.{kind}", kind, caption)[0] for kind in ("svg", "png")]
    if as_json:
        print(json.dumps(encode(result, report=page), indent=1))
        return
    print_answer(read_stored(folder))
    print(f"report    {page}")
    print(f"picture   {pictures[1]}")
