# SPDX-License-Identifier: BSD-3-Clause
"""Every kind of page on every kind of screen: nothing outside of its card, and no fault that axe-core calls serious."""

import os
import struct
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.report.gallery import PAGES
from tests.report.measuring import OUTSIDE, opened, widened

PageOf = Callable[[str], Path]
#: A width for each of the style's layouts, and all that are looked at.
LAYOUTS = (360, 768, 2560)
WIDTHS = (360, 390, 768, 1024, 1400, 2560)
#: Pages that have all that any has between them: the style is the same for all, which the long tests look at.
SHOWN = ("tune", "study", "history", "check", "profile")


# colours move nothing: dark ones are looked at on a phone and on a desk
@pytest.mark.parametrize(
    ("scheme", "widths"),
    [
        pytest.param("light", LAYOUTS, id="light"),
        pytest.param("light", WIDTHS, id="light, all widths", marks=pytest.mark.long),
        pytest.param("dark", (WIDTHS[0], WIDTHS[-2]), id="dark", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("kind", [*SHOWN, *(pytest.param(k, marks=pytest.mark.long) for k in PAGES if k not in SHOWN)])
def test_nothing_is_outside_of_its_card(
    browser: Browser, page_of: PageOf, kind: str, scheme: str, widths: tuple[int, ...]
) -> None:
    page = opened(browser, page_of(kind), widths[0], scheme)
    found = {}
    for width in widths:
        widened(page, width)
        found[width] = page.evaluate(OUTSIDE)
    assert {width: wrong for width, wrong in found.items() if wrong} == {}


def test_what_is_outside_is_found(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<section style='width:300px'><p style='width:400px'>wide</p><div class='figure' data-room='300'>"
        "<svg width='90' height='20'><text y='12'>a long…word</text></svg></div>"
        "<table><tr><td style='max-width:45px;overflow:hidden'>Medians of the leaders</td></tr></table></section>"
    )
    page = opened(browser, tmp_path / "page.html", 390)
    found = "\n".join(page.evaluate(OUTSIDE))
    for said in ("outside by 100: p. wide", "cut: a long…word", "crushed to 4", "the page is 4"):
        assert said in found


@pytest.mark.parametrize(
    "kind", ["tune", "profile", *(pytest.param(k, marks=pytest.mark.long) for k in ("study", "check"))]
)
def test_without_scripts_the_page_is_as_wide_as_its_window_and_says_what_is_missing(
    browser: Browser, page_of: PageOf, kind: str
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900}, java_script_enabled=False)
    page.goto(page_of(kind).as_uri())
    right = max(box["x"] + box["width"] for card in page.locator("section").all() if (box := card.bounding_box()))
    figures = page.locator(".figure").count()
    assert right <= 390 and (figures > 0) is (kind in ("tune", "study"))
    pictures = page.locator(".figure").first.screenshot() if figures else b""
    page.close()
    # words stand where the figure would be
    assert not figures or len(pictures) > 1500


@pytest.mark.long
def test_a_long_head_of_a_list_has_room(browser: Browser, page_of: PageOf) -> None:
    page = opened(browser, page_of("scale"), 360)
    heights = page.evaluate(
        "[...document.querySelectorAll('.stacked td')].filter((c) => c.dataset.head.startsWith('time of the work'))"
        ".map((c) => c.getBoundingClientRect().height)"
    )
    # a head in two lines next to a short formula
    assert heights and min(heights) > 40


@pytest.mark.some(2)
@pytest.mark.parametrize("width", [360, 390, 1400])
def test_no_drawing_of_threads_is_scrolled_sideways_or_too_small_to_read(
    browser: Browser, page_of: PageOf, width: int
) -> None:
    page = opened(browser, page_of("tune"), width)
    seen = page.evaluate(
        "[...document.querySelectorAll('.drawing svg')].filter((s) => s.checkVisibility()).map((s) => {"
        " const box = s.getBoundingClientRect(), card = s.closest('section');"
        " return [box.width <= card.clientWidth && s.parentElement.scrollWidth <= s.parentElement.clientWidth,"
        " box.width / s.viewBox.baseVal.width, s.querySelectorAll('rect').length]; })"
    )
    assert len(seen) == 1
    (whole, scale, marks) = seen[0]
    # letters are 12 pixels high where nothing is made smaller
    assert whole and scale > 0.7 and marks > 10


@pytest.mark.long
def test_a_setting_without_an_interval_is_grey_and_last_and_says_when_it_was_cut_off(
    browser: Browser, page_of: PageOf
) -> None:
    page = opened(browser, page_of("tune"), 1280)
    kinds = page.evaluate("[...document.querySelectorAll('table.sortable tbody tr')].map((r) => r.className || 'sure')")
    words = page.locator("table.sortable tbody tr", has_text="1 thread,").last.inner_text()
    colour = "(s) => getComputedStyle(document.querySelector(s)).color"
    grey, soft = page.evaluate(colour, "tr.guess td"), page.evaluate(colour, "#sentence")
    assert kinds[0] == "best" and set(kinds[:2]) == {"best", "sure"} and set(kinds[2:]) == {"guess"}
    assert grey == soft
    assert "> 8" in words and "4 cut off" in words


#: Of what repeats below one element, built and styled alike, the first three stay: axe takes a second for a hundred of them.
_ONCE = """() => {
  const looks = (e) => ['class', 'style', 'role', 'fill'].map((name) => e.getAttribute(name) || '').join();
  for (const parent of [...document.querySelectorAll('body *')].reverse()) {
    const seen = new Map();
    for (const e of [...parent.children]) {
      const sign = [e, ...e.querySelectorAll('*')].map((i) => i.tagName + looks(i)).join(' ');
      seen.set(sign, (seen.get(sign) || 0) + 1);
      if (seen.get(sign) > 3) e.remove();
    }
  }
}"""


def _serious(page: Page) -> list[str]:
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
    told: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{rule['id']}: {node['html'][:120]}: {node['failureSummary'][:200]}"
        for rule in told["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"][:3]
    ]


# colours have nothing to do with the width: with light ones a page is wide, with dark ones narrow. One or the other in turn and
# without what repeats; both, and the whole, in the long tests
@pytest.mark.parametrize(
    ("kind", "scheme", "width", "whole"),
    [
        pytest.param(kind, scheme, width, whole, id=f"{kind}-{scheme}{', whole' * whole}", marks=[pytest.mark.long] * (whole or kind not in SHOWN))
        for number, kind in enumerate(PAGES)
        for turn, (scheme, width) in enumerate([("light", 1280), ("dark", 390)])
        for whole in (False, True)
        if whole or number % 2 == turn
    ],
)  # fmt: skip
def test_axe_finds_nothing_serious(
    browser: Browser, page_of: PageOf, kind: str, scheme: str, width: int, whole: bool
) -> None:
    pytest.importorskip(
        "axe_playwright_python", reason="axe-core is not installed: `pip install axe-playwright-python`"
    )
    page = opened(browser, page_of(kind), width, scheme)
    if not whole:
        page.evaluate(_ONCE)
    assert _serious(page) == []


def test_axe_finds_a_colour_that_only_one_of_many_has(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip(
        "axe_playwright_python", reason="axe-core is not installed: `pip install axe-playwright-python`"
    )
    rows = "".join(f"<tr{' class=pale' * (i == 70)}><td>row {i}</td></tr>" for i in range(99))
    (tmp_path / "page.html").write_text(
        f"<html lang=en><title>x</title><style>.pale td {{ color: #ddd; background: #fff }}</style><main><table>{rows}</table></main>"
    )
    page = opened(browser, tmp_path / "page.html", 390)
    page.evaluate(_ONCE)
    assert page.locator("tr").count() == 4
    assert [found for found in _serious(page) if "color-contrast" in found]


def test_a_table_is_sorted_by_the_keyboard(browser: Browser, page_of: PageOf) -> None:
    page = opened(browser, page_of("tune"), 1280)
    head = page.locator("table.sortable th button", has_text="median")
    head.focus()
    page.keyboard.press("Enter")
    assert page.locator("table.sortable th", has_text="median").get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert page.locator("table.sortable th", has_text="median").get_attribute("aria-sort") == "descending"


@pytest.mark.long
def test_marks_in_cells_have_the_colours_of_the_legend(browser: Browser, page_of: PageOf) -> None:
    for scheme in ("light", "dark"):
        page = opened(browser, page_of("compare"), 1280, scheme)
        legend = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('#figure-ratios .role-legend-entry .role-scope > g')].map("
            "g => [g.textContent, g.querySelector('.role-legend-symbol path').getAttribute('fill')]))"
        )
        marks = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('.mark')].map("
            "m => [m.classList[1], getComputedStyle(m, '::before').backgroundColor]))"
        )
        filters = page.evaluate(
            "[getComputedStyle(document.querySelector('.mark'), '::before').filter, "
            "getComputedStyle(document.querySelector('.figure svg')).filter]"
        )
        assert marks and filters[0] == filters[1]
        for word, colour in marks.items():
            assert colour == "rgb({}, {}, {})".format(*bytes.fromhex(legend[word.replace("-", " ")][1:])), (
                scheme,
                word,
            )


