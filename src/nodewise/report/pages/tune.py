# SPDX-License-Identifier: BSD-3-Clause
"""The page of a tune."""

from __future__ import annotations

from typing import Any

from nodewise.base.units import format_seconds
from nodewise.records.experiment import Experiment
from nodewise.report.drawings.machine import NARROW
from nodewise.report.figures.experiment import make_figures, placement_drawings
from nodewise.report.figures.tune_scaling import tune_lines
from nodewise.report.pages.conditions import sampled_page, thinning
from nodewise.report.tables import label, labels_of
from nodewise.report.text.going_on import going_on, last_budget
from nodewise.report.text.scale import point_rows
from nodewise.report.text.tune import looked
from nodewise.runner.setting import BASELINE
from nodewise.statistics.verdict import Word
from nodewise.verdicts.never_ended import cut_counts
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.tune import TuneVerdict, plan_of


def tune_page(stored: Stored[TuneVerdict]) -> str:
    """The page's HTML."""
    experiment, verdict = stored.experiment, stored.verdict
    values = {"asked_for": " ".join(stored.question.command), **_values(experiment, verdict)}
    return sampled_page("tune.html", stored, verdict, make_figures(experiment, verdict), values)


def _values(experiment: Experiment, verdict: TuneVerdict) -> dict[str, Any]:
    from markupsafe import Markup

    labels = labels_of(experiment)
    narrow = placement_drawings(experiment, verdict, NARROW)
    return {
        "scaling": [(name, *point_rows(points, "threads")) for name, points in tune_lines(experiment, verdict).items()],
        "headline": _headline(verdict),
        "looked_best": verdict.candidate
        if verdict.verdict is Word.UNDECIDED and verdict.candidate != BASELINE
        else None,
        "looked": looked(verdict),
        "more": going_on(verdict, last_budget(experiment.question)),
        "best_label": label(verdict.best.values) if verdict.best.key == BASELINE else labels[verdict.best.key],
        "rows": _rows(experiment, verdict),
        "summaries": {s.key: s for s in verdict.settings},
        "labels": labels,
        # of each a wide one, and one for a phone, on which the other could only be scrolled sideways
        "drawings": [
            (title, Markup(svg), Markup(narrow[title]))
            for title, svg in placement_drawings(experiment, verdict).items()
        ],
        "limits": [*_limitations(experiment, verdict), *thinning(experiment)],
    }


def _rows(experiment: Experiment, verdict: TuneVerdict) -> list[dict[str, Any]]:
    """The settings as they are listed: those with an interval first; what was cut off has the time that it took at least."""
    rows = []
    for one in sorted(verdict.settings, key=lambda s: (s.low is None, s.median is None)):
        _, count, seconds = cut_counts(experiment, one.key) if one.failed else (0, 0, 0.0)
        failed = one.failed - min(count, one.failed)
        words = [f"{count} cut off"] * bool(count) + [str(failed)] * bool(failed or not count)
        rows.append(
            {
                "one": one,
                "label": label(one.values),
                "at_least": f"> {format_seconds(seconds)}" if count and one.median is None else "–",
                "failed": ", ".join(words),
            }
        )
    return rows


def _headline(verdict: TuneVerdict) -> str:
    if verdict.verdict is Word.SLOWER:
        # what one asked for is something faster, and the launch line stays
        return "Nothing faster found"
    return "Undecided" if verdict.comparison is None else verdict.comparison.headline


def _limitations(experiment: Experiment, verdict: TuneVerdict) -> list[str]:
    notes = list(verdict.notes)
    if verdict.low is None and verdict.reason:
        notes.append(f"there is no interval, since {verdict.reason}; the ratio is a guess")
    if verdict.stopped in ("interrupted", "cut off"):
        notes.append(f"the experiment was {verdict.stopped} before its end: this is the best so far")
    plan = plan_of(experiment, verdict.candidate)
    if plan is not None and verdict.low is not None:
        looks = len(plan.looks)
        planned = "one look at it was" if looks == 1 else f"up to {looks} looks at it were"
        together = "" if looks == 1 else " for all of them together"
        notes.append(
            f"the interval comes from fresh runs after the search, paired by block; {planned} planned, and it "
            f"holds{together} at 95%"
        )
    notes.append("times of the search compare settings roughly; only the confirmed pair has the promised error rate")
    return notes
