# SPDX-License-Identifier: BSD-3-Clause
"""What a search and the reduction after it ask for, run by run, is as recorded in asks.json: what a change of its planning moves shows here.

The outcomes are the same on every machine, and the choices are not near enough to each other for the last digits to matter. Where a
change is meant, `./dev bench search` says whether it is one for the better; `NODEWISE_RECORD=1` records anew.
"""

import json
import math
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nodewise.search.guided import GuidedSearch
from nodewise.search.outcome import AtLeast, Outcome
from nodewise.search.prior import Prior, Seen
from nodewise.search.reduce import Reduction
from nodewise.search.space import Axis, Point, Space

FILE = Path(__file__).with_name("asks.json")
RECORDED: dict[str, Any] = {} if "NODEWISE_RECORD" in os.environ else json.loads(FILE.read_text())

THREADS = Axis("threads", tuple(range(1, 65)), (64, 32, 16, 8, 1), 64, ordered=True, crossed=True)
PLACEMENT = Axis("placement", ("os", "compact", "scatter"), ("scatter", "os", "compact"), "os", crossed=True)
PAGES = Axis("pages", ("default", "huge"), ("default", "huge"), "default")


def _space(*axes: Axis, allowed: Callable[[Point], bool] = lambda p: True) -> Space:
    return Space(axes, lambda p: tuple(p.items()), allowed=allowed)


def _knobs(count: int, values: str) -> tuple[Axis, ...]:
    return tuple(Axis(f"k{i}", tuple(values), tuple(values), values[0]) for i in range(count))


MIXED = _space(THREADS, PLACEMENT, PAGES, *_knobs(3, "abcd"))
CROSSED = _space(THREADS, PLACEMENT, PAGES)
TEN, SIX = _space(*_knobs(10, "abcd")), _space(*_knobs(6, "abcd"))
LIMITED = _space(THREADS, *_knobs(4, "abc"), allowed=lambda p: p["threads"] <= 16 or p["k0"] != "b")


def _placed(point: Mapping[str, Any], best: int) -> float:
    shape = 1 + 0.3 * abs(math.log(point["threads"] / best))
    return (
        shape
        * {"os": 1.1, "compact": 1.2, "scatter": 1.0}[point["placement"]]
        * (0.8 if point["pages"] == "huge" else 1)
    )


def _of(point: Mapping[str, Any], **effects: float) -> float:
    """The product of the effects, such as k1b=0.9, of the values that a point has."""
    return math.prod(by for name, by in effects.items() if point[name[:-1]] == name[-1])


def _many(point: Point, rng: random.Random) -> Outcome:
    if point["k3"] == "b":
        return None
    if point["k1"] == "d":
        return AtLeast(3.0)
    return _of(point, k2c=0.85, k5d=0.9, k7b=0.93, k0c=1.6) * math.exp(rng.gauss(0, 0.02))


def _both(point: Point, rng: random.Random) -> Outcome:
    effects = _of(point, k1c=1.3, k0b=0.95) * (0.9 if (point["k0"], point["k2"]) == ("b", "d") else 1)
    return _placed(point, 23) * effects * math.exp(rng.gauss(0, 0.02))


def _where(point: Point, rng: random.Random) -> Outcome:
    return _placed(point, 23) * math.exp(rng.gauss(0, 0.05))


def _fails(point: Point, rng: random.Random) -> Outcome:
    seconds = _placed(point, 16) * math.exp(rng.gauss(0, 0.02))
    return None if rng.random() < (0.4 if point["pages"] == "huge" else 0.05) else seconds


def _breaks(point: Point, rng: random.Random) -> Outcome:
    """Fails for good at some settings, two values together among them."""
    if point["k2"] == "c" or (point["k0"], point["k1"]) == ("b", "b") or (point["k4"] == "d" and rng.random() < 0.5):
        return None
    return _of(point, k0b=0.9, k1b=0.9, k3d=0.95, k5c=5.0) * math.exp(rng.gauss(0, 0.01))


