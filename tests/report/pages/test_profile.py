# SPDX-License-Identifier: BSD-3-Clause
"""The flame graph of a profile's page, in a browser: what its boxes say, either way up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser, Page

from nodewise.profile.changes import since
from nodewise.profile.samples import Life
from nodewise.report.pages.profile import profile_page
from tests.profile.profiles import profiled, taken
from tests.report.measuring import watched


@contextmanager
def opened(browser: Browser, folder: Path, text: str) -> Iterator[Page]:
    """The page, opened as a file."""
    (file := folder / "report.html").write_text(text)
    page, _ = watched(browser, 1280, 720)
    page.goto(file.as_uri())
    yield page


def titles(page: Page) -> dict[str, str]:
    """What is said of each box, by its function."""
    said = [str(box.get_attribute("title")) for box in page.query_selector_all("#graph button")]
    return {function: rest for function, _, rest in (one.rpartition(": ") for one in said)}


def hues(page: Page) -> dict[str, str]:
    """What colour each box has: red, blue or grey, by its function."""
    script = "box => getComputedStyle(box).backgroundColor.match(/\\d+/g).map(Number)"
    found = {}
    for box in page.query_selector_all("#graph button"):
        red, _, blue = box.evaluate(script)
        found[str(box.get_attribute("title")).rpartition(": ")[0]] = (
            "grey" if abs(red - blue) < 20 else "red" if red > blue else "blue"
        )
    return found


def counts(page: Page) -> dict[str, int]:
    """The samples of each box, by its function."""
    return {name: int(re.match(r"\d+", rest)[0]) for name, rest in titles(page).items()}  # type: ignore[index]


def test_what_is_too_thin_to_be_drawn_is_nobodys_own_time(browser: Browser, tmp_path: Path) -> None:
    """A caller of thousands of functions does not work itself where it stands at the bottom."""
    thin = [one for i in range(5000) for one in taken(f"main;call;leaf{i}")]
    samples = [*taken("main;call", 100), *taken("main;work", 4900), *thin]
    with opened(browser, tmp_path, profile_page(profiled(samples))) as page:
        assert counts(page) == {"all": 10_000, "main": 10_000, "call": 5100, "work": 4900}
        page.click("#turn")
        found = counts(page)
        assert (found["work"], found["call"]) == (4900, 100)


def test_names_that_look_alike_are_one_box(browser: Browser, tmp_path: Path) -> None:
    samples = [*taken("main;x\x1b", 30), *taken("main;x\\x1b", 20), *taken("main;y", 10)]
    with opened(browser, tmp_path, profile_page(profiled(samples))) as page:
        said = [box.inner_text() for box in page.query_selector_all("#graph button")]
        assert sorted(said) == ["all", "main", "x\\x1b", "y"]
        assert counts(page)["x\\x1b"] == 50


@pytest.mark.long
def test_what_changed_is_coloured_by_function_either_way_up_and_chance_is_not(browser: Browser, tmp_path: Path) -> None:
    """Of a thousand samples each: one function grew, one shrank, one differs by no more than chance, and one is called by another one."""
    before = [*taken("main;grew", 100), *taken("main;shrank", 500), *taken("main;same", 200), *taken("main;moved", 200)]
    after = [*taken("main;grew", 400), *taken("main;shrank", 190), *taken("main;same", 210), *taken("new;moved", 200)]
    # each stretch of time has the same of all
    Random(1).shuffle(before)
    Random(2).shuffle(after)
    changed = since(profiled(before), profiled(after))
    expected = {"grew": "red", "shrank": "blue", "same": "grey", "moved": "grey", "main": "grey", "all": "grey"}
    with opened(browser, tmp_path, profile_page(profiled(after), changed)) as page:
        for turned in (False, True):
            if turned:
                page.click("#turn")
            assert expected.items() <= hues(page).items(), turned
            said = titles(page)
            assert said["grew"].endswith("by itself 10% → 40% of all samples")
            assert said["same"].endswith("by itself 20% → 21% of all samples, which may be chance")
            assert "→" not in said["all"]
        assert "the share of 2 functions changed" in page.inner_text("body")


@pytest.mark.long
def test_where_threads_waited_has_a_graph_of_its_own_in_seconds(browser: Browser, tmp_path: Path) -> None:
    samples = [*taken("main;work", 30), *taken("main;read", 2, waited=0.25), *taken("main;lock", 1, waited=1.5)]
    with opened(
        browser, tmp_path, profile_page(profiled(samples), since(profiled(samples), profiled(samples)))
    ) as page:
        assert set(titles(page)) == {"all", "main", "work"}
        page.click("#off")
        assert titles(page) == {
            "all": "2.00 s of 2.00 s, 100%",
            "main": "2.00 s of 2.00 s, 100%",
            "lock": "1.50 s of 2.00 s, 75.0%",
            "read": "0.500 s of 2.00 s, 25.0%",
        }
        assert "time that threads waited" in page.inner_text("#shown")
        page.fill("#find", "lock")
        assert "75.0% of the time waited" in page.inner_text("#shown")
        page.click("#on")
        page.fill("#find", "")
        assert set(titles(page)) == {"all", "main", "work"}
    with opened(browser, tmp_path, profile_page(profiled(taken("main;work", 30)))) as page:
        assert page.query_selector('[role="tab"]') is None


def test_waiting_is_drawn_of_each_thread(browser: Browser, tmp_path: Path) -> None:
    """The one that waited longest first, whichever worked most."""
    one, other = (
        profiled([*taken("main;work", 30), *taken("main;read", 1, waited=0.5)]),
        taken("run;lock", 1, waited=2.0),
    )
    recorded = one.recorded[None]
    recorded.samples.extend(replace(wait, tid=2) for wait in other)
    recorded.threads[1, 2] = Life("pool", 0.0, 4.0)
    with opened(browser, tmp_path, profile_page(one)) as page:
        assert page.locator("#which option").all_inner_texts() == ["all threads", "app (1)"]
        page.click("#off")
        assert page.locator("#which option").all_inner_texts() == ["all threads", "pool (2)", "app (1)"]
        page.select_option("#which", "pool (2)")
        assert set(titles(page)) == {"all", "run", "lock"}


def test_time_in_what_has_no_names_is_its_librarys() -> None:
    samples = [*taken("main;[unknown]", 900), *taken("main;work", 300)]
    assert re.search(r'id="headline">75[.0]*% in \S+, whose functions have no names<', profile_page(profiled(samples)))
    samples = [*taken("main;[unknown]", 300), *taken("main;work", 900)]
    assert re.search(r'id="headline">75[.0]*% in work<', profile_page(profiled(samples)))
