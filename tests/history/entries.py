# SPDX-License-Identifier: BSD-3-Clause
"""Entries of history as experiments would leave them."""

from __future__ import annotations

import random
from typing import Any

from nodewise.history.entry import Entry, point_of
from nodewise.records.commit import Commit

#: When the first one began: a day in November 2023.
BEGAN = 1_700_000_000.0


def entry(number: int, seconds: float, name: str = "./solver a", **given: Any) -> Entry:
    """One that took about so many seconds, a day after the one before it."""
    draw = random.Random(repr((name, number)))
    point = point_of([seconds * draw.gauss(1, 0.01) for _ in range(10)], name.removeprefix("./").split()[0], name)
    assert point is not None
    facts = {"key": f"{name} {number}", "kind": "run", "at": BEGAN + 86400 * number, "host": "node7"}
    facts |= {"processor": "Some Processor", "conditions": {"kernel": "6.1"}, "project": "solver"}
    facts |= {"commit": Commit(f"{number:040x}", False, "main", "solver"), "points": (point,)}
    return Entry(**{**facts, **given})
