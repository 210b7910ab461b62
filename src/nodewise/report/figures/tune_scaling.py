# SPDX-License-Identifier: BSD-3-Clause
"""How a tuned program scales over threads, as far as its search shows: speedup and parallel efficiency of one line of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.records.experiment import Experiment
from nodewise.report.figures.scale import line_figures, scale_figures
from nodewise.report.tables import in_words, thread_rows
from nodewise.verdicts.question import question_of
from nodewise.verdicts.scale import ScalePoint
from nodewise.verdicts.tune import TuneVerdict

#: With fewer numbers of threads a search has no line to see; a sweep is asked for what it has.
_FEWEST, _FEWEST_OF_SWEEP = 3, 2
#: More lines of a sweep than this cannot be told apart.
_MOST_LINES = 8


def tune_lines(experiment: Experiment, verdict: TuneVerdict) -> dict[str, tuple[ScalePoint, ...]]:
    """What those settings have in common that differ in threads only, and a point for each number; none where threads were not varied.

    Of several such lines that with the most numbers, and of these the fastest; of a sweep all of them, as far as they can be told
    apart. Speedups are over the fastest with the fewest threads of all lines. Medians of a search are compared roughly, so there are no intervals.
    """
    if verdict.maximise or verdict.metric != "seconds":
        return {}
    rows: dict[str, dict[int, dict[str, Any]]] = {}
    for row in thread_rows(experiment, verdict.settings):
        rows.setdefault(row["series"], {})[int(row["threads"])] = row
    sweep = question_of(experiment).sweep is not None
    most = max(map(len, rows.values()), default=0)
    if most < (_FEWEST_OF_SWEEP if sweep else _FEWEST):
        return {}
    whole = sorted((min(r["median"] for r in line.values()), name) for name, line in rows.items() if len(line) == most)
    shown = {name: rows[name] for _, name in whole[: _MOST_LINES if sweep else 1]}
    least = min(min(line) for line in shown.values())
    alone = min(line[least]["median"] for line in shown.values() if least in line)
    spread = {(s.values.get("threads"), s.median): s.mad for s in verdict.settings}
    return {
        name: tuple(
            _point(threads, row, alone, least, spread.get((threads, row["median"])) or 0.0)
            for threads, row in sorted(line.items())
        )
        for name, line in shown.items()
    }


def _point(threads: int, row: Mapping[str, Any], alone: float, least: int, mad: float) -> ScalePoint:
    speedup, ideal = alone / row["median"], threads / least
    efficiency = speedup / ideal
    return ScalePoint(
        threads, row["median"], mad, row["runs"], ideal, speedup, None, None, efficiency, None, None, None
    )


def tune_efficiency(experiment: Experiment, verdict: TuneVerdict) -> Any | None:
    """Parallel efficiency over threads with the ideal line; None where threads were not varied."""
    return _figures(experiment, verdict).get("efficiency")


def tune_speedup(experiment: Experiment, verdict: TuneVerdict) -> Any | None:
    """Speedup over threads with the ideal line; None where threads were not varied."""
    return _figures(experiment, verdict).get("speedup")


def _figures(experiment: Experiment, verdict: TuneVerdict) -> dict[str, Any]:
    lines = tune_lines(experiment, verdict)
    if len(lines) == 1:
        return scale_figures(next(iter(lines.values())), "threads")
    return line_figures({in_words(name): points for name, points in lines.items()}, "threads")
