# SPDX-License-Identifier: BSD-3-Clause
"""The roofline's picture and page, from a stored result."""

from pathlib import Path

import altair
import pytest
from playwright.sync_api import Browser

from nodewise.report.exports.pictures import write_pictures
from nodewise.report.exports.rows import kernel_rows_csv
from nodewise.report.figures.roofline import Roofline, roofline_figure, roofline_files
from nodewise.report.pages.roofline import kernel_table, roof_table
from nodewise.report.pages.write import write_page
from nodewise.verdicts.stored import read_stored
from tests.report.pages.test_tune import _open
from tests.report.stored import roofline_page_of, roofline_result

_OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll("#figure-roofline .mark-text text")]
    .filter((t) => t.textContent && t.getAttribute("fill") !== "white" && !t.getAttribute("transform").includes("rotate"))
    .map((t) => [t.textContent, t.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    if (p.left < q.right && q.left < p.right && p.top + 2 < q.bottom && q.top + 2 < p.bottom) found.push(a + " / " + b);
  }));
  return [boxes.length, found];
}"""


def test_the_page_opens_offline_with_named_roofs_and_kernels_that_do_not_cover_each_other(
    browser: Browser, tmp_path: Path
) -> None:
    page = roofline_page_of(roofline_result(), tmp_path / "x")
    view, wrong = _open(browser, page)
    drawn = view.locator("#figure-roofline").inner_text()
    for text in ("f64 peak: 238 GFLOP/s", "L1: 938 GB/s", "memory: 81 GB/s", "study0 way-best", "study6 way-plain"):
        assert text in drawn
    count, overlaps = view.evaluate(_OVERLAPS)
    assert count >= 16 and overlaps == []
    assert "not counted in floating-point" in view.locator(".absent").inner_text()
    assert wrong == []
    (png,) = write_pictures(roofline_files(read_stored(tmp_path / "x")), tmp_path / "x.png", "png")
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.some(2)
@pytest.mark.parametrize("kernels", [0, 1, 8])
def test_the_figure_is_a_valid_specification_with_any_number_of_kernels(kernels: int) -> None:
    chart = roofline_figure(roofline_result(kernels))
    altair.Chart.from_dict(chart.to_dict()).to_dict(validate=True)


def test_the_lines_meet_where_intensity_times_bandwidth_is_the_peak() -> None:
    plan = Roofline(roofline_result())
    memory = plan.slopes[-1]
    _, (ridge, top) = plan.slope(memory)
    assert ridge == pytest.approx(476 / 81) and top == pytest.approx(476)
    (begin, _), (end, _) = plan.flat(plan.peaks[-1])
    assert begin == pytest.approx(238 / 938) and end == plan.across.high
    for kernel in plan.kernels:
        x, y = plan.pixels(plan.at(kernel))
        assert 0 < x < plan.across.pixels and 0 < y < plan.up.pixels


def test_the_tables_say_what_bounds_a_kernel() -> None:
    heads, rows = kernel_table(roofline_result())
    reported = {(r[0], r[1]): dict(zip(heads, r, strict=True)) for r in rows}
    assert (
        reported["study0", "way-best"]["bound by"] == "f64 peak"
        and reported["study0", "way-best"]["reached"] == "90.3%"
    )
    assert (
        reported["study4", "way-plain"]["bound by"] == "memory"
        and reported["study4", "way-plain"]["reached"] == "29.6%"
    )
    assert reported["study6", "way-best"]["flop/byte"] == "no bytes"
    assert roof_table(roofline_result())[0] == ["f64 peak", "238 GFLOP/s", "214.2", "study flops, f64"]
    assert roofline_result().headline == "238 GFLOP/s, 81 GB/s"


def test_a_stored_roofline_is_drawn_again(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    page = roofline_page_of(roofline_result(), folder)
    text = page.read_text()
    page.unlink()
    assert write_page(folder).read_text() == text
    record = read_stored(folder)
    assert record.kind.name == "roofline" and record.verdict == roofline_result()
    assert [p.name for p in write_pictures(roofline_files(record), tmp_path / "all", "svg")] == ["roofline.svg"]
    assert len(kernel_rows_csv(record).splitlines()) == 17
