# SPDX-License-Identifier: BSD-3-Clause
"""Placements drawn: every thread there once, labels inside of their boxes, ranks distinguished; two side by side."""

import re
import xml.etree.ElementTree as ET

import pytest

from nodewise.base.escaping import unmarked
from nodewise.machine.sources import load_machine
from nodewise.placement.facts import placement_facts
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.resolve import Request, resolve
from nodewise.report.drawings.lettering import text_width
from nodewise.report.drawings.machine import machine_svg
from nodewise.report.drawings.placements import compare_svg
from nodewise.report.drawings.seating import RANKS
from nodewise.report.text.machine import machine_text
from nodewise.report.text.placements import compare_rows, compare_text, moved_threads

NAME = "{http://www.w3.org/2000/svg}"
CASES = {
    "four": ("core:4 pu:1", Job(4), {"policy": "compact"}),
    "large": ("pack:2 l3:8 core:16 pu:2", Job(512), {"policy": "compact"}),
    "large ranks": ("pack:2 l3:8 core:16 pu:2", Job(32, 8), {"policy": "scatter"}),
    "many ranks": ("pack:2 core:64 pu:2", Job(2, 32), {"policy": "balanced"}),
    "bands": ("numa:4 core:17 pu:4", Job(17, 4), {"places": "cores", "bind": "close"}),
    "wide": ("pack:2 core:4 pu:2", Job(6), {"places": "sockets", "bind": "close"}),
    "crowded": ("pack:2 core:8 pu:2", Job(2, 20), {"policy": "balanced", "zones": "none"}),
    "moving": ("pack:2 numa:8 l3:1 core:4 pu:2", Job(20), {"places": "{0}:64:2", "bind": "false"}),
    "uneven": ("core:61 pu:4", Job(62), {"policy": "balanced"}),
}


@pytest.fixture(params=list(CASES))
def case(request):
    shape, job, asked = CASES[request.param]
    machine = load_machine(f"synthetic:{shape}")
    return machine, resolve(machine, job, Request(**asked)).placement


def shapes(svg):
    root = ET.fromstring(svg)
    boxes = [{k: e.get(k) for k in ("x", "y", "width", "height", "fill", "opacity")} for e in root.iter(f"{NAME}rect")]
    texts = [
        (float(e.get("x")), float(e.get("y")), float(e.get("font-size")), e.get("text-anchor"), e.text)
        for e in root.iter(f"{NAME}text")
    ]
    size = (float(root.get("width")), float(root.get("height")))
    titles = [e.text for e in root.iter(f"{NAME}title")]
    return boxes, texts, size, titles


def test_all_is_inside_of_the_picture(case):
    boxes, texts, (width, height), _ = shapes(machine_svg(*case, title="x"))
    for box in boxes[1:]:
        assert float(box["x"]) >= 0 and float(box["x"]) + float(box["width"]) <= width + 0.1
        assert float(box["y"]) >= 0 and float(box["y"]) + float(box["height"]) <= height + 0.1
    for x, y, size, anchor, text in texts:
        wide = text_width(text, size)
        left = x - wide / 2 if anchor == "middle" else x
        assert left >= -1 and left + wide <= width + 1, text
        assert y <= height
        assert size >= 8.5


def test_every_thread_is_named_once(case):
    machine, placement = case
    _, texts, _, titles = shapes(machine_svg(machine, placement))
    reported = [t for t in titles if "thread" in t] + [t[4] for t in texts if "may move" in t[4]]
    counted = 0
    for numbers in re.findall(r"threads? ([\d–]+(?:, [\d–]+)*)", "\n".join(reported)):
        for part in numbers.split(", "):
            first, _, last = part.partition("–")
            counted += int(last or first) - int(first) + 1
    assert counted == placement.threads


def test_ranks_have_colours_of_their_own():
    machine = load_machine("synthetic:pack:2 core:8 pu:2")
    placement = resolve(machine, Job(2, 8), Request(policy="compact")).placement
    svg = machine_svg(machine, placement)
    boxes, texts, _, _ = shapes(svg)
    assert {b["fill"] for b in boxes} >= set(RANKS)
    assert {f"rank {r}" for r in range(8)} <= {t[4] for t in texts}
    assert [t[4] for t in texts].count("1") >= 8


def test_a_band_covers_what_its_thread_may_use():
    machine = load_machine("synthetic:core:2 pu:4")
    placement = Placement("x", ((0, 1, 2, 3), (5, 6)))
    boxes, _, _, titles = shapes(machine_svg(machine, placement))
    assert {"thread 0: processors 0, 1, 2, 3", "thread 1: processors 5, 6"} <= set(titles)
    widths = sorted(float(b["width"]) for b in boxes if b["height"] == "17" or b["height"] == "17.0")
    assert widths[-2:] == [2 * 34 - 6, 4 * 34 - 6]


