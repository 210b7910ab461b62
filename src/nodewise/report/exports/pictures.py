# SPDX-License-Identifier: BSD-3-Clause
"""Figures as files: SVG, PNG or PDF, all of them in a directory or the main one by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.files import make_directory, write_whole
from nodewise.report.exports.layout import laid_out
from nodewise.report.exports.rendering import chart_to_svg, svg_to_pdf, svg_to_png


def write_pictures(
    figures: Mapping[str, Any], target: Path, kind: str, caption: Sequence[str] = (), width: float | None = None
) -> list[Path]:
    """Write charts, and texts of SVG, as `svg`, `png` or `pdf`: the first alone where `target` has that suffix, else all, as files of a directory.

    Each has the lines of `caption` below it, and is `width` units of a drawing wide (None: as it is drawn on a page).
    Raises InputError for a file of another kind or without figures, StoreError where one cannot be written, UnavailableError
    without vl-convert.
    """
    if not figures:
        raise InputError("there is no figure to write: too little was measured")

    def rendered(figure: Any) -> str | bytes:
        svg = laid_out(figure, chart_to_svg, caption, width, in_points=kind == "pdf")
        if kind == "svg":
            return svg
        return svg_to_pdf(svg) if kind == "pdf" else svg_to_png(svg, print_quality=width is not None)

    if target.suffix == f".{kind}":
        write_whole(target, rendered(next(iter(figures.values()))))
        return [target]
    if target.suffix and not target.is_dir():
        raise InputError(
            f"{target} is no name of a {kind.upper()}", f"name a directory, or a file that ends in .{kind}"
        )
    if not target.absolute().parent.is_dir():
        raise InputError(f"--{kind}: no such directory: {target.absolute().parent}", "make it first")
    make_directory(target)
    # all are made before the first is written
    contents = {target / f"{name}.{kind}": rendered(figure) for name, figure in figures.items()}
    for path, content in contents.items():
        write_whole(path, content)
    return list(contents)
