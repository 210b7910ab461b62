# SPDX-License-Identifier: BSD-3-Clause
"""A drawing written into files: SVG as it is, PNG by the same library that makes the report's figures."""

from __future__ import annotations

from pathlib import Path

#: Pixels of a PNG for one of the SVG's.
_SCALE = 2.0


def write_drawing(svg: Path | None, png: Path | None, drawing: str) -> None:
    """Write an SVG text into one file or both, each whole. Raises StoreError where that fails."""
    from nodewise.base.files import write_whole

    if svg is not None:
        write_whole(svg, drawing)
    if png is not None:
        import vl_convert

        write_whole(png, vl_convert.svg_to_png(drawing, scale=_SCALE))
