# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise study --roofline`: the machine's roofs, and the studies' kernels below them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.cli.experiments import result_place

if TYPE_CHECKING:
    from nodewise.experiments.roofline import RooflineProgress
    from nodewise.verdicts.roofline import RooflineVerdict


def run_roofline(
    threads: int | None, name: str | None, out: Path | None, as_json: bool, budget: float | None, wait: bool
) -> None:
    """Measure, keep and tell it; `name` is of one study, None for all."""
    from rich.console import Console

    from nodewise.api.roofline import prepare_roofline
    from nodewise.cli.experiments import say_note
    from nodewise.report.exports.pictures import write_pictures
    from nodewise.report.figures.roofline import roofline_figure
    from nodewise.report.pages.write import write_page
    from nodewise.verdicts.encoding import encode

    folder = result_place(out, "roofline")
    asked = prepare_roofline(
        folder,
        studies=(name,) if name else (),
        threads=threads,
        budget=budget,
        wait=wait,
        asked=("nodewise", *sys.argv[1:]),
    )
    status = Console(stderr=True).status("starting")

    def show(progress: RooflineProgress) -> None:
        status.update(f"run {progress.done + 1} of about {progress.runs}: {progress.what}")

    with status:
        result = asked.answer(show, say_note)
    page = write_page(folder)
    figures = {"roofline": roofline_figure(result)}
    pictures = [write_pictures(figures, folder / f"roofline.{kind}", kind)[0] for kind in ("svg", "png")]
    if as_json:
        print(json.dumps(encode(result, report=page), indent=1))
        return
    tell_roofline(result)
    print(f"report    {page}")
    print(f"picture   {pictures[1]}")


def tell_roofline(result: RooflineVerdict) -> None:
    """Print roofs and kernels for people, and what was not placed or cannot be."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from nodewise.report.pages.roofline import kernel_table, roof_table
    from nodewise.verdicts.roofline import ABOVE_ROOF

    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    look: dict[str, Any] = {"box": None, "padding": (0, 2, 0, 0), "title_justify": "left"}
    roofs = Table(title=f"roofs, {result.threads} threads", **look)
    for heading in ("roof", "best block", "median", "measured by"):
        roofs.add_column(heading, justify="right" if heading in ("best block", "median") else "left", no_wrap=True)
    for row in roof_table(result):
        roofs.add_row(*map(escape, row))
    console.print(roofs)
    console.print()
    heads, rows = kernel_table(result)
    kernels = Table(title="kernels", **look)
    numeric = ("flop/byte", "GFLOP/s", "roof, GFLOP/s", "reached")
    for heading in heads:
        kernels.add_column(heading, justify="right" if heading in numeric else "left", no_wrap=heading != "at")
    for row in rows:
        kernels.add_row(*map(escape, row))
    if rows:
        console.print(kernels)
    console.print(f"{result.headline}: {result.sentence}", markup=False, highlight=False, soft_wrap=True)
    for one in result.kernels:
        if one.bound.share is not None and one.bound.share > ABOVE_ROOF:
            console.print(
                f"{one.study} {one.contender} is above its roof, which was lower than the machine's best when it was "
                "measured: look at `nodewise quiet`, and run it again when nothing else runs",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    for left in result.left_out:
        console.print(f"not placed: {left.study}: {left.why}", markup=False, highlight=False, soft_wrap=True)
