# SPDX-License-Identifier: BSD-3-Clause
"""Programs that compress files."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from benchmarks._real.catalogue import Case, Room, program, with_parameter

_MEBI = 1 << 20


def corpus(room: Room, mebibytes: int) -> Path:
    """A file of so many MiB, made of what every machine with Python has: its sources, and programs of the system between."""
    path = room.inputs / f"corpus-{mebibytes}"
    if path.exists() and path.stat().st_size == mebibytes * _MEBI:
        return path
    texts = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    binaries = sorted(p for p in Path("/usr/bin").iterdir() if p.is_file() and p.stat().st_size < 4 * _MEBI)
    data = bytearray()
    while len(data) < mebibytes * _MEBI:
        before = len(data)
        for k, text in enumerate(texts):
            data += text.read_bytes()
            if binaries and k % 8 == 0:
                data += binaries[k % len(binaries)].read_bytes()
            if len(data) >= mebibytes * _MEBI:
                break
        if len(data) == before:
            break
    path.write_bytes(data[: mebibytes * _MEBI])
    return path


@program("zstd", {"zstd": "zstd"})
def _zstd(room: Room) -> list[Case]:
    large, small = str(corpus(room, 40)), str(corpus(room, 4))
    room.do("zstd", "-q", "-f", "-6", large, "-o", "large.zst")
    return [
        with_parameter(
            "level 7", ["zstd", "-q", "-f", "-7", "-T{workers}", large, "-o", "a.zst"], "workers", ["1", "2"], "2"
        ),
        Case("level 15", ("zstd", "-q", "-f", "-15", small, "-o", "a.zst")),
        Case("test", ("zstd", "-q", "-t", "large.zst", "large.zst", "large.zst")),
        with_parameter(
            "long",
            ["zstd", "-q", "-f", "-5", "--long=26", "-T{workers}", large, "-o", "a.zst"],
            "workers",
            ["1", "2", "0"],
        ),
    ]


@program("xz", {"xz": "xz-utils"})
def _xz(room: Room) -> list[Case]:
    data = room.folder / "data"
    data.write_bytes(corpus(room, 8).read_bytes())
    (room.folder / "small").write_bytes(data.read_bytes()[: 2 * _MEBI])
    room.do("xz", "-k", "-f", "-3", "--block-size=2MiB", "-T2", "data")
    room.do("mv", "data.xz", "ready.xz")
    pack = ["xz", "-k", "-f", "-1", "--block-size=2MiB", "-T{workers}", "data"]
    return [
        with_parameter("level 1", pack, "workers", ["1", "2"], "2"),
        with_parameter("test", ["xz", "-t", "-T{workers}", "ready.xz", "ready.xz"], "workers", ["1", "2"]),
        Case("level 4", ("xz", "-k", "-f", "-4", "-T1", "small")),
    ]


@program("7-Zip", {"7zz": "7zip"})
def _seven_zip(room: Room) -> list[Case]:
    data, small = str(corpus(room, 24)), str(corpus(room, 4))
    quiet = ["-bso0", "-bsp0"]
    room.do("7zz", "a", *quiet, "-mx=3", "ready.7z", data)
    return [
        Case("LZMA2 level 3", ("7zz", "a", *quiet, "-mx=3", "a.7z", small)),
        with_parameter(
            "deflate",
            ["7zz", "a", *quiet, "-tzip", "-mx=3", "-mmt={workers}", "a.zip", data],
            "workers",
            ["1", "2"],
            "2",
        ),
        Case("test", ("7zz", "t", *quiet, "ready.7z")),
    ]
