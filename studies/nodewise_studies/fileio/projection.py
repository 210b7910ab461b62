# SPDX-License-Identifier: BSD-3-Clause
"""What is worked out from the times of three sizes, and what a filesystem is."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodewise.base.units import format_percent
from nodewise.statistics.sequential import FEWEST_BLOCKS

from .agreement import against_fio
from .staging import stage_lines

#: The sizes that times are reported for, in bytes.
SIZES = {"1 MB": 10**6, "1 GB": 10**9, "10 GB": 10**10}

#: Times for sizes larger than this many of what was measured are rough.
_FAR = 20

#: Rows that a build can lack: what they begin with, what they are of, what it was built without.
_OPTIONAL = (
    ("fortran-", "Fortran", "a compiler (apt-get install gfortran)"),
    ("uring-", "io_uring", "its library (apt-get install liburing-dev)"),
)

#: A size that was measured is one that differs by no more than this.
_SAME = 0.01


@dataclass(frozen=True)
class Projected:
    """The time for a size; `measured` is false where it is worked out from those of other sizes."""

    seconds: float
    measured: bool

    def __str__(self) -> str:
        return f"{_short(self.seconds)}{' ' if self.measured else '*'}"


def _short(seconds: float) -> str:
    for limit, unit, scale in ((1e-3, "us", 1e6), (1, "ms", 1e3), (100, "s", 1), (6000, "min", 1 / 60)):
        if seconds < limit:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds / 3600:.3g} h"


def project(points: Sequence[tuple[float, float]], size: float) -> Projected:
    """The time for `size` from (size, time) pairs: between two the line through both, outside a fixed time and a rate.

    Those two are fitted to all points by their relative errors. Where times do not grow with the size, what is known is
    the rate at the largest, which larger ones may well exceed.
    """
    points = sorted(points)
    for have, seconds in points:
        if abs(have - size) <= _SAME * size:
            return Projected(seconds, measured=True)
    for (low, before), (high, after) in itertools.pairwise(points):
        if low < size < high:
            return Projected(before + (after - before) * (size - low) / (high - low), measured=False)
    fixed, per_byte = _fit(points)
    return Projected(fixed + per_byte * size, measured=False)


def _fit(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    one = sum(1 / t**2 for _, t in points)
    x = sum(n / t**2 for n, t in points)
    xx = sum(n * n / t**2 for n, t in points)
    y = sum(1 / t for _, t in points)
    xy = sum(n / t for n, t in points)
    determinant = one * xx - x * x
    if determinant > 1e-9 * one * xx:
        fixed, per_byte = (y * xx - xy * x) / determinant, (one * xy - x * y) / determinant
        if fixed >= 0 and per_byte > 0:
            return fixed, per_byte
        if per_byte > 0:
            return 0.0, xy / xx
    largest, seconds = points[-1]
    return 0.0, seconds / largest


@dataclass(frozen=True)
class Filesystem:
    """The filesystem of a folder: its type, the options it is mounted with, and what is free."""

    kind: str
    options: str
    free: int

    @property
    def in_memory(self) -> bool:
        """Whether no disk is behind it."""
        return self.kind in ("tmpfs", "ramfs")


def folders_of(point: Mapping[str, str]) -> list[str]:
    """The folders of a point, as the native part takes them."""
    return [f for f in point.get("folders", "").split(":") if f] or [os.environ.get("TMPDIR") or "/tmp"]


def filesystem_of(folder: str, table: str | None = None) -> Filesystem:
    """What the kernel's table of mounts says: the last entry with the longest path that holds the folder."""
    if table is None:
        table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    where = os.path.realpath(folder)
    best, found = -1, ("unknown", "")
    for line in table.splitlines():
        words = line.split()
        mount = words[4].replace("\\040", " ")
        rest = words[words.index("-") + 1 :]
        inside = where == mount or where.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= best:
            shared = [w for w in rest[2].split(",") if w not in words[5].split(",")]
            best, found = len(mount), (rest[0], ",".join([words[5], *shared]))
    try:
        seen = os.statvfs(where)
        free = seen.f_bavail * seen.f_frsize
    except OSError:
        free = 0
    return Filesystem(*found, free)


def measured_points(row: Mapping[str, Any], folder: int, size: float) -> list[tuple[float, float]]:
    """What a row has measured on a folder (from 1): pairs of bytes and seconds."""
    metrics = row.get("metrics") or {}
    sizes = {"small_": metrics.get("small_bytes"), "middle_": metrics.get("middle_bytes"), "": size}
    pairs = {n: metrics.get(f"f{folder}_{name}seconds") for name, n in sizes.items() if n}
    return [(n, t) for n, t in pairs.items() if t is not None and t > 0 and math.isfinite(t)]


