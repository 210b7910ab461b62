# SPDX-License-Identifier: BSD-3-Clause
"""The flame graph of a profile's page, in a browser: what its boxes say, either way up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from nodewise.profile.result import Profiled, ProfileResult, function_shares, thread_shares
from nodewise.profile.samples import Frame, Life, Recorded, Taken
from nodewise.report.pages.profile import profile_page


def taken(stack: str, count: int = 1, waited: float | None = None) -> list[Taken]:
    """Samples of a stack, its functions from the outermost on with semicolons between."""
    chain = tuple(Frame(name, "/tmp/app", 0) for name in reversed(stack.split(";")))
    return [Taken(1, 1, 0.0, chain, waited)] * count


def profiled(samples: Sequence[Taken]) -> Profiled:
    """A profile of one thread."""
    work = [one for one in samples if one.waited is None]
    recorded = {None: Recorded(list(samples), {(1, 1): Life("app", 0.0, 4.0)})}
    result = ProfileResult(
        ("./app",), "a processor", "2026-11-23 12:00", 4.0, 0, "cycles", 99, "fp", "asked for", False, "6.1", len(work), 0,
        function_shares(work), (), thread_shares(recorded), (), (), 0.0, (), ("perf.data",),
    )  # fmt: skip
    return Profiled(result, recorded)


@contextmanager
def opened(browser: Browser, folder: Path, text: str) -> Iterator[Page]:
    """The page, opened as a file."""
    (file := folder / "report.html").write_text(text)
    page = browser.new_page()
    try:
        page.goto(file.as_uri())
        yield page
    finally:
        page.close()


def titles(page: Page) -> dict[str, str]:
    """What is said of each box, by its function."""
    said = [str(box.get_attribute("title")) for box in page.query_selector_all("#graph button")]
    return {function: rest for function, _, rest in (one.rpartition(": ") for one in said)}


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
