# SPDX-License-Identifier: BSD-3-Clause
"""Which level to take for a disk or a link of so many bytes a second, from ratios and speeds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.base.errors import InputError
from nodewise.statistics.pareto import pareto_front

_UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_UNITS |= {"kbit": 125.0, "Mbit": 125e3, "Gbit": 125e6}
#: Speeds are tried in steps of this factor, between these, in bytes a second.
_STEP, _SLOWEST, _FASTEST = 1.02, 1e4, 1e11
NOTHING = "no compression"


@dataclass(frozen=True)
class Level:
    """What a level gave: ratio, and bytes a second of the data as they were, compressing and decompressing."""

    name: str
    ratio: float
    pack: float
    unpack: float

    def through(self, link: float, overlapped: bool = True) -> float:
        """Bytes a second that get through a link or onto a disk, compressed on the way."""
        sent = self.ratio * link
        return min(self.pack, sent) if overlapped else 1 / (1 / self.pack + 1 / sent)

    def back(self, link: float) -> float:
        """Bytes a second that are read back from there, decompressed meanwhile."""
        return min(self.unpack, self.ratio * link)


PLAIN = Level(NOTHING, 1.0, float("inf"), float("inf"))


def parse_link(text: str) -> float:
    """Bytes a second: `500MB/s`, `10Gbit/s`. Raises InputError."""
    read = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]+)/s\s*", text)
    unit = {name.lower(): factor for name, factor in _UNITS.items()}.get(read[2].lower()) if read else None
    try:
        speed = float(read[1]) * unit if read and unit else 0.0
    except ValueError:
        speed = 0.0
    if not speed:
        raise InputError(f"not the speed of a link: {text!r}", "write it such as link=500MB/s or link=10Gbit/s")
    return speed


def format_speed(speed: float) -> str:
    """As one reads it."""
    return f"{speed / 1e9:.3g} GB/s" if speed >= 0.9995e9 else f"{speed / 1e6:.3g} MB/s"


def levels_of(rows: Iterable[Mapping[str, Any]]) -> list[Level]:
    """The rows that ran."""
    found = []
    for row in rows:
        told = row.get("metrics") or {}
        if row["kind"] != "limit" and row.get("seconds") and told.get("ratio"):
            pack, unpack = told["compress_mbs"] * 1e6, told["decompress_mbs"] * 1e6
            found.append(Level(row["contender"], told["ratio"], pack, unpack))
    return found


def best_of(levels: Sequence[Level], link: float, overlapped: bool = True) -> Level:
    """What gets most through; of those that the link alone holds up equally, the fastest to compress."""
    return max([PLAIN, *levels], key=lambda v: (round(v.through(link, overlapped) / link, 4), v.pack))


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
    best, apart = best_of(levels, link), best_of(levels, link, overlapped=False)
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
    if apart is not best:
        lines.append(
            f"  one after the other (compress, then write) it would be {apart.name}: "
            f"{format_speed(apart.through(link, overlapped=False))}"
        )
    return lines


def overview(levels: Sequence[Level]) -> list[str]:
    """What to take for a link of any speed, in words."""
    found = steps(levels)
    words = [f"up to {format_speed(high)} {best.name}" for _, high, best in found[:-1]]
    return [f"by speed of the disk or link: {'; '.join(words)}; faster ones {found[-1][2].name}"] if words else []
