# SPDX-License-Identifier: BSD-3-Clause
"""Figures as files: SVG or PNG, all of them in a directory or the main one by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.files import make_directory, write_whole
from nodewise.report.exports.rendering import chart_to_png, chart_to_svg, svg_to_png


def write_pictures(figures: Mapping[str, Any], target: Path, kind: str) -> list[Path]:
    """Write charts, and texts of SVG, as `svg` or `png`: the first alone where `target` has that suffix, else all, as files of a directory.

    Raises InputError for a file of another kind or without figures, StoreError where one cannot be written, UnavailableError
    without vl-convert.
    """
    if not figures:
        raise InputError("there is no figure to write: too little was measured")

    def rendered(figure: Any) -> str | bytes:
        if isinstance(figure, str):
            return figure if kind == "svg" else svg_to_png(figure)
        spec = figure.to_json()
        return chart_to_svg(spec) if kind == "svg" else chart_to_png(spec)

    if target.suffix == f".{kind}":
        write_whole(target, rendered(next(iter(figures.values()))))
        return [target]
    if target.suffix and not target.is_dir():
        raise InputError(
            f"{target} is no name of a {kind.upper()}", f"name a directory, or a file that ends in .{kind}"
        )
    make_directory(target)
    # all are made before the first is written
    contents = {target / f"{name}.{kind}": rendered(figure) for name, figure in figures.items()}
    for path, content in contents.items():
        write_whole(path, content)
    return list(contents)
