# SPDX-License-Identifier: BSD-3-Clause
"""A drawing written into files: SVG as it is, PNG by the same library that makes the report's figures."""

from __future__ import annotations

from pathlib import Path

from nodewise.base.errors import InputError


def write_drawing(svg: Path | None, png: Path | None, drawing: str) -> None:
    """Write an SVG text into one file or both, each whole. Raises StoreError where that fails, InputError where a name ends otherwise."""
    from nodewise.base.files import write_whole

    for path, ending in ((svg, ".svg"), (png, ".png")):
        if path == Path("-"):
            raise InputError(f"--{ending[1:]} draws into a file, and - is none", f"name one, such as drawing{ending}")
        if path is not None and path.suffix and path.suffix.lower() != ending:
            option = f"--{ending[1:]}"
            raise InputError(
                f"{option} writes {ending[1:].upper()}, and {path} ends otherwise", f"name it {path.stem}{ending}"
            )

    if svg is not None:
        write_whole(svg, drawing)
    if png is not None:
        from nodewise.report.exports.rendering import svg_to_png

        write_whole(png, svg_to_png(drawing))
