# SPDX-License-Identifier: BSD-3-Clause
"""The page of a scaling."""

from __future__ import annotations

from typing import Any

from nodewise.report.figures.scale import scale_files
from nodewise.report.pages.conditions import common_values
from nodewise.report.pages.template import render
from nodewise.report.text.scale import law_rows, point_rows, said
from nodewise.verdicts.scale import ScaleVerdict
from nodewise.verdicts.stored import Stored


def scale_page(stored: Stored[ScaleVerdict]) -> str:
    """The page's HTML."""
    verdict = stored.verdict
    values: dict[str, Any] = {
        "headline": verdict.headline,
        "sentence": verdict.sentence,
        "asked_for": " ".join(stored.question.command),
        "points": point_rows(verdict.points, verdict.over),
        "laws": law_rows(verdict),
        "said": [(word, text) for word, text in said(verdict) if word not in ("scaling", "law")],
    }
    return render("scale.html", scale_files(stored), {**common_values(stored), **values})