def test_crowds_are_reported_only_where_cores_are_idle():
    machine = load_machine("synthetic:core:4 pu:1")
    assert "shared while cores are idle" in machine_svg(machine, Placement("x", ((0,), (0,))))
    assert "shared while cores are idle" not in machine_svg(machine, Placement("x", tuple((p % 4,) for p in range(8))))


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_terminal_is_not_overrun(case, width):
    text = machine_text(*case, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b[" not in text


def test_a_large_machine_is_one_sign_a_core():
    machine = load_machine("synthetic:pack:2 core:128 pu:2")
    placement = resolve(machine, Job(48), Request(policy="compact")).placement
    text = machine_text(machine, placement)
    assert "2" * 24 + "·" * 40 in text.replace(" ", "")
    assert len(text.splitlines()) < 25


def test_ranks_are_in_colour_where_that_is_wished():
    machine = load_machine("synthetic:core:4 pu:1")
    placement = resolve(machine, Job(1, 2), Request(policy="compact")).placement
    plain, painted = machine_text(machine, placement), machine_text(machine, placement, colour=True)
    assert "\x1b[38;5;33mr0t0\x1b[0m" in unmarked(painted)
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain


TWO = load_machine("synthetic:pack:2 core:8 pu:2")
COMPACT = resolve(TWO, Job(8), Request(policy="compact")).placement
SCATTER = resolve(TWO, Job(8), Request(policy="scatter")).placement


def test_what_differs_between_two_placements():
    assert moved_threads(COMPACT, SCATTER) == {1, 3, 5, 7}
    assert moved_threads(COMPACT, COMPACT) == frozenset()
    rows = {name: (a, b) for name, a, b in compare_rows(TWO, COMPACT, SCATTER)}
    assert rows["cores used"] == ("4, 12 idle", "8, 8 idle")
    assert rows["threads on each socket"] == ("8, 0", "4, 4")
    assert rows["most threads on a core"] == ("2", "1")
    assert rows["neighbouring threads in one core"] == ("4 of 7", "0 of 7")
    assert rows["neighbouring threads on two sockets"] == ("0 of 7", "7 of 7")
    assert "elsewhere: threads 1, 3, 5, 7" in compare_text(TWO, COMPACT, SCATTER, ("a", "b"))
    assert "no thread sits elsewhere" in compare_text(TWO, COMPACT, COMPACT, ("a", "b"))


def test_two_placements_are_drawn_side_by_side():
    svg = compare_svg(TWO, COMPACT, SCATTER, ("one", "two"))
    boxes, texts, (width, _), _ = shapes(svg)
    assert {"one", "two", "cores used"} <= {t[4] for t in texts}
    assert sum(1 for b in boxes if b["opacity"] == "0.3") == 8
    nested = [e for e in ET.fromstring(svg) if e.tag == f"{NAME}svg"]
    assert len(nested) == 2 and float(nested[1].get("x")) > 0 and float(nested[1].get("y")) == 0
    assert width <= 1700
    large = load_machine("synthetic:pack:2 core:128 pu:2")
    a, b = (resolve(large, Job(64), Request(policy=p)).placement for p in ("compact", "scatter"))
    nested = [e for e in ET.fromstring(compare_svg(large, a, b, ("one", "two"))) if e.tag == f"{NAME}svg"]
    assert float(nested[1].get("x")) == 0 and float(nested[1].get("y")) > 0


def test_facts_of_a_small_placement():
    machine = load_machine("synthetic:pack:2 numa:1 l3:2 core:2 pu:2")
    facts = placement_facts(machine, Placement("x", ((0,), (1,), (2,), (4,), (8,), (8,), (0, 1), (0, 2))))
    assert (facts.threads, facts.processors, facts.cores, facts.idle_cores) == (8, 5, 4, 4)
    assert facts.by_kind == {"core": (3, 1, 1, 0, 2, 0, 0, 0), "cache": (5, 1, 2, 0), "numa": (6, 2), "package": (6, 2)}
    assert facts.loads == {0: 1, 1: 1, 2: 1, 4: 1, 8: 2}
    assert facts.neighbours == {"core": 2, "cache": 1, "numa": 1, "far": 2}
    assert facts.bound == {"processor": 6, "core": 1, "wider": 1}
    assert facts.crowded and facts.most_on_a_processor == 2
