# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that no node can have: a size or a count below zero, a share beyond one. What says so is damaged, not wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nodewise.base.bounded_json import LARGEST

#: Where a number below zero has a meaning: temperatures, a clock that is late, a switch's lowest level, and whatever users add.
_SIGNED = (("sensors",), ("own",), ("time", "offset_s"), ("kernel", "perf_paranoid"))
_SHARES = ("free", "free_inodes")
#: No count of this size ends; the kernel's own have 64 bits.
_LARGEST = float(1 << 63)
Path = tuple[str | int, ...]


def bounds(path: Path) -> tuple[float, float]:
    """Between which numbers, both included, one at that path lies; of what users add any that JSON from outside may have. Any name may stand for a star."""
    if path[:1] == ("own",):
        return -LARGEST, LARGEST
    low = -_LARGEST if any(path[: len(s)] == s for s in _SIGNED) else 0.0
    return low, 1.0 if path[:1] == ("mounts",) and path[-1] in _SHARES else _LARGEST


def impossible(value: Any, path: Path) -> Iterator[tuple[Path, float, str]]:
    """The numbers below `path` that cannot be, each with where it stands and what is needed."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from impossible(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from impossible(inner, (*path, place))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = bounds(path)
        if isinstance(value, float) and not math.isfinite(value):
            yield path, value, "a finite number is needed"
        elif abs(value) > max(-low, _LARGEST, high):
            yield path, value, "a number of at most 64 bits is needed"
        elif value < low:
            yield path, value, "a number at least 0 is needed"
        elif value > high:
            yield path, value, "a share from 0 to 1 is needed"
