# SPDX-License-Identifier: BSD-3-Clause
"""Figures as files: SVG or PNG, all of them in a directory or the main one by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.files import make_directory, write_whole

#: Pixels for each unit of a drawing.
_SCALE = 2


def write_pictures(
    charts: Mapping[str, Any], target: Path, kind: str, drawings: Mapping[str, str] | None = None
) -> list[Path]:
    """Write charts as `svg` or `png`, the first alone where `target` has that suffix, else all as files of a directory.

    `drawings` are texts of SVG that a directory gets besides. Raises InputError for a file of another kind, StoreError where
    one cannot be written.
    """
    import vl_convert

    def rendered(chart: Any) -> str | bytes:
        spec = chart.to_json()
        return vl_convert.vegalite_to_svg(spec) if kind == "svg" else vl_convert.vegalite_to_png(spec, scale=_SCALE)

    if target.suffix == f".{kind}":
        write_whole(target, rendered(next(iter(charts.values()))))
        return [target]
    if target.suffix and not target.is_dir():
        raise InputError(
            f"{target} is no name of a {kind.upper()}", f"name a directory, or a file that ends in .{kind}"
        )
    make_directory(target)
    contents = {name: rendered(chart) for name, chart in charts.items()}
    for name, svg in (drawings or {}).items():
        contents[name] = svg if kind == "svg" else vl_convert.svg_to_png(svg, scale=_SCALE)
    paths = {target / f"{name}.{kind}": content for name, content in contents.items()}
    for path, content in paths.items():
        write_whole(path, content)
    return list(paths)
