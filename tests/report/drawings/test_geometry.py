# SPDX-License-Identifier: BSD-3-Clause
"""Drawings as a browser lays them out: every text inside of what it stands on, none over another, none too small."""

import shutil
from collections import Counter
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, sync_playwright

from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.resolve import Request, resolve
from nodewise.report.drawings.lettering import broken, fitting_size, shorten, text_width
from nodewise.report.drawings.machine import machine_svg
from nodewise.report.drawings.placements import compare_svg
from nodewise.report.drawings.seating import ramp_colour
from nodewise.report.drawings.where import where_svg
from nodewise.runner.agreement import Agreement, ProcessAgreement
from nodewise.runner.observe import Observation, SeenProcess, SeenThread

#: Fonts that a reader may have; DejaVu's is among the widest.
FONTS = ("", "DejaVu Sans", "DejaVu Serif", "Liberation Sans")

#: A text stands on the last box that was drawn below its middle. Heights are those of the ink, not of the line.
CHECK = """
() => {
  const faults = [], slack = 0.6;
  const canvas = document.createElement('canvas').getContext('2d');
  const root = document.querySelector('svg');
  const placed = (e, x, y, w, h) => {
    const m = e.getCTM(), o = root.getCTM();
    return {x: x + m.e - o.e, y: y + m.f - o.f, w, h, r: x + m.e - o.e + w, b: y + m.f - o.f + h};
  };
  const inside = (a, b) => a.x >= b.x - slack && a.r <= b.r + slack && a.y >= b.y - slack && a.b <= b.b + slack;
  const meet = (a, b) => Math.min(a.r, b.r) - Math.max(a.x, b.x) > slack && Math.min(a.b, b.b) - Math.max(a.y, b.y) > slack;
  const picture = e => {
    const v = e.ownerSVGElement.viewBox.baseVal;
    return placed(e.ownerSVGElement.querySelector(':scope > rect'), 0, 0, v.width, v.height);
  };
  const texts = [], boxes = [];
  [...root.querySelectorAll('rect, text')].forEach((e, order) => {
    if (e.tagName === 'rect') {
      if (e.getAttribute('width') === '100%') return;
      const b = e.getBBox();
      const box = {...placed(e, b.x, b.y, b.width, b.height), order};
      if (!inside(box, picture(e))) faults.push(['box outside of the picture', e.outerHTML]);
      boxes.push(box);
      return;
    }
    const style = getComputedStyle(e), b = e.getBBox();
    canvas.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const ink = canvas.measureText(e.textContent), y = parseFloat(e.getAttribute('y'));
    const up = ink.actualBoundingBoxAscent, down = ink.actualBoundingBoxDescent;
    const text = {...placed(e, b.x, y - up, b.width, up + down), order, words: e.textContent};
    if (parseFloat(style.fontSize) < 7) faults.push(['too small', text.words]);
    if (!text.words.trim()) faults.push(['empty', e.outerHTML]);
    if (!inside(text, picture(e))) faults.push(['text outside of the picture', text.words]);
    texts.push(text);
  });
  // only what lies in the same squares can meet
  const cell = 60;
  const cells = t => {
    const found = [];
    for (let i = Math.floor(t.x / cell); i <= Math.floor(t.r / cell); ++i)
      for (let j = Math.floor(t.y / cell); j <= Math.floor(t.b / cell); ++j) found.push(`${i} ${j}`);
    return found;
  };
  const squares = things => {
    const grid = new Map();
    things.forEach(t => cells(t).forEach(c => { if (grid.has(c)) grid.get(c).push(t); else grid.set(c, [t]); }));
    return grid;
  };
  const pairs = new Set();
  squares(texts).forEach(group => group.forEach((t, i) => group.slice(i + 1).forEach(u => {
    if (meet(t, u)) pairs.add(`${t.words} | ${u.words}`);
  })));
  pairs.forEach(p => faults.push(['texts overlap', p]));
  const drawn = squares(boxes);
  texts.forEach(t => {
    const x = (t.x + t.r) / 2, y = (t.y + t.b) / 2;
    const near = [...new Set(cells(t).flatMap(c => drawn.get(c) || []))];
    const below = near.filter(b => b.order < t.order && b.x <= x && x <= b.r && b.y <= y && y <= b.b);
    const own = below.reduce((last, b) => last && last.order > b.order ? last : b, null);
    if (own && !inside(t, own)) faults.push(['text out of its box', t.words]);
    if (near.some(b => (!own || b.order > own.order) && meet(t, b) && b !== own))
      faults.push(['text over the edge of another box', t.words]);
  });
  return faults;
}
"""