@pytest.mark.long
@pytest.mark.parametrize("kind", PAGES)
def test_pictures_of_every_page(browser: Browser, page_of: PageOf, tmp_path: Path, kind: str) -> None:
    """Kept in the folder that NODEWISE_PICTURES names."""
    folder = Path(os.environ.get("NODEWISE_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    page = opened(browser, page_of(kind), 390)
    for width in (390, 1400, 2560):
        widened(page, width)
        target = folder / f"{kind}-{width}.png"
        page.screenshot(path=target, full_page=True)
        content = target.read_bytes()
        assert struct.unpack(">I", content[16:20]) == (width,) and len(content) > 10_000


@pytest.mark.parametrize("kind", ["tune", pytest.param("study", marks=pytest.mark.long)])
def test_no_figure_waits_for_a_frame(browser: Browser, page_of: PageOf, kind: str) -> None:
    page = browser.new_page(viewport={"width": 900, "height": 600})
    # as in the background, and where a page is printed or pictured as soon as it is loaded
    page.add_init_script("window.requestAnimationFrame = () => 0")
    page.goto(page_of(kind).as_uri(), wait_until="load")
    page.wait_for_function(
        "[...document.querySelectorAll('.figure')].every((f) => f.querySelector('svg'))", timeout=20_000
    )
    assert page.locator(".figure").count() > 0
    page.close()
