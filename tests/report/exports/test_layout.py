# SPDX-License-Identifier: BSD-3-Clause
"""Figures as they stand in files: as wide as a paper has room, with what they are of below them."""

import re
import struct
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.report.exports.layout import caption_of, laid_out, parse_width
from nodewise.report.exports.pictures import write_pictures
from nodewise.report.exports.rendering import chart_to_svg
from nodewise.verdicts.stored import read_stored
from tests.report.gallery import compare_page, tune_page

_DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="100"><rect width="400" height="100"/></svg>'


@pytest.mark.parametrize(("text", "inches"), [("8cm", 8 / 2.54), ("85mm", 8.5 / 2.54), ("3.3in", 3.3), ("252 pt", 3.5)])
def test_a_width_is_read_in_the_units_of_print(text: str, inches: float) -> None:
    assert parse_width(text, "--width") == pytest.approx(96 * inches)


@pytest.mark.parametrize("text", ["", "8", "8 px", "-8cm", "1cm", "3m", "9e9cm", "1000cm"])
def test_what_is_no_width_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--width .* is no width of a figure"):
        parse_width(text, "--width")


def test_a_drawing_is_scaled_and_its_caption_is_not() -> None:
    made = laid_out(_DRAWING, chart_to_svg, ["node7 · a <processor>", "word " * 40], width=200.0)
    assert 'width="5.29167cm"' in made and 'viewBox="0 0 200 ' in made
    assert '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 100" width="200" height="50">' in made
    assert "a &lt;processor&gt;" in made and made.count('font-size="9"') > 3
    assert laid_out(_DRAWING, chart_to_svg) == _DRAWING


@pytest.mark.long
def test_figures_of_a_tune_fit_a_column_with_letters_that_can_be_read(tmp_path: Path) -> None:
    found = read_stored(tune_page(tmp_path / "x").parent)
    caption = caption_of(found)
    assert (
        caption[0].startswith("synthetic")
        and "./app" in caption[1]
        and re.match(r"20\d\d-.*UTC · nodewise tune", caption[2])
    )
    for name, figure in found.kind.load("figures")(found).items():
        made = laid_out(figure, chart_to_svg, caption, parse_width("8cm", "--width"))
        assert 'width="8cm"' in made and "./app" in made
        inner = re.search(r'<svg[^>]*viewBox="0 0 ([\d.]+) [^>]*? width="([\d.]+)"', made[made.index("<rect") :])
        assert inner is not None
        # what is scaled down is a drawing of a machine; charts are laid out anew
        assert name == "placement" or float(inner[2]) == pytest.approx(float(inner[1]), rel=0.02), name
        assert name == "placement" or "…<" not in made, name


def test_files_have_the_size_that_is_asked_for_and_a_pdf_its_fonts(tmp_path: Path) -> None:
    found = read_stored(compare_page(tmp_path / "x").parent)
    figures, caption = found.kind.load("figures")(found), caption_of(found)
    assert " · " in caption[1]
    write_pictures(figures, tmp_path / "one.png", "png", caption, parse_width("8cm", "--width"))
    width, _ = struct.unpack(">II", (tmp_path / "one.png").read_bytes()[16:24])
    assert width == pytest.approx(8 / 2.54 * 600, abs=1)
    write_pictures(figures, tmp_path / "one.pdf", "pdf", caption, parse_width("8cm", "--width"))
    content = (tmp_path / "one.pdf").read_bytes()
    box = re.search(rb"MediaBox \[0 0 ([\d.]+)", content)
    assert box is not None and float(box[1]) == pytest.approx(8 / 2.54 * 72, abs=0.1)
    assert b"/FontFile" in content
