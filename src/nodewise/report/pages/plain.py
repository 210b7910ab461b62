# SPDX-License-Identifier: BSD-3-Clause
"""The page of a kind of experiment that needs no template of its own: an answer, figures, a table, and how it is repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.report.pages.conditions import common_values
from nodewise.report.pages.template import render
from nodewise.verdicts.stored import Stored


def plain_page(
    stored: Stored[Any],
    headline: str,
    sentence: str,
    table: tuple[Sequence[str], Sequence[Sequence[str]]] = ((), ()),
    charts: Mapping[str, Any] | None = None,
) -> str:
    """The HTML: `headline` and `sentence` are the answer, `table` is heads and rows, `charts` are figures by name, such as `figures/vega.py` makes."""
    heads, rows = table
    values: dict[str, Any] = {
        "headline": headline,
        "sentence": sentence,
        "asked_for": " ".join(stored.question.command),
    }
    values |= {"heads": heads, "rows": rows}
    return render("plain.html", charts or {}, {**common_values(stored), **values})
