# SPDX-License-Identifier: BSD-3-Clause
"""A kept result again, of whatever kind: its page, its figures, its rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nodewise.records.experiment import make_directory, write_whole
from nodewise.records.result_store import STUDY, read_result
from nodewise.report.roofline_figure import roofline_figure
from nodewise.report.roofline_page import roofline_page
from nodewise.report.study_figures import study_figures
from nodewise.report.study_page import study_page

_PAGES: dict[str, Callable[[Mapping[str, Any], Path], str]] = {"study": study_page, "roofline": roofline_page}


def stored_page(record: Mapping[str, Any], folder: Path) -> str:
    """The page's HTML."""
    return _PAGES[record["kind"]](record, folder)


def redraw_page(folder: Path) -> Path:
    """Write `report.html` of the result that a directory holds. Raises InputError, StoreError."""
    target = folder / "report.html"
    write_whole(target, stored_page(read_result(folder), folder))
    return target


def stored_charts(record: Mapping[str, Any]) -> dict[str, Any]:
    """The figures by the name of their file, the main one first."""
    return (
        study_figures(record["results"]) if record["kind"] == STUDY else {"roofline": roofline_figure(record["result"])}
    )


def write_stored_figures(record: Mapping[str, Any], target: Path, kind: str) -> list[Path]:
    """Write the figures as `svg` or `png`: all into a directory, or the main one into a file of that suffix.

    Raises StoreError.
    """
    import vl_convert

    def render(chart: Any) -> str | bytes:
        spec = chart.to_json()
        return vl_convert.vegalite_to_svg(spec) if kind == "svg" else vl_convert.vegalite_to_png(spec, scale=2)

    charts = stored_charts(record)
    if target.suffix == f".{kind}":
        charts = dict(list(charts.items())[:1])
    else:
        make_directory(target)
    paths = []
    for name, chart in charts.items():
        path = target if target.suffix == f".{kind}" else target / f"{name}.{kind}"
        write_whole(path, render(chart))
        paths.append(path)
    return paths


def stored_csv(record: Mapping[str, Any]) -> str:
    """The rows of a study's contenders, or of a roofline's kernels."""
    if record["kind"] == STUDY:
        rows = [{"study": r["study"], **row} for r in record["results"] for row in r["rows"]]
    else:
        rows = [dict(k) for k in record["result"]["kernels"]]
    flat = [_flat(row) for row in rows]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(n for row in flat for n in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return out.getvalue()


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Knobs and metrics as columns of their own; a ratio with its interval without that, and no times of single blocks."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        if name == "times":
            continue
        if isinstance(value, Mapping):
            made |= value
        else:
            made[name] = value[0] if isinstance(value, list | tuple) else value
    return made
