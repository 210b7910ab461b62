# SPDX-License-Identifier: BSD-3-Clause
"""Roofs and the kernels below them, in lines of text."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from nodewise.report.pages.roofline import kernel_table, roof_table
from nodewise.report.text.rows import drawn
from nodewise.verdicts.roofline import ABOVE_ROOF, RooflineVerdict
from nodewise.verdicts.stored import Stored

_LOOK: dict[str, Any] = {"box": None, "padding": (0, 2, 0, 0), "title_justify": "left"}
_NUMERIC = ("best block", "median", "flop/byte", "GFLOP/s", "roof, GFLOP/s", "reached")


def roofline_text(stored: Stored[RooflineVerdict], width: int) -> str:
    """Roofs and kernels, and what was not placed or cannot be."""
    result = stored.verdict
    roofs = Table(title=f"roofs, {result.threads} thread{'s' * (result.threads != 1)}", **_LOOK)
    for heading in ("roof", "best block", "median", "measured by"):
        roofs.add_column(heading, justify="right" if heading in _NUMERIC else "left", no_wrap=True)
    for row in roof_table(result):
        roofs.add_row(*map(escape, row))
    lines = [drawn(roofs, width), ""]
    heads, rows = kernel_table(result)
    if rows:
        kernels = Table(title="kernels", **_LOOK)
        for heading in heads:
            kernels.add_column(heading, justify="right" if heading in _NUMERIC else "left", no_wrap=heading != "at")
        for row in rows:
            kernels.add_row(*map(escape, row))
        lines.append(drawn(kernels, width))
    lines.append(f"{result.headline}: {result.sentence}")
    lines += [
        f"{one.study} {one.contender} is above its roof, which was lower than the machine's best when it was "
        "measured: look at `nodewise quiet`, and run it again when nothing else runs"
        for one in result.kernels
        if one.bound.share is not None and one.bound.share > ABOVE_ROOF
    ]
    return "\n".join([*lines, *(f"not placed: {left.study}: {left.why}" for left in result.left_out)])