def report(result: Mapping[str, Any]) -> list[str]:
    """For each folder what it is, the times for the sizes of interest, and how they stand to fio's."""
    point = result["point"]
    rows = _rows_of(result)
    lines: list[str] = []
    for number, folder, variants, size in _folders(result):
        lines += _report_folder(folder, point, variants, size)
        # fewer blocks bear no ratio
        if result["blocks"] >= FEWEST_BLOCKS:
            lines += against_fio(rows, point, number, len(folders_of(point)))
    if lines and point.get("op") == "read" and (cached := _cached(rows)) is not None:
        lines.append(f"before reading, {format_percent(cached)} of the files were in the page cache")
    for start, rows_of, built in _OPTIONAL:
        if lines and not any(name.startswith(start) for name in rows):
            lines.append(f"no {rows_of} rows: not asked for, or built without {built}")
    return lines


def advise(result: Mapping[str, Any]) -> list[str]:
    """For each folder what to take, and where a way by another folder is faster."""
    lines = []
    seen: dict[int | str, tuple[str, Mapping[str, float]]] = {}
    size = 0.0
    for _, folder, variants, size in _folders(result):
        order_by = _order_by(variants, size)
        # two folders of one filesystem are no way round
        seen.setdefault(_device(folder), (folder, order_by))
        order = sorted(order_by, key=lambda name: order_by[name])
        best, worst = order[0], order[-1]
        if best == worst:
            continue
        of = "what was measured" if _far(size) else "1 GB"
        ratio = order_by[worst] / order_by[best]
        kind = filesystem_of(folder).kind
        lines.append(f"{folder}: take {best} on {kind}: for {of} {worst} takes {ratio:.1f} times as long")
        text = next((n for n in order if "-formatted-" in n), None)
        if text is not None and text != best:
            lines.append(
                f"  if it has to be text, {text}: {order_by[text] / order_by[best]:.1f} times as long as {best}"
            )
    if result["point"].get("op", "write") == "write":
        lines += stage_lines(list(seen.values()), "what was measured" if _far(size) else "1 GB")
    return lines


def _device(folder: str) -> int | str:
    try:
        return Path(folder).stat().st_dev
    except OSError:
        return folder  # a result that is read where the folder is not


def _rows_of(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {r["contender"]: r for r in result["rows"] if r["kind"] != "limit" and r.get("seconds")}


def _folders(result: Mapping[str, Any]) -> Iterator[tuple[int, str, dict[str, list[tuple[float, float]]], float]]:
    """The folders that something was measured on: number from 1, path, what each variant gave there, bytes written."""
    folders = folders_of(result["point"])
    size = float(result["work"]["items"]) / len(folders)
    rows = _rows_of(result)
    for number, folder in enumerate(folders, 1):
        variants = {n: measured_points(r, number, size) for n, r in rows.items() if r["kind"] == "variant"}
        if variants := {n: points for n, points in variants.items() if points}:
            yield number, folder, variants, size


def _far(size: float) -> bool:
    """Whether 1 GB is so far from what was measured that a projection orders nothing."""
    return size * _FAR < SIZES["1 GB"]


def _order_by(variants: Mapping[str, Sequence[tuple[float, float]]], size: float) -> dict[str, float]:
    """The seconds by which variants are ordered: for 1 GB, or what was measured where that is far from it."""
    return {name: project(points, size if _far(size) else SIZES["1 GB"]).seconds for name, points in variants.items()}


def _report_folder(
    folder: str, point: Mapping[str, str], variants: Mapping[str, Sequence[tuple[float, float]]], size: float
) -> list[str]:
    system = filesystem_of(folder)
    lines = [
        f"{folder}: {system.kind} ({system.options}), {system.free / 1e9:.1f} GB free",
        f"  {_remark(system, point)}",
    ]
    times = {name: {label: project(points, n) for label, n in SIZES.items()} for name, points in variants.items()}
    order_by = _order_by(variants, size)
    order = sorted(order_by, key=lambda name: order_by[name])
    lines.append(
        f"  {'time for':<28}" + "".join(f"{label:>11}" for label in SIZES) + f"   measured {size / 1e6:.4g} MB"
    )
    for name in order:
        now = dict(variants[name]).get(size)
        rate = f"{size / now / 1e6:>10.4g} MB/s" if now else ""
        lines.append(f"  {name:<28}" + "".join(f"{times[name][label]!s:>11}" for label in SIZES) + rate)
    lines.append("  * not measured: interpolated or extrapolated from the times of three sizes")
    if _far(size):
        lines.append(
            f"  1 GB is {SIZES['1 GB'] / size:.0f} times what was measured: --kib 262144 --variants fast shows more"
        )
    if system.free < SIZES["10 GB"]:
        lines.append("  10 GB would not fit")
    return lines


def _remark(system: Filesystem, point: Mapping[str, str]) -> str:
    """Whose times these are: the disk's or the page cache's."""
    if system.in_memory:
        return "in memory: no disk is behind it"
    if point.get("op") == "read":
        return "read back " + (
            "from the page cache" if point.get("cache") == "keep" else "after the page cache was asked to drop the file"
        )
    if point.get("fsync") == "no":
        return "without fsync: times are the page cache's, not the disk's (but for the direct variants)"
    return "with fsync: times are until the disk has it"


def _cached(rows: Mapping[str, Mapping[str, Any]]) -> float | None:
    parts = [r["metrics"]["cached"] for r in rows.values() if "cached" in (r.get("metrics") or {})]
    return sum(parts) / len(parts) if parts else None
