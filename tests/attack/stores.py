# SPDX-License-Identifier: BSD-3-Clause
"""Damaged stores: one or more things of a stored experiment changed, and then all that reads one."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from tests.attack.damages import KINDS, damage, store
from tests.attack.place import Finding, Place

_stored: dict[Path, dict[str, Path]] = {}


def attack(dice: random.Random, place: Place) -> list[Finding]:
    """One experiment damaged, and read, written out, gone on with or confirmed."""
    if place.folder not in _stored:
        place.fresh()
        _stored[place.folder] = store(place.folder / "stored")
    here = place.fresh()
    kind = dice.choice([*KINDS, *KINDS, "confirm"])
    shutil.copytree(_stored[place.folder][kind], here / "x", ignore=shutil.ignore_patterns("report.html"))
    done = "; ".join(damage(dice, here / "x") for _ in range(dice.choice([1, 1, 1, 2, 4])))
    ways = [
        ["report", "--json", "x"],
        ["report", "--csv", "t.csv", "--html", "p.html", "x"],
        ["report", "--svg", "s", "x"],
        [kind, "--resume", "x"],
        [kind, "--resume", "x", "--json"],
        ["confirm", "--max-runs", "6", "--budget", "0.1s", "--out", "c", "x"],
        ["compare", "--baseline", "x", "-M", "6", "--budget", "0.2s", "sleep 0.001"],
    ]
    found: list[Finding] = []
    for words in dice.sample(ways, 2):
        ended = place.start(words, here).wait(60)
        found += [Finding(f.kind, f"{kind}, {done}: {f.what}") for f in ended.judged()]
    return found + place.left_over()
