# SPDX-License-Identifier: BSD-3-Clause
"""The page of a comparison, of a single command, and of a promise that was repeated."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nodewise.report.figures.experiment import make_figures
from nodewise.report.pages.conditions import sampled_page, sorted_cells, thinning
from nodewise.report.tables import labels_of
from nodewise.report.text.comparison import table_rows
from nodewise.runner.objective import format_metric
from nodewise.verdicts.compare import CompareVerdict, describe
from nodewise.verdicts.confirm import ConfirmVerdict, Held
from nodewise.verdicts.isolated import isolation_limits
from nodewise.verdicts.stored import Stored

#: The most commands that are named in the title of a comparison's page.
_NAMED = 5
_HELD = {
    Held.HOLDS: "holds",
    Held.SMALLER: "holds in part",
    Held.GONE: "is gone",
    Held.REVERSED: "is reversed",
    Held.UNDECIDED: "is undecided",
}


def compare_page(stored: Stored[CompareVerdict]) -> str:
    """The page's HTML, also of a single command."""
    labels = labels_of(stored.experiment)
    return _page(stored, stored.verdict, _headline(stored.verdict, labels), describe(stored.verdict, labels))


def confirm_page(stored: Stored[ConfirmVerdict]) -> str:
    """The page's HTML."""
    repeated = stored.verdict
    notes = (*repeated.differences, *repeated.notes)
    return _page(stored, repeated.comparison, f"The promise {_HELD[repeated.verdict]}", repeated.sentence, notes)


def _page(stored: Stored[Any], verdict: CompareVerdict, headline: str, sentence: str, notes: Sequence[str] = ()) -> str:
    experiment = stored.experiment
    labels = labels_of(experiment)
    table = _table(verdict, labels)
    others = [p for p in verdict.pairs if p.one != verdict.contenders[0].name]
    values = {
        "asked_for": _asked_for(stored.question.command),
        "headline": headline,
        "sentence": sentence,
        "tone": _tone(verdict),
        "table": table,
        "pairs": [replace(p, one=labels[p.one], other=labels[p.other]) for p in verdict.pairs] if others else [],
        "limits": [
            *dict.fromkeys([*notes, *verdict.warnings]),
            *_of_intervals(verdict),
            *isolation_limits(experiment, {r.name: r.medians for r in verdict.contenders}),
            *thinning(experiment),
        ],
    }
    return sampled_page("compare.html", stored, verdict, make_figures(experiment, verdict), values)


def _tone(verdict: CompareVerdict) -> str:
    """Green is for what is faster: of two the second, of more the one that is the best."""
    rows = [r for r in verdict.contenders if r.runs]
    if len(rows) == 2 and (pair := rows[1].against_reference) is not None:
        return pair.verdict.value.replace(" ", "-")
    return "faster" if len(rows) > 1 and len(verdict.fastest) == 1 else ""


def _asked_for(commands: Sequence[str]) -> str:
    more = len(commands) - _NAMED
    return " · ".join(commands[:_NAMED]) + (f" · and {more} more" if more > 0 else "")


def _table(verdict: CompareVerdict, labels: Mapping[str, str]) -> dict[str, Any]:
    """The contenders as heads and cells, each with its text and the value that it is sorted by."""
    heads, rows = table_rows(verdict, labels)
    if len(rows) == 1:
        # nothing to be faster than
        at = heads.index("speedup")
        heads, rows = (
            [h for i, h in enumerate(heads) if i != at],
            [[c for i, c in enumerate(r) if i != at] for r in rows],
        )
    made: list[dict[str, Any]] = []
    counted = any(r.work for r in verdict.contenders)
    for contender, cells in zip(verdict.contenders, rows, strict=True):
        pair, work = contender.against_reference, contender.work
        centre = (contender.median, contender.mad, contender.min, contender.runs)
        numbers = [n if n is not None else 1e300 for n in centre]
        numbers += [pair.ratio if pair else 1.0] if len(rows) > 1 else []
        if counted:
            numbers += [work.amount, work.rate, work.redundancy or 0.0] if work else [0.0, 0.0, 0.0]
        numbers += [cell["value"] for cell in sorted_cells(verdict, contender.metrics)]
        best = contender.name in verdict.fastest and len(verdict.fastest) < len(rows)
        values = [contender.name, *numbers]
        row = [{"text": c, "value": v, "mark": ""} for c, v in zip(cells, values, strict=False)]
        if pair is not None and pair.low is not None and len(rows) > 1:
            # the colour that it has in the figure
            row[heads.index("speedup")]["mark"] = pair.verdict.value.replace(" ", "-")
        made.append({"best": best, "cells": row})
    return {"heads": heads, "rows": made}


def _level(level: float) -> str:
    """A level as it is written: never rounded up to certainty."""
    return f"{level:.2%}" if level < 0.99995 else "more than 99.99%"


def _of_intervals(verdict: CompareVerdict) -> list[str]:
    lines = []
    if verdict.pairs:
        lines.append(
            f"each interval is one at {_level(verdict.level)}, so that all of them, at every look that was taken, hold together "
            "at 95%; runs are paired by block, and each block held every command once in random order"
        )
    again = f"`nodewise {verdict.kind} --resume {shlex.quote(verdict.experiment)}"
    if verdict.stopped in ("interrupted", "cut off"):
        lines.append(f"it was {verdict.stopped} before its end: {again}` goes on with it")
    elif verdict.stopped == "budget":
        lines.append(f"the budget ended it: {again} --budget …` goes on with it")
    return lines


def _headline(verdict: CompareVerdict, labels: dict[str, str]) -> str:
    rows = [r for r in verdict.contenders if r.runs]
    if len(rows) == 2 and any(r.error for r in rows):
        return "A command failed"
    if len(rows) == 2 and (pair := rows[1].against_reference) is not None:
        return pair.headline
    if len(rows) < 2:
        return format_metric(verdict.metric, rows[0].median or 0.0, verdict.currency)
    return labels[verdict.fastest[0]] if len(verdict.fastest) == 1 else "Several may be the best"