def _grows(point: Point, rng: random.Random) -> Outcome:
    return (1 / point["threads"] + 0.02) * _of(point, k0b=0.8, k3c=0.97) * math.exp(rng.gauss(0, 0.05))


def _flat(point: Point, rng: random.Random) -> Outcome:
    return math.exp(rng.gauss(0, 0.01)) * (1.02 if rng.random() < 0.1 else 1.0)


def _known(point: Point, rng: random.Random) -> Outcome:
    return _of(point, k1b=0.86, k3d=0.9, k4c=1.1) * math.exp(rng.gauss(0, 0.02))


def _prior(sign: int, likeness: float = 0.8) -> Prior:
    names = [a.name for a in SIX.axes]
    points = [SIX.default.having(**{n: v}) for n in names for v in "abcd"] + [SIX.default.having(k1="b", k3="d")]
    logs = {p: sign * math.log(_of(p, k1b=0.86, k3d=0.9, k4c=1.1)) for p in points}
    return Prior(tuple(Seen(p, log, 0.01) for p, log in logs.items()), frozenset(names), likeness)


CASES: dict[str, tuple[Callable[[int], GuidedSearch], Callable[[Point, random.Random], Outcome], int]] = {
    "many axes": (lambda s: GuidedSearch(TEN, s), _many, 150),
    "few runs": (lambda s: GuidedSearch(TEN, s), _many, 24),
    "crossed and further axes": (lambda s: GuidedSearch(MIXED, s), _both, 150),
    "crossed axes": (lambda s: GuidedSearch(CROSSED, s), _where, 60),
    "an own default": (lambda s: GuidedSearch(CROSSED, s, [CROSSED.default.having(threads=5)], apart=True), _where, 60),
    "failures by chance": (lambda s: GuidedSearch(CROSSED, s), _fails, 100),
    "settings that fail": (lambda s: GuidedSearch(SIX, s), _breaks, 120),
    "points not allowed": (lambda s: GuidedSearch(LIMITED, s), _grows, 80),
    "nothing to gain": (lambda s: GuidedSearch(MIXED, s), _flat, 150),
    "led by an earlier search": (lambda s: GuidedSearch(SIX, s, earlier=[_prior(1)]), _known, 60),
    "misled by an earlier search": (lambda s: GuidedSearch(SIX, s, earlier=[_prior(-1), _prior(1, 0.3)]), _known, 60),
}


def _short(point: Point, space: Space) -> str:
    return " ".join(f"{n}={v}" for n, v in point.items() if v != space.default.get(n)) or "default"


@pytest.mark.some(8)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_a_search_asks_for_what_it_asked_for(case: str, seed: int) -> None:
    made, outcome, left = CASES[case]
    search, rng = made(seed), random.Random(seed)
    blocks = []
    while points := search.ask(left):
        left -= len(points)
        blocks.append([_short(p, search._space) for p in points])
        search.tell({p: outcome(p, rng) for p in points})
    asked: dict[str, Any] = {"blocks": blocks, "ranking": [_short(p, search._space) for p in search.ranking[:10]]}
    # what carries the gain of a setting with all changes that any of the best has
    best = {n: v for p in reversed(search.ranking[:4]) for n, v in p.items() if v != search._space.default.get(n, v)}
    reduction, room = Reduction(search, search._space, 0.01, search._space.default.having(**best)), 60
    asked["reduction"] = []
    while points := reduction.ask(room):
        room -= len(points)
        asked["reduction"].append([_short(p, search._space) for p in points])
        search.tell({p: outcome(p, rng) for p in points})
    asked["reduced"] = [_short(reduction.point, search._space)]
    name = f"{case}, {seed}"
    if "NODEWISE_RECORD" in os.environ:
        RECORDED[name] = asked
        lines = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in RECORDED.items())
        FILE.write_text(f"{{\n{lines}\n}}\n")
    assert asked == RECORDED[name]
