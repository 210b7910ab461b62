# SPDX-License-Identifier: BSD-3-Clause
"""What a program may say of itself: seconds in regions, work done, whether the result is right.

    from nodewise.markers import count, region, report, verified

    with region("solve"):
        ...
    count("items", cells)
    verified(error < 1e-9)
    report("solve")  # one line; "solve" is what is compared

`nodewise.h` and `nodewise.f90` beside it say the same for C, C++ and Fortran: `nodewise --include-dir` prints where they are. Regions may be
entered by several threads at once: a region's seconds are those of the thread that spent the most in it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Where `nodewise.h` and `nodewise.f90` are.
INCLUDE_DIR = Path(__file__).parent


class _Own(threading.local):
    """What one thread has spent in each region, in seconds, and how often it was there."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.calls: dict[str, int] = {}


_lock = threading.Lock()
_own = _Own()
_seconds: dict[str, float] = {}
_calls: dict[str, int] = {}
_amounts: dict[str, float] = {}
_checks: list[bool] = []


@contextmanager
def region(name: str) -> Iterator[None]:
    """Add the time spent inside to this region's."""
    began = time.perf_counter()
    try:
        yield
    finally:
        spent, calls = _own.spent, _own.calls
        spent[name] = spent.get(name, 0.0) + time.perf_counter() - began
        calls[name] = calls.get(name, 0) + 1
        with _lock:
            _seconds[name] = max(_seconds.get(name, 0.0), spent[name])
            _calls[name] = max(_calls.get(name, 0), calls[name])


def count(name: str, amount: float) -> None:
    """Add to a number: `flops`, `bytes` and `items` are the work done, any other name is a metric."""
    with _lock:
        _amounts[name] = _amounts.get(name, 0.0) + amount


def verified(right: bool) -> None:
    """Say whether a part of the result is right; the result is where all parts are."""
    _checks.append(bool(right))


def report(decides: str | None = None) -> None:
    """Print all of it as one line, once at the end. What is compared is the time of that region, or of the whole program.

    Raises ValueError for a region that was never entered.
    """
    if decides is not None and decides not in _seconds:
        raise ValueError(f"no region {decides!r} was entered")
    line: dict[str, object] = {"nodewise": 1}
    if decides is not None:
        line["seconds"] = _seconds[decides]
    for name, seconds in _seconds.items():
        line |= {f"{name}_s": seconds, f"{name}_calls": _calls[name]}
    line |= _amounts
    if _checks:
        line["verified"] = all(_checks)
    # one write, so that lines of several ranks or threads do not mix
    os.write(1, f"\n{json.dumps(line)}\n".encode())
