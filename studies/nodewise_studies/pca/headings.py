# SPDX-License-Identifier: BSD-3-Clause
"""The names of a table's columns."""

import csv
from collections.abc import Mapping
from pathlib import Path


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def headings_of(point: Mapping[str, str], columns: int) -> tuple[str, ...]:
    """Those of the file, where its first line has any; else column_1 and so on."""
    numbered = tuple(f"column_{k}" for k in range(1, columns + 1))
    if "file" not in point:
        return numbered
    with Path(point["file"]).open(encoding="utf-8-sig", errors="replace", newline="") as file:
        line = next((text for text in file if text.strip()), "")
    mark = next((mark for mark in "\t;," if mark in line), ",")
    cells = next(csv.reader([line.strip("\r\n")], delimiter=mark), [])
    if len(cells) != columns or any(_is_number(cell) for cell in cells):
        return numbered
    return tuple(cell.strip() or number for cell, number in zip(cells, numbered, strict=True))
