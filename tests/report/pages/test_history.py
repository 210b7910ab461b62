# SPDX-License-Identifier: BSD-3-Clause
"""The page of history, in a browser."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from nodewise.history.store import Store
from nodewise.history.trend import trends_of
from nodewise.report.pages.history import history_page
from tests.history.entries import entry


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    name = "./solver <b>input</b> --with-a-long-option /and/a/path/that/goes/on/for/long"
    with Store(str(folder / "h.sqlite")) as store:
        store.add(entry(i, 1.0 if i < 20 else 1.2, name) for i in range(40))
        store.add(entry(i, 1.0, name, key=f"there {i}", host="node8") for i in range(3))
        store.add([entry(1, 1.0, "sleep 1")])
        (folder / "page.html").write_text(history_page(trends_of(store)))
    return folder / "page.html"


@pytest.mark.long
def test_a_trend_of_seconds_is_drawn_with_its_times(browser: Browser, tmp_path: Path) -> None:
    began = entry(1, 1.0).at
    with Store(str(tmp_path / "h.sqlite")) as store:
        store.add(replace(entry(i, 1.0 + i / 100), at=began + second) for i, second in enumerate((0.5, 4, 9.25, 21)))
        (tmp_path / "page.html").write_text(history_page(trends_of(store)))
    page = browser.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_function("document.querySelectorAll('.figure svg').length == 1")
    texts = page.evaluate("[...document.querySelectorAll('.figure svg text')].map(t => t.textContent)")
    page.close()
    assert wrong == []
    times = [text for text in texts if re.fullmatch(r"\d\d:\d\d:\d\d", text)]
    assert 4 <= len(times) <= 6 and all(int(b[-2:]) - int(a[-2:]) in (5, -55) for a, b in pairwise(times))


def test_nothing_is_outside_and_every_trend_is_drawn(browser: Browser, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda problem: wrong.append(str(problem)))
    page.on(
        "request", lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "data:")) else None
    )
    page.goto(page_file.as_uri())
    page.wait_for_function("document.querySelectorAll('.figure svg').length == 2")
    assert wrong == []
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        inside = (
            "[...document.querySelectorAll('.figure svg')].every(s => s.getBoundingClientRect().right <= innerWidth)"
        )
        assert page.evaluate(inside)
    text = page.inner_text("main")
    assert "Last changes: 1 slower" in text
    assert "regression: 1.20× slower since" in text
    assert "<b>input</b>" in text
    assert "at most 5%" in text
    page.locator("summary").first.click()
    assert "2023-11-14 22:13" in page.inner_text("main")
    page.close()
