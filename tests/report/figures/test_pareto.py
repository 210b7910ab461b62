# SPDX-License-Identifier: BSD-3-Clause
"""The picture of two numbers of each setting."""

import itertools
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.records.experiment import Experiment
from nodewise.report.figures.pareto import Label, _near, pareto_figures, place_labels, span_of
from nodewise.runner.objective import Objective
from nodewise.runner.setting import BASELINE, Setting
from nodewise.statistics.verdict import Word
from nodewise.verdicts.launch import Launch
from nodewise.verdicts.secondary import MetricSummary
from nodewise.verdicts.tune import SettingSummary, TuneVerdict

HOSTILE = 'a "name",\nof </script> two lines'


def _summary(median: float) -> MetricSummary:
    return MetricSummary(median, 0.0, 0.98 * median, 1.03 * median)


def _row(key: str, x: float, y: float) -> SettingSummary:
    metrics = {"heat": _summary(y), "cost": _summary(y), "a b/s": _summary(y)}
    return SettingSummary(key, {}, 3, 0, x, 0.0, 0.98 * x, 1.03 * x, None, metrics)


def _made(points: list[tuple[float, float]], shown: list[str] | None = None) -> tuple[Experiment, TuneVerdict]:
    """A tune's verdict with settings at these points; those of the first three are said to be the front."""
    keys = [f"n={i}" for i in range(len(points))]
    settings = {k: Setting(("x",), values={"n": HOSTILE if i == 4 else i}) for i, k in enumerate(keys)}
    metrics = [{"metric": m, "maximise": False} for m in shown or ["heat"]]
    experiment = Experiment(__file__, {"kind": "tune", "shown": {"metrics": metrics}}, settings)  # type: ignore[arg-type]
    launch = Launch("baseline", {}, {}, (), ("x",), None, None, "os", None, "x", build="")
    verdict = TuneVerdict(
        kind="tune",
        verdict=Word.UNDECIDED,
        sentence="",
        reason="",
        ratio=1.0,
        low=None,
        high=None,
        within=0.01,
        beyond=None,
        more_runs=None,
        best=launch,
        baseline=launch,
        candidate="baseline",
        comparison=None,
        metric="seconds",
        maximise=False,
        shown=tuple(shown or ["heat"]),
        currency="",
        runs=3 * len(points),
        seconds_spent=1.0,
        axes={},
        unseparated=(),
        why=(),
        settings=tuple(_row(k, x, y) for k, (x, y) in zip(keys, points, strict=True)),
        pareto=dict.fromkeys(shown or ["heat"], tuple(keys[:3])),
        notes=(),
        stopped="decided",
        experiment="",
    )
    return experiment, verdict


def _cloud(count: int) -> list[tuple[float, float]]:
    dice = random.Random(1)
    return [(1, 9), (2, 5), (4, 4)] + [(dice.uniform(4, 9), dice.uniform(4, 9)) for _ in range(count)]


def test_all_settings_have_a_point_and_few_of_many_an_interval() -> None:
    import vl_convert

    for count, intervals in ((20, 23), (1000, 3)):
        figure = pareto_figures(*_made(_cloud(count)))["pareto-heat"]
        spec = json.loads(figure.to_json())
        assert len(spec["datasets"][spec["layer"][0]["data"]["name"]]) == intervals
        assert len(figure.to_json()) < 60_000 + 120 * count
        svg = vl_convert.vegalite_to_svg(json.dumps(spec))
        assert svg.count('aria-roledescription="circle"') == count + 3
        assert all(f"n {i}" in svg for i in range(3))


def test_a_hostile_name_stays_a_name() -> None:
    spec = json.loads(pareto_figures(*_made(_cloud(20)))["pareto-heat"].to_json())
    assert any(
        r.get("name") == 'n a "name",\\x0aof </script> two lines' for rows in spec["datasets"].values() for r in rows
    )


def test_a_cost_that_is_time_times_a_price_is_not_drawn() -> None:
    points = [(x, 3.2 * x) for x, _ in _cloud(20)]
    assert pareto_figures(*_made(points, ["cost"])) == {}
    assert list(pareto_figures(*_made(_cloud(20), ["cost"]))) == ["pareto-cost"]


def test_what_is_four_times_as_far_off_as_the_front_is_not_drawn_but_the_baseline() -> None:
    at = {"front": (1.0, 2.0), "near": (3.9, 7.9), "slow": (4.1, 2.0), "hot": (1.0, 8.1)}
    rows = [{"key": key, "x": x, "y": y} for key, (x, y) in at.items()]
    assert [r["key"] for r in _near(rows, ["front"])] == ["front", "near"]
    # which makes room for all that is no further off than four times its own distance
    baseline = {"key": BASELINE, "x": 2.0, "y": 3.0}
    assert [r["key"] for r in _near([*rows, baseline], ["front"])] == [*at, BASELINE]


def test_names_of_files_are_plain() -> None:
    experiment, verdict = _made(_cloud(5))
    experiment.question["shown"]["metrics"] = [{"metric": "a b/s", "maximise": True}]
    verdict = replace(verdict, pareto={"a b/s": ("n=0",)})
    assert list(pareto_figures(experiment, verdict)) == ["pareto-a-b-s"]


@given(
    st.lists(st.tuples(st.floats(0, 660), st.floats(0, 340), st.text("abc", min_size=1, max_size=60)), max_size=25),
)
def test_no_name_covers_another_or_leaves_the_frame(points: list[tuple[float, float, str]]) -> None:
    def box(label: Label) -> tuple[float, float, float, float]:
        wide = 6.4 * len(label.text)
        left = label.x - {"left": 0.0, "center": wide / 2, "right": wide}[label.align]
        return left, label.y - 6.5, left + wide, label.y + 6.5

    boxes = [box(n) for n in place_labels(points, [(x, y) for x, y, _ in points], [], 660, 340)]
    assert all(b[0] >= 0 and b[1] >= 0 and b[2] <= 660 and b[3] <= 340 for b in boxes)
    for one, other in itertools.combinations(boxes, 2):
        assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]


@pytest.mark.parametrize("values", [[1.0, 2.0], [0.001, 5.0], [-3.0, 0.0, 9.0], [4.0], [0.0]])
def test_an_axis_holds_its_values_and_turns_pixels_back(values: list[float]) -> None:
    span = span_of(values, 300)
    for value in values:
        assert 20 < span.pixel(value) < 280
        assert span.value(span.pixel(value)) == pytest.approx(value, abs=1e-9)


def test_less_and_more_are_said() -> None:
    experiment, verdict = _made(_cloud(5))
    experiment.question["shown"]["metrics"][0]["maximise"] = True
    assert experiment.shown.metrics == (Objective("heat", True),)
    title = json.loads(pareto_figures(experiment, verdict)["pareto-heat"].to_json())["title"]["text"]
    assert title == "Time against heat: less is better of the first, more of the second"
