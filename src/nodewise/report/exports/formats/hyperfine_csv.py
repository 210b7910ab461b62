# SPDX-License-Identifier: BSD-3-Clause
"""The CSV of `hyperfine --export-csv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodewise.report.exports.cells import csv_of
from nodewise.report.exports.exporter import Exporter

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored


def export(stored: Stored[Comparison]) -> str:
    """The columns of `hyperfine --export-csv`; a metric that was compared instead of the time has one of its own."""
    import numpy as np

    from nodewise.report.exports.comparison import compared_of, series_of, statistics_of, times_of
    from nodewise.verdicts.confirm import comparison_of

    experiment, verdict = stored.experiment, comparison_of(stored)
    metric = next((n for r in verdict.contenders if r.runs for n in compared_of(experiment, r.name)), None)
    names = list(dict.fromkeys(n for r in verdict.contenders for n in r.values))
    plain = ["command", "mean", "stddev", "median", "user", "system", "min", "max"]
    rows = []
    for r in verdict.contenders:
        if r.runs:
            times = times_of(experiment, r.name)
            used = [float(np.mean(series_of(experiment, r.name, n))) for n in ("user_s", "system_s")]
            centre = ["" if v is None else v for v in statistics_of(times).values()]
            numbers = [*centre, *used, float(np.min(times)), float(np.max(times))]
            more = [r.median] if metric else []
            rows.append([r.name, *numbers, *(r.values.get(n, "") for n in names), *more])
    return csv_of([*plain, *(f"parameter_{n}" for n in names), *([metric] if metric else [])], rows)


EXPORTER = Exporter("csv", "A row for each command, with the columns of hyperfine", export)
