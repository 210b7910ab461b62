# SPDX-License-Identifier: BSD-3-Clause
"""What peers found, kept in `peers.jsonl`: it depends on nothing of nodewise's searches, and takes far longer than they do.

A line is one search: the peer with its version, the case (a digest of its space and its truth, with which it counts no
more once the case is another one), noise, runs, seed, and the regret (in percent) at each number of runs where it changed.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks._cases import Case
from benchmarks._peers import DISTRIBUTIONS
from nodewise.tuning.options import Options

Trace = list[tuple[int, float]]

FILE = Path(__file__).parent / "peers.jsonl"
#: At so many settings, drawn at random, it is looked at what a case does.
_LOOKED_AT = 200


def digest(case: Case, best: float, runs: int) -> str:
    """What a search depends on besides noise, runs and seed: the values of the axes, the surface, its best time, and what a
    program does beyond the surface."""
    options = case.options(runs)
    axes = [(a.name, [str(v) for v in a.values], a.ordered, str(a.default)) for a in options.space.open]
    told = [axes, case.surface.text, case.by_itself, f"{case.baseline:.9g}", f"{best:.9g}"]
    return hashlib.sha256(json.dumps([*told, *_effects(case, options)], sort_keys=True).encode()).hexdigest()[:10]


def _effects(case: Case, options: Options) -> list[list[str]]:
    """What the case's effect makes of settings all over its space; nothing where it does nothing, so that what was kept of
    such cases stays."""
    dice, axes, default = random.Random(0), options.space.open, options.space.default
    points = [default, *(default.having(**{a.name: v}) for a in axes for v in a.values)]
    points += [default.having(**{a.name: dice.choice(a.values) for a in axes}) for _ in range(_LOOKED_AT)]
    found = [case.effect(options.setting(point)) for point in points]
    return [] if all(e == 1.0 for e in found) else [[e if isinstance(e, str) else f"{e:.9g}" for e in found]]


def _changes(trace: Trace) -> Trace:
    """Without the entries that say the same as the one before; the last one stays."""
    rounded = [(n, round(regret, 3)) for n, regret in trace]
    return [now for i, now in enumerate(rounded) if i == 0 or now[1] != rounded[i - 1][1] or i == len(rounded) - 1]


class Kept:
    """The file as a mapping; lines that are of other versions of a peer, or of another case, are passed over."""

    def __init__(self, path: Path = FILE, *, again: bool = False):
        """`again`: what is kept does not count, and is replaced by what is found now."""
        self._path = path
        self._again = again
        self._known: dict[str, Trace] = {}
        if path.exists():
            for line in map(json.loads, path.read_text().splitlines()):
                self._known[self._key(line)] = [(n, regret) for n, regret in line["trace"]]

    @staticmethod
    def _key(line: Mapping[str, object]) -> str:
        return json.dumps({name: value for name, value in line.items() if name != "trace"}, sort_keys=True)

    def trace(
        self, peer: str, case: Case, best: float, runs: int, noise: float, seed: int, search: Callable[[], Trace]
    ) -> Trace:
        """What a peer found, kept or from `search`, whose answer is kept; peers that no package brings are run each time."""
        if peer not in DISTRIBUTIONS:
            return search()
        name = DISTRIBUTIONS[peer]
        line: dict[str, object] = {
            "peer": f"{name} {version(name)}",
            "surface": case.name,
            "case": digest(case, best, runs),
            "noise": noise,
            "runs": runs,
            "seed": seed,
        }
        key = self._key(line)
        if self._again or key not in self._known:
            self._known[key] = _changes(search())
            with self._path.open("a") as file:
                file.write(json.dumps({**line, "trace": self._known[key]}, separators=(",", ":")) + "\n")
        return self._known[key]
