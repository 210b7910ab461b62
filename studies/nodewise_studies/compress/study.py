# SPDX-License-Identifier: BSD-3-Clause
"""Compression: each library and level on a user's files, by ratio and speed, and the level to take for a disk or link."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.studies.contract import Knob, Library, Limit, Published, Study
from nodewise.studies.libraries import find_library

from .advice import advice, levels_of, listing, overview, parse_link
from .disk import Nearness, near
from .files import Seen, look
from .levels import LEVELS, USUAL, WHEEL, asked, knob_of

_WHERE = "ISA-L's compression sample, Calgary and Silesia corpora"
#: A file that was left out is named; of more than these, how many.
_NAMED = 3


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """What was packed comes back."""
    return {"back": inputs["corpus"]}


@lru_cache(maxsize=8)
def _at_first(files: str, folders: str) -> Seen:
    """The files as they were when they were looked at for the first time."""
    return look(files, folders)


def _seen(point: Mapping[str, str]) -> Seen:
    return _at_first(point.get("file", ""), point.get("folder", ""))


def select(point: Mapping[str, str]) -> Collection[str]:
    """The levels asked for; zlib-ng by its library, else by Python's package, else a row that says what brings it."""
    _seen(point)
    _links(point)
    names = asked(point)[0]
    if not names:
        raise InputError(
            "nothing is left to compare: no such library or level", f"the libraries are: {', '.join(LEVELS)}"
        )
    if find_spec("zlib_ng") is None or find_library(STUDY.libraries["zlib-ng"]) is not None:
        return names
    return [name.replace("zlib-ng-", f"{WHEEL}-") for name in names]


def _nearness(point: Mapping[str, str]) -> Nearness | None:
    paths = _seen(point).roots
    return near(paths[0]) if paths else None


def processors(point: Mapping[str, str]) -> Collection[int] | None:
    """Those of the socket that owns the disk."""
    found = _nearness(point)
    return found.processors if found is not None else None


def report(result: Mapping[str, Any]) -> list[str]:
    """What was ignored or left out, where it ran, and the frontier."""
    point = result["point"]
    levels = levels_of(result["rows"])
    lines = [f"warning: {line}" for line in asked(point)[1]]
    lines += _about_files(point, result)
    return [*lines, *listing(levels)] if levels else lines


def advise(result: Mapping[str, Any]) -> list[str]:
    """Which level to take, for the links that are named and for any."""
    if not (levels := levels_of(result["rows"])):
        return []
    return [*(line for link in _links(result["point"]) for line in advice(levels, link)), *overview(levels)]


def _links(point: Mapping[str, str]) -> list[float]:
    return [parse_link(word) for word in point.get("link", "").split(",") if word]


def _about_files(point: Mapping[str, str], result: Mapping[str, Any]) -> list[str]:
    before = _seen(point)
    if not before.roots:
        return []
    lines = []
    if before.left_out:
        more = f" and {len(before.left_out) - _NAMED} more" if len(before.left_out) > _NAMED else ""
        lines.append(f"left out, cannot be read: {', '.join(before.left_out[:_NAMED])}{more}")
    if changed := before.changed(look(point.get("file", ""), point.get("folder", ""))):
        lines.append(f"warning: {changed} changed meanwhile, so rows may be of different contents: measure again")
    nodes = len(load_machine().numa_nodes)
    found = _nearness(point)
    if found is not None and found.processors and nodes > 1:
        lines.append(f"{found.why}: it ran on that node's processors")
    elif found is not None:
        lines.append(f"{found.why}" if nodes > 1 else "one NUMA node: every processor is equally near the disk")
    return lines


def _library(file: str, package: str) -> Library:
    return Library((file,), f"apt-get install {package}")


STUDY = Study(
    name="compress",
    title="compression: libraries and levels on your files, and the level for a disk or link",
    knobs=(
        Knob("file", "files, separated by commas", "", text=True),
        Knob("folder", "folders, with all below them, separated by commas", "", text=True),
        Knob("link", "speeds of disks or links that a level is wanted for, such as 500MB/s,10Gbit/s", "", text=True),
        *(
            Knob(knob_of(name), f"levels of {name}: of {', '.join(known)} (default: {USUAL[name]})", "", text=True)
            for name, known in LEVELS.items()
        ),
        Knob("libraries", "those that are compared (default: all)", "", text=True),
        Knob(
            "kind",
            "of the generated files, where none are named (default: all)",
            "",
            ("all", "text", "source", "json", "floats", "random"),
        ),
        Knob("size", "bytes of the generated files together (default: 8388608)", "", quick=str(1 << 20), unit=1),
        Knob("block", "bytes that are compressed at a time (default: 16777216)", "", most=2**30, unit=1),
        Knob("window", "MiB of the files that are in memory at a time (default: 256)", "", most=2**20, unit=2**20),
    ),
    default_variant="zlib-6",
    plain_variant="zlib-6",
    rate_unit="MB/s",
    rate_scale=1e-6,
    test_points=(
        {"kind": "random", "size": "1", "isal-levels": "0,semi,1,2,3", "zstd-levels": "1,19", "lz4-levels": "1,3,12"},
        {"kind": "text", "size": "65535", "zlib-levels": ",".join(LEVELS["zlib"])},
        {"kind": "json", "size": "65536", "libdeflate-levels": ",".join(LEVELS["libdeflate"])},
        {"kind": "source", "size": "65537", "lz4-levels": ",".join(LEVELS["lz4"]), "block": "4099"},
        {"kind": "floats", "size": "100003", "zstd-levels": ",".join(LEVELS["zstd"])},
        {"kind": "random", "size": "300007", "block": "65536"},
        {"size": "200003"},
    ),
    reference=reference,
    limits=(Limit("bandwidth", "read", per="bytes"),),
    libraries={
        "isal": _library("libisal.so.2", "libisal2"),
        "zlib": _library("libz.so.1", "zlib1g"),
        "zlib-ng": Library(("libz-ng.so.2",), "pip install zlib-ng, or package zlib-ng, which Debian 12 lacks"),
        "libdeflate": _library("libdeflate.so.0", "libdeflate0"),
        "zstd": _library("libzstd.so.1", "libzstd1"),
        "lz4": _library("liblz4.so.1", "liblz4-1"),
    },
    published=(
        Published("zlib-6", "the default level that ISA-L's levels are compared with", "no figure", _WHERE),
        Published("isal-semi", "level 0 with Huffman codes made from the data", "no figure", _WHERE),
    ),
    bench=({}, *({"kind": kind} for kind in ("text", "source", "json", "floats", "random"))),
    select=select,
    processors=processors,
    threads=1,
    report=report,
    advise=advise,
    picture=("ratio", "compress_mbs"),
)
