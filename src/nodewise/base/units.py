# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with units, to and from text. Inside nodewise all times are seconds and all sizes bytes."""

import math
import re
from itertools import pairwise

from nodewise.base.errors import InputError
from nodewise.base.late import late

#: Seconds in each unit of time, by its names.
TIME_UNITS = {
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    "ms": 1e-3,
    **dict.fromkeys(("us", "µs", "μs"), 1e-6),
    "ns": 1e-9,
}
_PART = late(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zµμ]+)\s*")
#: No count that anyone means is larger: of runs, threads, bytes of a page.
MOST_WHOLE = 2**53
_LONGEST_S = 1e9
#: No share of anything, nor a slowdown that one would allow, is larger.
MOST_SHARE = 1e4
_SIZE = late(r"([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})\s*([kKmMgGtTpP]?)(i?)[bB]?")
_LARGEST = 1 << 60
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def parse_seconds(text: str, option: str = "") -> float:
    """Read a duration such as `60` (seconds), `60s`, `10 sec`, `500ms`, `1.5min` or `2h30m`, in seconds.

    `option` is named where it is wrong. Raises InputError where the text is no duration, its parts are not from the largest
    unit to the smallest, or it is not above zero.
    """
    shown = f"{option}: {text!r}" if option else repr(text)
    plain = text.strip().lower()
    parts = [(plain, "s")] if re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", plain) else _PART.findall(plain)
    units = [TIME_UNITS.get(unit, 0.0) for _, unit in parts]
    whole = (len(parts) == 1 and not _PART.findall(plain)) or _PART.sub("", plain) == ""
    falling = all(one > other for one, other in pairwise(units))
    if not parts or not whole or not all(units) or not falling:
        raise InputError(
            f"not a duration: {shown}",
            "write a number and a unit, such as 60s, 500ms, 1.5min, 2h30m; a bare number is seconds",
        )
    seconds = sum(float(number) * unit for (number, _), unit in zip(parts, units, strict=True))
    if seconds <= 0:
        raise InputError(f"a duration must be above zero: {shown}")
    if seconds > _LONGEST_S:
        raise InputError(f"a duration of more than thirty years: {shown}")
    return seconds


def parse_share(text: str, option: str, most: float | None = 1.0) -> float:
    """Read a part of one such as `1%`, `0.5%` or `0.01`, less than `most` and, where that is None, also 0.

    Without a sign it is below one, so that nobody's `2` is taken for 200%. Raises InputError.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?(?:e-?[0-9]+)?|\.[0-9]+(?:e-?[0-9]+)?)\s*(%?)\s*", text.lower())
    share = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    bare = match is not None and not match[2] and share >= 1
    if match is None or bare or share > MOST_SHARE or (most is not None and not 0 < share < most):
        raise InputError(f"{option}: not a share: {text!r}", f"write it such as {option} 1% or {option} 0.01")
    return share


def format_seconds(seconds: float) -> str:
    """Write a duration with three significant digits and the unit that fits: `1.23 ms`, `45.6 s`, `2 min 5 s`."""
    # the unit is that of the digits shown: 999.6 ms are 1 s
    shown = float(f"{seconds:.3g}")
    if shown >= 120:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    for limit, scale, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "µs")):
        if abs(shown) >= limit:
            return f"{shown * scale:.3g} {unit}"
    return f"{shown * 1e9:.3g} ns"


def format_span(seconds: float) -> str:
    """A time between two moments, which may be long: `45.6 s`, `2 min 5 s`, `26 h`, `400 days`."""
    if seconds < 7200:
        return format_seconds(seconds)
    return f"{seconds / 3600:.0f} h" if seconds < 172800 else f"{seconds / 86400:.0f} days"


def whole_duration(seconds: float) -> str:
    """A duration as it is typed, rounded up to a whole number of seconds or minutes."""
    return f"{math.ceil(seconds)}s" if seconds < 300 else f"{math.ceil(seconds / 60)}min"


def parse_bytes(text: str, option: str) -> int:
    """Read a size such as `500MB` (500 · 10⁶), `64KiB` (64 · 2¹⁰) or `4096` (bytes), above zero. Raises InputError."""
    match = _SIZE.fullmatch(text.strip())
    prefix = match[2].upper() if match else ""
    size = (
        round(float(match[1]) * (1024 if match[3] else 1000) ** ("KMGTP".index(prefix) + 1 if prefix else 0))
        if match
        else 0
    )
    if match is None or (match[3] and not prefix):
        raise InputError(f"{option}: not a size: {text!r}", f"write it such as {option} 500MB or {option} 64KiB")
    if not 0 < size <= _LARGEST:
        raise InputError(f"{option}: a size must be above zero and below an exbibyte: {text!r}")
    return size


def format_bytes(count: float) -> str:
    """Write a size in binary units: `512 B`, `1.5 GiB`."""
    size = float(count)
    for unit in _BINARY[:-1]:
        if abs(size) < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} {_BINARY[-1]}"


def format_rate(rate: float | None) -> str:
    """Write a rate, whose unit stands elsewhere, with four significant digits: `0.09323`, `104.3`, `40610`, `1.2e+09`; nothing for None."""
    if rate is None:
        return ""
    shown = float(f"{rate:.4g}")
    return f"{shown:.0f}" if 1e4 <= abs(shown) < 1e8 else f"{rate:.4g}"


def format_count(count: int, noun: str) -> str:
    """A number of things: `1 run`, `7 runs`; `noun` is the word for one."""
    return f"{count} {noun}{'s' * (count != 1)}"


def format_percent(share: float) -> str:
    """Write a share of one as a percentage, with a decimal, or below 1% with two digits: `1%`, `12.5%`, `0.43%`, `<0.01%`."""
    value = share * 100
    if abs(value) >= 0.95 or value == 0:
        return f"{value:.1f}".rstrip("0").rstrip(".") + "%"
    return f"{value:.2g}%" if abs(value) >= 0.01 else "<0.01%"
