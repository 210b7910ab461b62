# SPDX-License-Identifier: BSD-3-Clause
"""What the knobs leave to the study, as study.h and data.cpp have it, too."""

from __future__ import annotations

from collections.abc import Mapping

_USUAL, _ROUND_TRIP = 4096, 8
_WINDOW_BYTES, _FEWEST, _MOST = 4 * 2**20, 2, 8192


def message_size(point: Mapping[str, str]) -> int:
    """Bytes of a message."""
    return int(point.get("size") or 0) or (_ROUND_TRIP if point.get("class") == "latency" else _USUAL)


def window(size: int) -> int:
    """How many messages of `size` bytes the receiver's memory holds of one-sided transfers."""
    return min(_MOST, max(_FEWEST, _WINDOW_BYTES // size))
