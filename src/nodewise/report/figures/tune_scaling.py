# SPDX-License-Identifier: BSD-3-Clause
"""How a tuned program scales over threads, as far as its search shows: speedup and parallel efficiency of one line of settings."""

from __future__ import annotations

from typing import Any

from nodewise.records.experiment import Experiment
from nodewise.report.figures.scale import scale_figures
from nodewise.report.tables import thread_rows
from nodewise.verdicts.scale import ScalePoint
from nodewise.verdicts.tune import TuneVerdict

#: With fewer numbers of threads there is no line to see.
_FEWEST = 3


def tune_points(experiment: Experiment, verdict: TuneVerdict) -> tuple[str, tuple[ScalePoint, ...]]:
    """What else those settings have that differ in threads only, and a point for each number; none where threads were not varied.

    Of several such lines that with the most numbers, and of these the fastest. Medians of a search are compared roughly, so there are no intervals.
    """
    if verdict.maximise or verdict.metric != "seconds":
        return "", ()
    lines: dict[str, dict[int, dict[str, Any]]] = {}
    for row in thread_rows(experiment, verdict.settings):
        lines.setdefault(row["series"], {})[int(row["threads"])] = row
    if not lines:
        return "", ()
    name, line = max(lines.items(), key=lambda one: (len(one[1]), -min(r["median"] for r in one[1].values())))
    if len(line) < _FEWEST:
        return "", ()
    least = min(line)
    alone = line[least]["median"]
    spread = {(s.values.get("threads"), s.median): s.mad for s in verdict.settings}
    points = []
    for threads, row in sorted(line.items()):
        speedup, ideal = alone / row["median"], threads / least
        mad = spread.get((threads, row["median"])) or 0.0
        points.append(
            ScalePoint(
                threads, row["median"], mad, row["runs"], ideal, speedup, None, None, speedup / ideal, None, None, None
            )
        )
    return name, tuple(points)


def tune_efficiency(experiment: Experiment, verdict: TuneVerdict) -> Any | None:
    """Parallel efficiency over threads with the ideal line; None where threads were not varied."""
    _, points = tune_points(experiment, verdict)
    return scale_figures(points, "threads").get("efficiency")


def tune_speedup(experiment: Experiment, verdict: TuneVerdict) -> Any | None:
    """Speedup over threads with the ideal line; None where threads were not varied."""
    _, points = tune_points(experiment, verdict)
    return scale_figures(points, "threads").get("speedup")
