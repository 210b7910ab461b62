# SPDX-License-Identifier: BSD-3-Clause
"""Limits that affinity and control groups, version 1 and 2, put on this process; the narrowest on the way up counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import parse_processors
from nodewise.machine.files import integer, read_number, read_text
from nodewise.machine.model import Limits

#: Version 1 writes a number of this size where there is no limit.
_NO_LIMIT = 1 << 60


@dataclass(frozen=True)
class _Mount:
    """A mounted hierarchy: `controllers` is empty for version 2, `origin` the group that is mounted at `point`."""

    controllers: frozenset[str]
    origin: PurePosixPath
    point: PurePosixPath


def _mounts(root: Path) -> tuple[_Mount, ...]:
    """The hierarchies in /proc/self/mountinfo."""
    return _mounted(read_text(root / "proc/self/mountinfo") or "")


# asked for each controller, and it is long where there are containers
@lru_cache(maxsize=4)
def _mounted(mountinfo: str) -> tuple[_Mount, ...]:
    """The hierarchies in a text as proc(5) has it: … root mount-point … - type source options."""
    found = []
    for line in mountinfo.splitlines():
        left, dash, right = line.partition(" - ")
        fields, filesystem = left.split(), right.split()
        if not dash or len(fields) < 5 or not filesystem or filesystem[0] not in ("cgroup", "cgroup2"):
            continue
        options = filesystem[-1].split(",") if filesystem[0] == "cgroup" else []
        found.append(_Mount(frozenset(options), PurePosixPath(fields[3]), PurePosixPath(fields[4])))
    return tuple(found)


def _memberships(root: Path) -> list[tuple[frozenset[str], PurePosixPath]]:
    """The lines of /proc/self/cgroup: controllers (none for version 2) and the group's path."""
    lines = (read_text(root / "proc/self/cgroup") or "").splitlines()
    parts = (line.split(":", 2) for line in lines)
    return [(frozenset(p[1].split(",")) - {""}, PurePosixPath(p[2])) for p in parts if len(p) == 3]


def _upwards(root: Path, mount: _Mount, group: PurePosixPath) -> Iterator[Path]:
    """The group's directory and those above it that can be seen, up to the mount point."""
    # A container often sees its own group as the top of the mount, and its path from outside the namespace.
    inside = group.relative_to(mount.origin) if group.is_relative_to(mount.origin) else PurePosixPath()
    top = root / mount.point.relative_to("/")
    here = top / inside
    if ".." in inside.parts or not here.is_dir():
        here = top
    yield here
    while here != top:
        here = here.parent
        yield here


def _directories(root: Path, controller: str) -> Iterator[Path]:
    """All directories whose limits on `controller` hold here; version 1 where it manages the controller, and version 2."""
    mounts = _mounts(root)
    for controllers, group in _memberships(root):
        for mount in mounts:
            if (
                controllers <= mount.controllers
                if controller in controllers
                else not (controllers or mount.controllers)
            ):
                yield from _upwards(root, mount, group)
                break


def _cpuset(root: Path) -> set[int] | None:
    narrowest: set[int] | None = None
    for directory in _directories(root, "cpuset"):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            text = read_text(directory / name)
            if not text:
                continue
            try:
                granted = set(parse_processors(text))
            except InputError:
                continue
            narrowest = granted if narrowest is None else narrowest & granted
            break
    return narrowest


def _quota(directory: Path) -> float | None:
    """A group's share of processor time, in processors."""
    words = (read_text(directory / "cpu.max") or "").split()
    quota, period = (integer(w) or 0 for w in words) if len(words) == 2 else (0, 0)
    if not (quota and period):
        quota = read_number(directory / "cpu.cfs_quota_us") or 0
        period = read_number(directory / "cpu.cfs_period_us") or 0
    return quota / period if quota > 0 and period > 0 else None


def read_limits(root: Path, affinity: Iterable[int], memory_bytes: int) -> Limits:
    """What holds for this process, read below `root` (`/`, or a recorded tree).

    `affinity` are the processors that the scheduler grants, `memory_bytes` is the machine's memory: a limit not below it
    is none (version 1 writes a huge number for "no limit").
    """
    processors = set(affinity)
    granted = _cpuset(root)
    # A cpuset that leaves nothing is one of another namespace's numbering: then the scheduler's word stands.
    known = granted is not None and bool(processors & granted)
    if granted is not None and known:
        processors &= granted
    quotas = [q for d in _directories(root, "cpu") if (q := _quota(d)) is not None]
    names = ("memory.max", "memory.limit_in_bytes")
    sizes = [n for d in _directories(root, "memory") for name in names if (n := read_number(d / name)) is not None]
    memory = min(sizes, default=None)
    if memory is not None and memory_bytes and memory >= memory_bytes:
        memory = None
    cpuset = tuple(sorted(granted)) if granted is not None and known else ()
    return Limits(tuple(sorted(processors)), min(quotas, default=None), memory, _nodes(root), cpuset)


def read_throttling(root: Path) -> float | None:
    """For how many seconds quotas have held back this process's group or one above it; None where none can."""
    total = None
    for directory in _directories(root, "cpu"):
        words = (read_text(directory / "cpu.stat") or "").split()
        counted = dict(zip(words[::2], words[1::2], strict=False))
        for name, scale in (("throttled_usec", 1e-6), ("throttled_time", 1e-9)):
            if counted.get(name, "").isdigit():
                total = (total or 0.0) + int(counted[name]) * scale
    return total


def read_memory_kills(root: Path) -> int | None:
    """How many processes of this process's group the out-of-memory killer has ended so far (where the group does not report,
    how many on the machine); None where nothing reports it."""
    names = [d / name for d in _directories(root, "memory") for name in ("memory.events", "memory.oom_control")]
    # a group's count holds those below it; the next one up has other groups' as well
    for path in (*names, root / "proc/vmstat"):
        words = (read_text(path) or "").split()
        count = dict(zip(words[::2], words[1::2], strict=False)).get("oom_kill", "")
        if count.isdigit():
            return int(count)
    return None


def read_memory_limit(root: Path) -> int | None:
    """The narrowest limit on this process's memory in bytes; None where there is none."""
    limit = read_limits(root, (), 0).memory_bytes
    return None if limit is None or limit >= _NO_LIMIT else limit


def _nodes(root: Path) -> tuple[int, ...]:
    """The NUMA nodes that this process may use."""
    lines = (read_text(root / "proc/self/status") or "").splitlines()
    text = next((line.partition(":")[2].strip() for line in lines if line.startswith("Mems_allowed_list:")), "")
    try:
        return parse_processors(text) if text else ()
    except InputError:
        return ()
