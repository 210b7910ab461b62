# SPDX-License-Identifier: BSD-3-Clause
"""Figures as specifications: compared with Altair's schema, and small however many runs there are."""

import json
import subprocess
import sys
from pathlib import Path

import altair
import pytest

from nodewise.experiments.compare import compare
from nodewise.report.figures.charting import scale_around
from nodewise.report.figures.experiment import _MOST_LINES, _best_lines, make_figures, time_over_threads
from nodewise.report.pages import bundle
from nodewise.report.pages.write import write_page
from nodewise.report.tables import sample_rows
from nodewise.runner.setting import Setting
from nodewise.verdicts.compare import RUN
from nodewise.verdicts.stored import read_stored
from nodewise.verdicts.tune import tune_verdict
from tests.experiments.test_compare import Stream, _question, _times
from tests.report.pages.test_tune import _experiment
from tests.verdicts.cases import Runs, tuned


@pytest.mark.parametrize("kind", [pytest.param("many cores", marks=pytest.mark.long), "flat", "compare"])
def test_every_figure_is_a_valid_specification(tmp_path: Path, kind: str) -> None:
    if kind == "compare":
        compare(_question(tmp_path, ["a", "b", "c"], most=30), Stream(_times(a=1.0, b=1.1, c=1.2)))
    else:
        _experiment(tmp_path / "x", kind)
    found = read_stored(tmp_path / "x")
    figures = make_figures(found.experiment, found.verdict)
    assert len(figures) >= 3
    for chart in figures.values():
        altair.Chart.from_dict(chart.to_dict()).to_dict(validate=True)


def test_a_report_loads_neither_altair_nor_a_javascript_engine(tmp_path: Path) -> None:
    path = _experiment(tmp_path / "x", "flat")
    write_page(path)
    code = (
        "import sys; from pathlib import Path; from nodewise.report.pages.write import write_page; "
        "write_page(Path(sys.argv[1])); print({'altair', 'vl_convert', 'jsonschema'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_the_script_made_at_build_time_can_stand_in_a_page() -> None:
    script = bundle.bundle()
    assert "vegaEmbed" in script
    assert "</script" not in script.lower()


@pytest.mark.parametrize(("low", "high"), [(0.001, 5.0), (3.0, 3.0), (0.0, 0.0), (-2.0, 4.0)])
def test_a_scale_holds_its_values_and_begins_below_zero_only_where_they_do(low: float, high: float) -> None:
    begin, end = scale_around(low, high)["domain"]
    assert begin <= low <= high < end and (begin >= 0 or low < 0)


def test_a_single_command_is_run_and_compared_with_nothing(tmp_path: Path) -> None:
    compare(_question(tmp_path, ["a"], most=8, fewest=1, warmup=1, kind=RUN), Stream(_times(a=1.0)))
    found = read_stored(tmp_path / "x")
    assert {row["phase"] for row in sample_rows(found.experiment)} == {"warm-up", "run"}
    text = json.dumps([chart.to_dict() for chart in make_figures(found.experiment, found.verdict).values()])
    assert '"run"' in text and '"compare"' not in text


@pytest.mark.parametrize("sign", [1, -1])
def test_the_line_of_what_was_confirmed_is_drawn_though_others_were_luckier(sign: int) -> None:
    rows = [{"key": f"s{i}", "series": f"line {i}", "median": float(sign * i)} for i in range(_MOST_LINES + 4)]
    drawn = {row["series"] for row in _best_lines(rows, sign, rows[-1]["key"])}
    assert drawn == {rows[-1]["series"], *(f"line {i}" for i in range(_MOST_LINES - 1))}


@pytest.mark.parametrize("counts", [(2,), (1, 2)])
def test_time_over_threads_needs_two_numbers_of_them(tmp_path: Path, counts: tuple[int, ...]) -> None:
    others = [
        Setting(("app",), {"threads": n, "placement": p}, name=f"{n} {p}") for n in counts for p in ("os", "close")
    ]
    made = tuned(tmp_path / "x", [(one, Runs(1.0), range(1, 5)) for one in (Setting(("app",)), *others)])
    drawn = time_over_threads(made, tune_verdict(made, "budget"))
    assert (drawn is not None) is (len(counts) > 1)
