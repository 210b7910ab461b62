# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with units, to and from text. Inside nodewise all times are seconds and all sizes bytes."""

import math
import re

from nodewise.base.errors import InputError

_TIME_UNITS = {
    "": 1.0,
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
}
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def parse_seconds(text: str) -> float:
    """Read a duration such as `60`, `60s`, `500ms`, `2min` or `1.5h`, in seconds.

    Raises InputError where the text is no duration or not above zero.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)\s*", text)
    if not match or match[2] not in _TIME_UNITS:
        raise InputError(f"not a duration: {text!r}", "write a number and a unit, such as 60s, 500ms, 2min or 1h")
    seconds = float(match[1]) * _TIME_UNITS[match[2]]
    if seconds <= 0:
        raise InputError(f"a duration must be above zero: {text!r}")
    return seconds


def format_seconds(seconds: float) -> str:
    """Write a duration with three significant digits and the unit that fits: `1.23 ms`, `45.6 s`, `2 min 5 s`."""
    if seconds >= 120:
        return f"{int(seconds // 60)} min {round(seconds % 60)} s"
    for limit, scale, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "µs")):
        if abs(seconds) >= limit:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def whole_duration(seconds: float) -> str:
    """A duration as it is typed, rounded up to a whole number of seconds or minutes."""
    return f"{math.ceil(seconds)}s" if seconds < 300 else f"{math.ceil(seconds / 60)}min"


def format_bytes(count: float) -> str:
    """Write a size in binary units: `512 B`, `1.5 GiB`."""
    size = float(count)
    for unit in _BINARY[:-1]:
        if abs(size) < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} {_BINARY[-1]}"


def format_percent(share: float) -> str:
    """Write a share of one as a percentage with at most one decimal: `1%`, `0.4%`."""
    return f"{share * 100:.1f}".rstrip("0").rstrip(".") + "%"
