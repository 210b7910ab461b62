# SPDX-License-Identifier: BSD-3-Clause
"""Cells of tables, and CSV that a spreadsheet reads as it is meant: no cell of it is a formula (OWASP, "CSV Injection")."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: What a spreadsheet takes for the beginning of a formula, also in its wide forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: Any) -> Any:
    """A value as it is written: a text that would be a formula begins with an apostrophe; numbers are numbers."""
    if not isinstance(value, str) or not value.startswith(_FORMULA) or _is_number(value):
        return value
    return f"'{value}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # nor blanks around it, nor words such as inf
    return text.strip() == text and text[-1].isdigit()


def one_line(text: str) -> str:
    """A text that stands in one line of a table."""
    return " ".join(text.split("\n"))


def csv_of(heads: Sequence[str], rows: Iterable[Mapping[str, Any] | Sequence[Any]]) -> str:
    """The text of a table; a row is a sequence of values, or has them by their heads (what is missing is empty)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(cell, heads))
    for row in rows:
        values = [row.get(head, "") for head in heads] if isinstance(row, Mapping) else row
        writer.writerow(map(cell, values))
    return out.getvalue()
