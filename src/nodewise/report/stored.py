# SPDX-License-Identifier: BSD-3-Clause
"""A kept result again, of whatever kind: its page, its figures, its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from nodewise.base.files import write_whole
from nodewise.report.csv_cells import csv_of
from nodewise.report.pictures import write_pictures
from nodewise.report.roofline_figure import roofline_figure
from nodewise.report.roofline_page import roofline_page
from nodewise.report.study_figures import study_figures
from nodewise.report.study_page import study_page
from nodewise.verdicts.kept import KeptRoofline, KeptStudy, read_kept
from nodewise.verdicts.roofline import Kernel
from nodewise.verdicts.study import StudyRow, StudyVerdict

Kept = KeptStudy | KeptRoofline
#: What no column of a table holds: times of single blocks.
_LEFT_OUT = ("times",)


def stored_page(kept: Kept, folder: Path) -> str:
    """The page's HTML."""
    return study_page(kept, folder) if isinstance(kept, KeptStudy) else roofline_page(kept, folder)


def redraw_page(folder: Path) -> Path:
    """Write `report.html` of the result that a directory holds. Raises InputError, StoreError."""
    target = folder / "report.html"
    write_whole(target, stored_page(read_kept(folder), folder))
    return target


def stored_charts(kept: Kept) -> dict[str, Any]:
    """The figures by the name of their file, the main one first."""
    return study_figures(kept.results) if isinstance(kept, KeptStudy) else {"roofline": roofline_figure(kept.result)}


def write_stored_figures(kept: Kept, target: Path, kind: str) -> list[Path]:
    """Write the figures as `svg` or `png`: see `write_pictures`."""
    return write_pictures(stored_charts(kept), target, kind)


def stored_csv(kept: Kept) -> str:
    """The rows of a study's contenders, or of a roofline's kernels; knobs and metrics are columns of their own."""
    if isinstance(kept, KeptStudy):
        flat = [_study_row(result, row) for result in kept.results for row in result.rows]
    else:
        flat = [_kernel(one) for one in kept.result.kernels]
    return csv_of(list(dict.fromkeys(n for row in flat for n in row)), flat)


def _study_row(result: StudyVerdict, row: StudyRow) -> dict[str, Any]:
    pair = row.against_peer
    peer = {
        "best_peer": pair and pair.one,
        "ratio_to_best_peer": result.ratio_to_peer(row),
        "low": pair and pair.low,
        "high": pair and pair.high,
        "verdict": pair and pair.verdict,
        "reason": pair.reason if pair else "",
    }
    own = {"ratio_to_plain": result.ratio_to_plain(row)}
    return {"study": result.study, **_flat(row, {"against_peer": peer, "against_plain": own})}


def _kernel(one: Kernel) -> dict[str, Any]:
    bound = {"peak": one.bound.peak, "bound": one.bound.name, "roof": one.bound.roof, "share": one.bound.share}
    return _flat(one, {"bound": bound})


def _flat(row: StudyRow | Kernel, comparisons: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The fields as columns in their order, those of a comparison as the columns that are given for it."""
    made: dict[str, Any] = {}
    for name in (f.name for f in fields(row) if f.name not in _LEFT_OUT):
        value = comparisons.get(name, getattr(row, name))
        made |= value if isinstance(value, Mapping) else {name: value}
    return made
