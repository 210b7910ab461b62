# SPDX-License-Identifier: BSD-3-Clause
"""On which memory node the disk hangs that holds a file, and which processors are near it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = Path("/sys")


@dataclass(frozen=True)
class Nearness:
    """`processors` are those near the disk, None where there is nothing to choose; `why` says which disk and node."""

    processors: frozenset[int] | None
    why: str


def near(path: Path, system: Path = _SYSTEM) -> Nearness:
    """The processors of the memory node that owns the disk on which a path lies."""
    number = path.stat().st_dev
    link = system / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}"
    if not link.exists():
        return Nearness(None, f"{path} is on no block device that the system tells of: nothing to choose a socket by")
    device = link.resolve()
    # a partition is in its disk's folder, and the disk in that of the controller
    for folder in (device, *device.parents):
        if folder == system.resolve():
            break
        try:
            node = int((folder / "numa_node").read_text())
            text = (folder / "local_cpulist").read_text() if (folder / "local_cpulist").exists() else ""
        except (OSError, ValueError):
            continue
        if node < 0:
            return Nearness(None, f"disk {device.name} belongs to no memory node: nothing to choose")
        text = text or (system / "devices/system/node" / f"node{node}" / "cpulist").read_text()
        return Nearness(frozenset(parse_cpulist(text)), f"disk {device.name} is near memory node {node}")
    return Nearness(None, f"disk {device.name} does not say which memory node is near: nothing to choose")


def parse_cpulist(text: str) -> list[int]:
    """Read `0-3,8`."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found
