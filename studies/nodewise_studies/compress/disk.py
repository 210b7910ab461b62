# SPDX-License-Identifier: BSD-3-Clause
"""On which NUMA node the disk hangs that holds a file, and which processors are near it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = Path("/sys")
_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Nearness:
    """`processors` are those near the disk, None where there is nothing to choose; `why` says which disk and node."""

    processors: frozenset[int] | None
    why: str


def near(path: Path, system: Path = _SYSTEM, mounts: Path = _MOUNTS) -> Nearness:
    """The processors of the NUMA node that owns the disk on which a path lies."""
    device = _device(path.stat().st_dev, system) or _mounted_device(path, system, mounts)
    if device is None:
        return Nearness(None, f"{path} is on no block device that the system shows: nothing to choose a socket by")
    found = dict(_owners(device, system.resolve()))
    names = ", ".join(found)
    nodes = {node for node, _ in found.values() if node >= 0}
    if not found:
        return Nearness(None, f"disk {device.name} does not say which NUMA node is near: nothing to choose")
    if not nodes:
        return Nearness(None, f"disk {names} belongs to no NUMA node: nothing to choose")
    if len(nodes) > 1:
        every = " and ".join(map(str, sorted(nodes)))
        return Nearness(None, f"{device.name} lies on disks {names} of NUMA nodes {every}: nothing to choose")
    (node,) = nodes
    text = next((text for _, text in found.values() if text), "")
    text = text or (system / "devices/system/node" / f"node{node}" / "cpulist").read_text()
    return Nearness(frozenset(parse_cpulist(text)), f"disk {names} is near NUMA node {node}")


def _device(number: int, system: Path) -> Path | None:
    link = system / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}"
    return link.resolve() if link.exists() else None


def _mounted_device(path: Path, system: Path, mounts: Path) -> Path | None:
    """By what is mounted there: the files of btrfs have device numbers of their own."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return None
    found: dict[Path, str] = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        # blanks in names are written as octal numbers
        words = [re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), w) for w in (*before.split(), *after.split())]
        point = Path(words[4])
        if path.resolve().is_relative_to(point):
            found[point] = words[-2]
    source = found[max(found, key=lambda point: len(point.parts))] if found else ""
    try:
        return _device(Path(source).stat().st_rdev, system) if source.startswith("/dev/") else None
    except OSError:
        return None


def _owners(device: Path, system: Path) -> Iterator[tuple[str, tuple[int, str]]]:
    """The disks below a device with the node and processors of what they hang on; those that say nothing are left out."""
    # a partition is in its disk's folder
    whole = device.parent if (device / "partition").exists() else device
    # a volume over several disks links to them
    below = [link.resolve() for link in sorted((whole / "slaves").glob("*"))]
    # one disk behind several controllers is in the folder of its subsystem, which links to them
    if whole.parent.parent.name == "nvme-subsystem":
        below += [link.resolve() for link in sorted(whole.parent.glob("nvme*")) if link.is_symlink()]
    for one in below:
        yield from _owners(one, system)
    if below:
        return
    for folder in (device, *device.parents):
        if folder == system:
            return
        try:
            node = int((folder / "numa_node").read_text())
            near_by = (folder / "local_cpulist").read_text() if (folder / "local_cpulist").exists() else ""
        except (OSError, ValueError):
            continue
        yield device.name, (node, near_by)
        return


def parse_cpulist(text: str) -> list[int]:
    """Read `0-3,8`."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found