def _placed(shape: str, threads: int, ranks: int = 0, allow: str | None = None, title: str = "x", **asked: str) -> str:
    machine = load_machine(f"synthetic:{shape}", allow)
    job = Job(threads, ranks) if ranks else Job(threads)
    return machine_svg(machine, resolve(machine, job, Request(**asked)).placement, title)


def _compared(shape: str, job: Job, one: str, two: str, titles: tuple[str, str] = ("one", "two")) -> str:
    machine = load_machine(f"synthetic:{shape}")
    a, b = (resolve(machine, job, Request(policy=p)).placement for p in (one, two))
    return compare_svg(machine, a, b, titles)


def _seen(processes: int, threads: int, processors: int, command: str = "./solver", seconds: float = 2.0) -> str:
    seen = Observation(seconds=seconds, samples=200, cost_s=0.01)
    verdicts = {}
    for i in range(processes):
        process = SeenProcess(1000 + i * 1000, command, rank=i if processes > 1 else None)
        words = {}
        for t in range(threads):
            tid = process.pid + t
            home = (i * threads + t) % processors
            thread = SeenThread(tid, process.pid, f"worker-thread-{t:03}"[:15], 0.01 * t % seconds, seconds)
            thread.allowed = tuple(range(0, processors, 2)) if t % 3 == 0 else (home,)
            half = seconds / 2
            thread.track = [(thread.first_s, half, home), (half, seconds, (home + t) % processors)]
            thread.ran = Counter({home: 90, (home + t) % processors: 90})
            process.threads[tid] = thread
            words[tid] = f"asked for {home}, strayed to {(home + 1) % processors}-{processors} in 17 of 180 samples"
        seen.processes[process.pid] = process
        verdicts[process.pid] = ProcessAgreement(None, "the plan", words, agrees=False)
    return where_svg(seen, Agreement(verdicts, []))


LONG = (
    "256 threads on each of 16 nodes: KMP_AFFINITY=granularity=fine,proclist=[0,2,4,6,8,10,12,14,16],explicit " * 3,
    "W" * 200,
)
BIG = "pack:2 core:64 pu:2"
SCENES = {
    "big": lambda: _placed(BIG, 256, policy="compact"),
    "big half": lambda: _placed(BIG, 100, policy="scatter"),
    "big crowded": lambda: _placed(BIG, 1200, policy="balanced", zones="none"),
    "big ranks": lambda: _placed(BIG, 8, 32, policy="balanced"),
    "big long names of ranks": lambda: _placed(BIG, 16, 16, policy="compact"),
    "largest names of ranks": lambda: _placed("pack:2 core:128 pu:1", 128, 2, policy="compact"),
    "big many ranks": lambda: _placed(BIG, 1, 256, policy="compact"),
    "ranks on each other": lambda: _placed("core:4 pu:2", 4, 12, policy="balanced", zones="none"),
    "61 x 4": lambda: _placed("core:61 pu:4", 244, policy="balanced"),
    "61 x 4 empty": lambda: machine_svg(load_machine("synthetic:core:61 pu:4"), None),
    "8 nodes": lambda: _placed("pack:2 numa:4 l3:2 core:4 pu:2", 64, policy="compact"),
    "8 packages": lambda: _placed("pack:8 core:2 pu:1", 16, policy="compact"),
    "caches": lambda: _placed("pack:2 numa:2 l3:2 l2:4 l1:1 core:1 pu:2", 32, policy="scatter"),
    "one cache each": lambda: machine_svg(load_machine("synthetic:l3:8 l2:1 core:1 pu:1"), None),
    "one core": lambda: _placed("core:1 pu:1", 1, policy="compact"),
    "one core crowded": lambda: _placed("core:1 pu:1", 5000, policy="compact"),
    "one core, bare": lambda: machine_svg(load_machine("synthetic:core:1 pu:1"), None),
    "four cores, many threads": lambda: _placed("core:4 pu:1", 4000, policy="scatter"),
    "partly disallowed": lambda: _placed("pack:2 core:16 pu:2", 20, allow="0-7,20-31,40", policy="compact"),
    "almost all disallowed": lambda: _placed("pack:2 core:16 pu:2", 1, allow="63", policy="compact"),
    "large numbers": lambda: _placed("pack:8 core:128 pu:2", 2048, policy="compact"),
    "very wide cores": lambda: _placed("core:4 pu:32", 128, policy="compact"),
    "bands": lambda: _placed("numa:4 core:17 pu:4", 17, 4, places="cores", bind="close"),
    "band of many": lambda: machine_svg(load_machine("synthetic:core:2 pu:2"), Placement("x", ((0, 1),) * 3000)),
    "band and cells": lambda: machine_svg(
        load_machine("synthetic:core:2 pu:4"), Placement("x", ((0, 1, 2, 3), (1,), (2, 3), (0, 1), (4,)))
    ),
    "sockets": lambda: _placed("pack:2 core:4 pu:2", 6, places="sockets", bind="close"),
    "threads that move": lambda: machine_svg(
        load_machine("synthetic:core:64 pu:2"), Placement("x", tuple(tuple(range(i, 128, 3)) for i in range(40)))
    ),
    "long title": lambda: _placed("core:2 pu:1", 2, policy="compact", title=LONG[0]),
    "compared": lambda: _compared("pack:2 core:8 pu:2", Job(8), "compact", "scatter"),
    "compared, long names": lambda: _compared("pack:2 core:8 pu:2", Job(8), "compact", "scatter", LONG),
    "compared, long names, one core": lambda: _compared("core:1 pu:1", Job(2), "compact", "scatter", LONG),
    "compared, big": lambda: _compared(BIG, Job(4, 40), "compact", "scatter"),
    "compared, many nodes": lambda: _compared("pack:2 numa:8 l3:4 core:4 pu:2", Job(300), "compact", "balanced", LONG),
    "where": lambda: _seen(1, 4, 4),
    "where, many threads": lambda: _seen(1, 400, 256),
    "where, ranks": lambda: _seen(16, 8, 128, command="/a/very/long/path/to/a/program --with=arguments " * 6),
    "where, many processors": lambda: _seen(1, 16, 16, seconds=1e-7),
    "where, large numbers": lambda: _seen(2, 16, 5000, seconds=360000),
    "where, nothing": lambda: where_svg(Observation(seconds=0.0, samples=0, cost_s=0.0), Agreement({}, [])),
}


