# SPDX-License-Identifier: BSD-3-Clause
"""Which level to take for a disk or a link of so many bytes a second, from ratios and speeds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.base.errors import InputError
from nodewise.statistics.pareto import pareto_front

_UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_UNITS |= {"kbit": 125.0, "Mbit": 125e3, "Gbit": 125e6}
#: Speeds are tried in steps of this factor, between these, in bytes a second.
_STEP, _SLOWEST, _FASTEST = 1.02, 1e4, 1e11
NOTHING = "no compression"
#: What is better by less than this is no reason for another level.
_WORTH = 1.01


@dataclass(frozen=True)
class Level:
    """What a level gave: ratio, and bytes a second of the data as they were, compressing and decompressing; the seconds of
    the processor that both took together, in the program and in the kernel.
    """

    name: str
    ratio: float
    pack: float
    unpack: float
    user: float = math.nan
    system: float = math.nan

    def through(self, link: float) -> float:
        """Bytes a second that get through a link or onto a disk, compressed meanwhile."""
        return min(self.pack, self.ratio * link)

    def after(self, link: float) -> float:
        """The same where writing begins when all is compressed."""
        return 1 / (1 / self.pack + 1 / (self.ratio * link))

    def back(self, link: float) -> float:
        """Bytes a second that are read back from there, decompressed meanwhile."""
        return min(self.unpack, self.ratio * link)

    def across(self, link: float) -> float:
        """Bytes a second from one end of a link to the other: compressed, sent and decompressed all at once."""
        return min(self.through(link), self.unpack)


PLAIN = Level(NOTHING, 1.0, float("inf"), float("inf"))


def parse_link(text: str) -> float:
    """Bytes a second: `500MB/s`, `10Gbit/s`. Raises InputError."""
    read = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]+)/s\s*", text)
    unit = {name.lower(): factor for name, factor in _UNITS.items()}.get(read[2].lower()) if read else None
    if read and unit and read[2].endswith("b"):
        meant = read[2][:-1]
        raise InputError(
            f"a b may be a bit or a byte: {text!r}", f"write it as {read[1]}{meant}B/s or {read[1]}{meant}bit/s"
        )
    try:
        speed = float(read[1]) * unit if read and unit else 0.0
    except ValueError:
        speed = 0.0
    if not 0 < speed < math.inf:
        raise InputError(f"not the speed of a link: {text!r}", "write it such as link=500MB/s or link=10Gbit/s")
    return speed


def format_speed(speed: float) -> str:
    """As one reads it."""
    return f"{speed / 1e9:.3g} GB/s" if speed >= 0.9995e9 else f"{speed / 1e6:.3g} MB/s"


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{seconds * 1e3:.3g} ms"


def levels_of(rows: Iterable[Mapping[str, Any]]) -> list[Level]:
    """The rows that ran."""
    found = []
    for row in rows:
        metrics = row.get("metrics") or {}
        if row["kind"] != "limit" and row.get("seconds") and metrics.get("ratio"):
            pack, unpack = metrics["compress_mbs"] * 1e6, metrics["decompress_mbs"] * 1e6
            processor = (metrics.get("user_s", math.nan), metrics.get("system_s", math.nan))
            found.append(Level(row["contender"], metrics["ratio"], pack, unpack, *processor))
    return found


def best_of(levels: Sequence[Level], link: float, speed: Callable[[Level, float], float] = Level.through) -> Level:
    """What gets most through by `speed`; of those that the link alone holds up equally, the fastest to compress."""
    return max([PLAIN, *levels], key=lambda v: (round(speed(v, link) / link, 4), v.pack))


def frontier(levels: Sequence[Level]) -> list[Level]:
    """Those that no other beats in both ratio and speed, the fastest first."""
    return [levels[i] for i in pareto_front([(-v.pack, -v.ratio) for v in levels])]


def steps(levels: Sequence[Level]) -> list[tuple[float, float, Level]]:
    """From which speed of a link to which a level is the best one, overlapped; the slowest links first."""
    found: list[tuple[float, float, Level]] = []
    link = _SLOWEST
    while link < _FASTEST:
        best = best_of(levels, link)
        if found and found[-1][2] is best:
            found[-1] = (found[-1][0], link, best)
        else:
            found.append((link, link, best))
        link *= _STEP
    return found


def advice(levels: Sequence[Level], link: float) -> list[str]:
    """What to take for one link, in words."""
    best = best_of(levels, link)
    speed = format_speed(link)
    lines = [f"a disk or link of {speed}, compressing while it writes (the slower of the two decides):"]
    if best is PLAIN:
        lines.append(f"  do not compress: no level gets more than {speed} through")
    else:
        holds = "compressing" if best.pack < best.ratio * link else "the link"
        gain = best.through(link) / link
        lines.append(
            f"  use {best.name}: {format_speed(best.through(link))} of these files get through, {gain:.2f} times what does "
            f"uncompressed; {holds} decides; read back at {format_speed(best.back(link))}"
        )
    for words, speed_of in (
        ("one after the other (compress, then write)", Level.after),
        ("decompressing at the other end meanwhile", Level.across),
        ("written once and read often, decompressing while it reads,", Level.back),
    ):
        other = best_of(levels, link, speed_of)
        if speed_of(other, link) > _WORTH * speed_of(best, link):
            lines.append(
                f"  {words} it would be {other.name}: {format_speed(speed_of(other, link))}, {best.name} "
                f"{format_speed(speed_of(best, link))}"
            )
    return lines


def listing(levels: Sequence[Level]) -> list[str]:
    """All levels as lines of a table, the fastest to compress first; those that no other beats are marked."""
    best = {level.name for level in frontier(levels)}
    lines = [
        "ratio, compressing and decompressing (library calls only), and the processor's time of both, in the program and in "
        "the kernel; * no other compresses both faster and more:"
    ]
    for level in sorted(levels, key=lambda one: one.pack, reverse=True):
        mark = "*" if level.name in best else " "
        speeds = f"{format_speed(level.pack):>10}  {format_speed(level.unpack):>10}"
        times = "" if math.isnan(level.user) else f"  {_time(level.user):>8} user {_time(level.system):>8} system"
        lines.append(f"{mark} {level.name:<16} {level.ratio:6.2f} : 1  {speeds}{times}")
    return lines


def overview(levels: Sequence[Level]) -> list[str]:
    """What to take for a link of any speed, in words."""
    found = steps(levels)
    words = [f"up to {format_speed(high)} {best.name}" for _, high, best in found[:-1]]
    return [f"by speed of the disk or link: {'; '.join(words)}; faster ones {found[-1][2].name}"] if words else []
