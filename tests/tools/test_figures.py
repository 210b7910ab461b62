# SPDX-License-Identifier: BSD-3-Clause
"""The figures that are claimed are those that are stored, each with its processor and the day on which it was recorded."""

import re
import shlex
from datetime import date

import pytest

from tools import figures

ALL = figures.read_figures()


@pytest.mark.parametrize("path", figures.PAGES, ids=lambda path: path.name)
def test_a_page_shows_what_is_stored(path) -> None:  # type: ignore[no-untyped-def]
    assert path.read_text() == figures.page(path, ALL), "run .venv/bin/python -m tools.figures"


def test_the_readme_has_at_most_ten() -> None:
    assert 5 <= len({figure.what for figure in ALL if figure.readme}) <= 10
    # it says where nodewise is slower, too
    ratios = " ".join(figure.ratio for figure in ALL if figure.readme)
    assert any(float(number) < 1 for number in re.findall(r"\d+\.\d+", ratios))


def test_no_figure_stands_outside_of_the_tables() -> None:
    text = (figures.ROOT / "README.md").read_text()
    rest = text.partition("## Figures")[2]
    assert rest.count("<!-- figures") == 1
    after = rest.partition("<!-- end of figures -->")[2]
    assert "×" not in after


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: f"{figure.what[:30]} {figure.processor}")
def test_a_figure_says_where_when_and_how(figure: figures.Figure) -> None:
    assert figure.answer and figure.processor and (figure.peer or figure.ours)
    assert date.fromisoformat(figure.recorded) <= date.today()
    words = shlex.split(figure.command)
    words = words[1:] if words[0].startswith("NODEWISE_") else words
    assert words[0] in ("nodewise", "./dev")
    if words[0] == "./dev":
        assert (figures.ROOT / "benchmarks" / f"{words[2]}.py").exists()


def test_a_row_has_a_column_for_each_processor() -> None:
    def figure(processor: str, ratio: str) -> figures.Figure:
        return figures.Figure("sort", processor, "nodewise study is", "2026-11-25", "1 s", "2 s", ratio)

    zen, xeon = figures.PROCESSORS
    text = figures.table([figure(zen, "2×"), figure(xeon, "0.9×"), figure("Arm", "1×")], dates=True)
    row = [cell.strip() for cell in text.splitlines()[2].strip("|").split("|")]
    assert row[:4] == ["sort", "2×", "0.9×", "Arm: 1×"] and row[5] == "2026-11-25"
    assert row[4] == "AMD: 1 s against 2 s; Intel: 1 s against 2 s; Arm: 1 s against 2 s"
    assert "| not measured |" in figures.table([figure(zen, "2×")], dates=False)