@pytest.fixture(scope="module")
def view() -> Iterator[Page]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page()
        browser.close()


@pytest.mark.some(10)
@pytest.mark.parametrize(
    "fonts", [pytest.param(FONTS[:2], id="two"), pytest.param(FONTS, id="all", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("scene", list(SCENES))
def test_no_text_leaves_its_box_or_meets_another(view: Page, scene: str, fonts: tuple[str, ...]) -> None:
    svg = SCENES[scene]()
    assert ">×1<" not in svg, "a thread that is alone has a name"
    for font in fonts:
        style = f"<style>svg {{ font-family: '{font}' !important }}</style>" if font else ""
        view.set_content(f"<!doctype html>{style}<body style='margin:0'>{svg}")
        faults = view.evaluate(CHECK)
        assert faults == [], f"{len(faults)} with {font or 'the own fonts'}"
    width = view.evaluate("document.querySelector('svg').viewBox.baseVal.width")
    assert width <= 1800


def test_a_text_is_cut_or_broken_where_it_must_be() -> None:
    words = "KMP_AFFINITY=explicit,proclist=[0,1,2,3,4,5,6,7] on each of eight nodes"
    for width in (60, 100, 250, 10_000):
        cut = shorten(words, width, 12)
        assert text_width(cut, 12) <= width + 0.1
        assert cut == words or (cut.endswith("…") and words.startswith(cut[:-1]))
        for most in (1, 2, 20):
            lines = broken(words, width, 12, most=most)
            assert 1 <= len(lines) <= most and all(text_width(line, 12) <= width + 0.1 for line in lines)
    assert "".join(broken(words, 100, 12, most=20)).replace(" ", "") == words.replace(" ", "")
    assert broken("", 100, 12) == []
    assert fitting_size("0", 100, (12, 8)) == 12 and fitting_size("0" * 20, 100, (12, 8)) is None


def test_threads_of_one_core_that_share_processors_in_many_ways_are_reported_in_words() -> None:
    machine = load_machine("synthetic:core:1 pu:8")
    few, many = (Placement("x", tuple((i, i + 1) for i in range(n))) for n in (4, 7))
    assert "may move" not in machine_svg(machine, few)
    assert machine_svg(machine, many).count("may move on processors") == 7


def test_a_thread_that_may_use_processors_apart_has_a_piece_on_each() -> None:
    machine = load_machine("synthetic:core:1 pu:4")
    svg = machine_svg(machine, Placement("x", ((0, 3), (1, 2))))
    # the first of them leaves no room between its ends
    assert svg.count(f'fill="{ramp_colour(0, 2)[0]}"') == 2 + 1
    assert svg.count(f'fill="{ramp_colour(1, 2)[0]}"') == 1
