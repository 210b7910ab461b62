# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of fixed series to the digits: whatever moves one of their numbers has to be looked at.

`NODEWISE_RECORD=1` writes down what comes out now; that it is right is for the tests of each module to show.
"""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from nodewise.statistics.changes import critical, find_changes, largest, ranks_of
from nodewise.statistics.outlying import bulk, student_quantile
from nodewise.statistics.resolution import window_noise
from nodewise.statistics.scaling import LAWS, Fits, left_out_error
from nodewise.statistics.sequential import Looks, OpenLooks
from nodewise.statistics.shares import share_intervals
from nodewise.statistics.steps import infer_step, rounding_doubt
from nodewise.statistics.trend import drift
from nodewise.statistics.unpaired import unpaired_interval

FILE = Path(__file__).parent / "digits.json"
COUNTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def _normal(count: int, seed: int = 0, noise: float = 1.0) -> list[float]:
    draw = Random(seed)
    return [draw.gauss(0, noise) for _ in range(count)]


def _alike(count: int, seed: int = 0, share: float = 0.6) -> list[float]:
    """Values of which each has a share of the one before it."""
    found = [0.0]
    for value in _normal(count - 1, seed):
        found.append(share * found[-1] + value)
    return found


def _heavy(count: int, seed: int = 0) -> list[float]:
    return [v * abs(v) ** 1.5 for v in _normal(count, seed)]


def _stepped(count: int, at: int) -> list[float]:
    return [100 + v + 4 * (i >= at) for i, v in enumerate(_alike(count, 3, 0.3))]


def _changes(values: list[float]) -> Any:
    best, positions = largest(np.array([ranks_of(np.array(values))]))
    return [best[:, 0].tolist(), positions.tolist(), [dataclasses.asdict(c) for c in find_changes(values)]]


def _bulk(values: list[float], step: float = 0.01, tests: int = 100) -> Any:
    found = bulk(values, step, tests)
    return None if found is None else dataclasses.asdict(found)


def _fits(seconds: Callable[[float], float], noise: float) -> Any:
    blocks = [
        [seconds(n) * np.exp(v) for n, v in zip(COUNTS, _normal(5, 50 + b, noise), strict=True)] for b in range(8)
    ]
    fits = Fits(COUNTS, np.array(blocks))
    laws = [[dataclasses.asdict(c) for c in fits.coefficients(i)] for i in range(len(LAWS))]
    return [fits.best, fits.fits, fits.misfit, fits.noise, list(fits.errors), dataclasses.asdict(fits.time(40)), laws]


CASES: dict[str, Callable[[], Any]] = {
    "changes: none": lambda: _changes([50 + v for v in _normal(30)]),
    "changes: one": lambda: _changes(_stepped(40, 22)),
    "changes: alike": lambda: _changes([90 + v for v in _alike(120, 1, 0.7)]),
    "changes: fourteen": lambda: _changes(_stepped(14, 7)),
    "changes: in pairs": lambda: _changes(_stepped(400, 201)),
    "changes: long": lambda: _changes(_stepped(1000, 611)),
    "changes: there and back": lambda: _changes([v + 9 * (30 <= i < 55) for i, v in enumerate(_stepped(90, 90))]),
    "changes: critical": lambda: [list(critical(n)) for n in (12, 13, 14, 15, 16, 20, 25, 32, 40, 50, 64, 90, 128, 180, 256, 300)],
    **{f"bulk: normal, {n}": lambda n=n: _bulk(_normal(n, n)) for n in (7, 8, 9, 19, 20, 49, 50, 51, 300, 900)},  # type: ignore[misc]
    **{f"bulk: heavy, {n}": lambda n=n: _bulk(_heavy(n, n)) for n in (8, 20, 50, 55, 300, 900)},  # type: ignore[misc]
    "bulk: skewed": lambda: _bulk([v * v for v in _normal(200, 5)]),
    "bulk: negative skew": lambda: _bulk([-v * v for v in _normal(60, 6)]),
    "bulk: two kinds": lambda: _bulk([*_normal(90, 7), *(v + 30 for v in _normal(12, 8))]),
    "bulk: two kinds below": lambda: _bulk([*_normal(17, 7), *(v - 30 for v in _normal(2, 8))]),
    "bulk: few of another kind": lambda: _bulk([*_normal(15, 7), 40.0, 41.0]),
    "bulk: a usual level": lambda: dataclasses.asdict(bulk(_normal(40, 2), 0.01, 3)),  # type: ignore[type-var, arg-type]
    "bulk: no kinds": lambda: dataclasses.asdict(bulk([*_normal(30, 2), *(9.0,) * 9], 0.01, 3, 0.01, kinds=False)),  # type: ignore[type-var, arg-type]
    "student": lambda: [student_quantile(p, n) for p in (0.2, 0.05, 1e-4, 1e-8) for n in (1, 1.4, 1.6, 2, 2.4, 2.6, 3, 4, 4.9, 5, 9, 40, 1000)],
    "shares": lambda: [list(map(list, share_intervals([i * i % 7 % 4 for i in range(n)], 3))) for n in (3, 5, 24, 90, 101, 400, 12_000)],
    "windows": lambda: [dataclasses.asdict(w) if w else None for w in (window_noise([[abs(v) + 0.1 for v in _normal(n, n)] for n in (60, 90)], s) for s in (0.5, 2.0, 9.0, 50.0))],
    "fits: amdahl": lambda: _fits(lambda n: 0.5 + 9.5 / n, 0.02),
    "fits: usl": lambda: _fits(lambda n: 0.5 + 9.5 / n + 0.1 * (n - 1), 0.02),
    "fits: power": lambda: _fits(lambda n: 10 * n**-0.7, 0.1),
    "fits: gustafson": lambda: _fits(lambda n: 1 / (0.05 + 0.2 * n), 0.01),
    "fits: left out": lambda: [left_out_error(law, COUNTS, np.array([[9.0, 5.0, 3.0, 2.2, 1.9], [9.0, 4.0, 3.5, 2.0, 1.0]])).tolist() for law in LAWS],
    "looks": lambda: [[Looks((7, 14, 40), a).level for a in (0.05, 0.01)], [OpenLooks(0.05, 3).level(n) for n in (6, 7, 20, 40, 41, 44, 300)]],
    "steps": lambda: [infer_step(*s) for s in ([[0.5, 0.51, 0.53, 0.5, 0.52, 0.51]], [[2.5, 5.0, 7.5, 10.0, 5.0, 2.5]], [[0.1 * v + 3 for v in _normal(9)]], [[1.0, 2.0, 3.0]], [[0.104, 0.108, 0.112, 0.104, 0.108, 0.104]])],
    "rounding": lambda: [rounding_doubt([0.01 * round(50 + s * v) for v in _normal(n, n)], 0.01) for n in (6, 20, 200) for s in (0.1, 0.5, 3.0)],
    "drift": lambda: [dataclasses.asdict(drift(v)) for v in ([10 + 0.05 * i + v for i, v in enumerate(_alike(60, 2, s))] for s in (0.0, 0.6, 0.9))],
    "drift: long": lambda: dataclasses.asdict(drift([30 + 0.001 * i + v for i, v in enumerate(_alike(1500, 2, 0.5))])),
    "drift: ties": lambda: [dataclasses.asdict(drift(v)) for v in ([1.0, 1, 1, 2, 2, 2, 3, 3], [2.0] * 8, [3.0, 1, 2, 3, 1, 2], [1, 2, 3, 4, 5])],
    "unpaired": lambda: [dataclasses.asdict(unpaired_interval([9 + v for v in _normal(a, a)], [8 + v for v in _normal(b, b + 1)], 0.95)) for a, b in ((6, 6), (7, 12), (40, 25))],
}  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_near(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-7, abs=1e-9)
    return bool(one == other and isinstance(one, bool) == isinstance(other, bool))


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_that_were_written_down(name: str) -> None:
    found = json.loads(json.dumps(_plain(CASES[name]())))
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    if os.environ.get("NODEWISE_RECORD"):
        kept = {k: v for k, v in (kept | {name: found}).items() if k in CASES}
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in kept.items())
        FILE.write_text(f"{{\n{lines}\n}}\n")
    assert _near(found, kept[name]), (found, kept[name])
