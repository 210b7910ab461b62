# SPDX-License-Identifier: BSD-3-Clause
"""The browser that pages are opened in, and a page of every kind."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.report.gallery import PAGES


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    # without one on PATH Playwright looks for its own
    with sync_playwright() as play:
        if found is None and not Path(play.chromium.executable_path).exists():
            pytest.skip("Chromium is not installed: `apt-get install chromium`, or `playwright install chromium`")
        opened = play.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a kind, which is made once."""
    made: dict[str, Path] = {}

    def page(kind: str) -> Path:
        if kind not in made:
            made[kind] = PAGES[kind](tmp_path_factory.mktemp("pages") / kind)
        return made[kind]

    return page
