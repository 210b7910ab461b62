# SPDX-License-Identifier: BSD-3-Clause
"""Speedups as a picture, and what a tune shows of them."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from nodewise.report.figures.scale import scale_figures
from nodewise.report.figures.tune_scaling import tune_lines, tune_speedup
from nodewise.runner.setting import Setting
from nodewise.statistics.scaling import Expected
from nodewise.verdicts.scale import ScalePoint
from nodewise.verdicts.tune import tune_verdict
from tests.verdicts.cases import Runs, tuned

POINTS = (
    ScalePoint(2, 5.0, 0.1, 10, 1.0, 1.0, None, None, 1.0, None, None, None),
    ScalePoint(4, 3.0, 0.1, 10, 2.0, 1.7, 1.6, 1.8, 0.85, 0.8, 0.9, None),
    ScalePoint(8, None, None, 0, 4.0, None, None, None, None, None, None, "exit code 3"),
)


def _values(figure: Any) -> list[dict[str, Any]]:
    return [row for rows in figure.to_dict()["datasets"].values() for row in rows]


def test_a_figure_has_points_intervals_and_the_ideal_line() -> None:
    figures = scale_figures(POINTS, "ranks", [(2, Expected(1.0, 1.0, 1.0)), (16, Expected(4.0, 3.0, 5.0))])
    rows = _values(figures["speedup"])
    assert {"n": 4, "y": 1.7, "low": 1.6, "high": 1.8, "state": "measured"} in rows
    assert {"n": 16, "y": 8.0, "state": "ideal"} in rows and not [r for r in rows if r["n"] == 8]
    assert {"n": 16, "y": 3 / 8, "high": 5 / 8} in _values(figures["efficiency"])
    assert scale_figures(POINTS[:1], "ranks") == {}


@pytest.mark.parametrize("counts", [(1, 2, 4), (1, 2)])
def test_a_tune_shows_speedup_where_threads_were_varied(tmp_path: Path, counts: tuple[int, ...]) -> None:
    search = [
        (Setting(("a",), values={"threads": n, "placement": "os"}), Runs(8 / n + 1, 0.0), range(1, 9)) for n in counts
    ]
    experiment = tuned(tmp_path / "x", [(Setting(("a",)), Runs(9.0, 0.0), range(1, 9)), *search])
    verdict = tune_verdict(experiment, "decided")
    lines = tune_lines(experiment, verdict)
    if len(counts) < 3:
        assert not lines and tune_speedup(experiment, verdict) is None
        return
    ((name, points),) = lines.items()
    assert name == "os" and [p.count for p in points] == [1, 2, 4]
    assert [p.speedup for p in points] == pytest.approx([1, 9 / 5, 9 / 3]) and points[-1].efficiency == pytest.approx(
        0.75
    )
    assert tune_speedup(experiment, verdict) is not None


def test_a_sweep_shows_all_its_lines_over_one_base(tmp_path: Path) -> None:
    times = {("os", 1): 9.0, ("os", 2): 6.0, ("compact", 1): 8.0, ("compact", 2): 4.0, ("scatter", 2): 5.0}
    search = [
        (Setting(("a",), values={"threads": n, "placement": p}), Runs(t, 0.0), range(1, 7))
        for (p, n), t in times.items()
    ]
    experiment = tuned(tmp_path / "x", [(Setting(("a",)), Runs(9.0, 0.0), range(1, 7)), *search])
    experiment = dataclasses.replace(experiment, question={**experiment.question, "sweep": 6, "unswept": 1})
    verdict = tune_verdict(experiment, "decided")
    lines = tune_lines(experiment, verdict)
    # the fastest first; scatter did not run with one thread, so it has no line
    assert list(lines) == ["compact", "os"]
    assert [p.speedup for p in lines["os"]] == pytest.approx([8 / 9, 8 / 6])
    assert [p.efficiency for p in lines["compact"]] == pytest.approx([1, 1])
    rows = _values(tune_speedup(experiment, verdict))
    assert {r["state"] for r in rows if "state" in r} == {"compact", "left to the system", "ideal"}
    assert any("of its 6 settings 1 had no run" in note for note in verdict.notes)
