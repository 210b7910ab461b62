# SPDX-License-Identifier: BSD-3-Clause
"""What the knobs leave to the study, as study.h and data.cpp have it, too."""

from __future__ import annotations

from collections.abc import Mapping

_USUAL, _ROUND_TRIP = 4096, 8
_LADDERS = {"small": (64, 4096), "large": (4096, 128 * 2**20)}
_SMALL_BYTES, _LARGE_BYTES = 128 * 2**20, 2**30
_WINDOW_BYTES, _FEWEST, _MOST = 4 * 2**20, 2, 8192


def message_size(point: Mapping[str, str]) -> int:
    """Bytes of a message."""
    return int(point.get("size") or 0) or (_ROUND_TRIP if point.get("class") == "latency" else _USUAL)


def window(size: int) -> int:
    """How many messages of `size` bytes the receiver's memory holds of one-sided transfers."""
    return min(_MOST, max(_FEWEST, _WINDOW_BYTES // size))


def rungs(point: Mapping[str, str], messages: int) -> list[tuple[int, int]]:
    """The sizes that a run goes through in turn, with how many messages each has; one size with all `messages` without a ladder."""
    if (ladder := point.get("ladder", "")) not in _LADDERS:
        return [(message_size(point), messages)]
    least, most = _LADDERS[ladder]
    total = int(point.get("total") or 0) or (_SMALL_BYTES if ladder == "small" else _LARGE_BYTES)
    sizes = [least]
    while sizes[-1] < most:
        sizes.append(2 * sizes[-1])
    return [(size, max(1, total // size)) for size in sizes]
