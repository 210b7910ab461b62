# SPDX-License-Identifier: BSD-3-Clause
"""The page of a tune that runs follows it in a browser."""

import threading
from pathlib import Path

from playwright.sync_api import Browser

from nodewise.api.serve import Served, Watched
from nodewise.cli.served import Server
from nodewise.verdicts.live import read_live
from tests.report.gallery import running_tune


class _Running(Served):
    """Says of each that it runs, as long as it has no verdict."""

    def one(self, name: str) -> Watched:
        found = super().one(name)
        return Watched(name, not found.live.ended, found.live)


def test_the_page_follows_the_tune_until_it_ends(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "tune"
    running_tune(folder)
    whole = (folder / "samples.jsonl").read_text().splitlines(keepends=True)
    # one look so far
    (folder / "samples.jsonl").write_text("".join(whole[:-6]))
    with Server(_Running(None, [folder]), 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        page = browser.new_page()
        page.goto(server.url)
        page.click("text=tune of")
        page.wait_for_selector(".looks")
        before = page.locator(".track").count()
        (folder / "samples.jsonl").write_text("".join(whole))
        page.locator(".track").nth(1).wait_for(timeout=60000)
        (folder / "verdict.json").write_text('{"stopped": "decided"}')
        page.wait_for_selector("text=It does not run any more", timeout=60000)
        said = page.locator("#sentence").inner_text()
        page.close()
        server.shutdown()
        thread.join()
    assert before == 1 and said.startswith("It has ended")


def test_intervals_are_those_of_the_looks_that_were_planned(tmp_path: Path) -> None:
    live = running_tune(tmp_path / "tune")
    assert [look.blocks for look in live.looks] == [7, 12] and live.most_blocks == 12 and not live.ended
    widths = [look.high / look.low for look in live.looks if look.low and look.high]
    assert len(widths) == 2 and widths[1] < widths[0] and all(look.low < 2 / 1.2 < look.high for look in live.looks)  # type: ignore[operator]
    assert live.left_seconds is not None and 0 < live.left_seconds < 120
    assert live.leaders[0].key == "baseline" and live.leaders[1].ratio > 1.5
    later = live.as_of(live.written_at + 10)
    assert later.left_seconds == live.left_seconds - 10
    assert read_live(tmp_path / "tune").runs == live.runs
