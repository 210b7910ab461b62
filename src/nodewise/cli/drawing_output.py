# SPDX-License-Identifier: BSD-3-Clause
"""A drawing written into files: SVG as it is, PNG by the same library that makes the report's figures."""

from __future__ import annotations

from pathlib import Path

from nodewise.base.errors import InputError

#: Pixels of a PNG for one of the SVG's.
_SCALE = 2.0


def write_drawing(svg: Path | None, png: Path | None, drawing: str) -> None:
    """Write an SVG text into one file or both, each whole. Raises StoreError where that fails, InputError where a name ends otherwise."""
    from nodewise.base.files import write_whole

    for path, ending in ((svg, ".svg"), (png, ".png")):
        if path is not None and path.suffix and path.suffix.lower() != ending:
            option = f"--{ending[1:]}"
            raise InputError(
                f"{option} writes {ending[1:].upper()}, and {path} ends otherwise", f"name it {path.stem}{ending}"
            )

    if svg is not None:
        write_whole(svg, drawing)
    if png is not None:
        import vl_convert

        write_whole(png, vl_convert.svg_to_png(drawing, scale=_SCALE))
