# SPDX-License-Identifier: BSD-3-Clause
"""Figures as files of the kind that is asked for."""

from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.report.exports.pictures import write_pictures
from nodewise.report.figures import vega
from nodewise.report.figures.charting import chart_of

_DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>'


def _chart() -> object:
    return chart_of([{"x": 1.0}]).mark_point().encode(x=vega.X("x:Q"))


def test_a_directory_gets_all_and_a_file_the_first(tmp_path: Path) -> None:
    charts = {"one": _chart(), "two": _chart(), "drawn": _DRAWING}
    written = write_pictures(charts, tmp_path / "all", "png")
    assert [p.name for p in written] == ["one.png", "two.png", "drawn.png"]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in written)
    assert write_pictures(charts, tmp_path / "x.svg", "svg") == [tmp_path / "x.svg"]
    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_a_file_of_another_kind_is_refused_and_a_directory_of_that_name_is_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.jpg is no name of a PNG"):
        write_pictures({"one": _chart()}, tmp_path / "x.jpg", "png")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "run-0.5").mkdir()
    assert write_pictures({"one": _chart()}, tmp_path / "run-0.5", "svg") == [tmp_path / "run-0.5/one.svg"]
