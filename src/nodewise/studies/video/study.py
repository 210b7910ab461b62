# SPDX-License-Identifier: BSD-3-Clause
"""Video encoding: the encoders that work here, by frames a second at like quality."""

from collections.abc import Collection, Mapping
from statistics import median
from typing import Any

from nodewise.studies.contract import Knob, Limit, Published, Study
from nodewise.studies.video.encoders import WAYS
from nodewise.studies.video.quality import at_quality

_ENDS = ("_coarse", "", "_fine")


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """None: what is decoded is near the clip, not equal; the study's check says how near it has to be."""
    return {}


def select(point: Mapping[str, str]) -> Collection[str]:
    """The encoders asked for, by the start of their names; all without."""
    asked = [word for word in point.get("encoders", "").split(",") if word]
    every = [*WAYS, "stored"]
    return [name for name in every if any(name.startswith(word) for word in asked)] if asked else list(WAYS)


def _points(row: Mapping[str, Any], number: str) -> list[tuple[float, float]]:
    told = row.get("metrics") or {}
    found = [(told.get(f"psnr_db{end}"), told.get(f"{number}{end}")) for end in _ENDS]
    return [(quality, value) for quality, value in found if quality is not None and value]


def tell(result: Mapping[str, Any]) -> list[str]:
    """All encoders at one PSNR, which devices do the work, and why others do not."""
    rows = [r for r in result["rows"] if r["contender"] in WAYS]
    ran = [r for r in rows if r["seconds"] and len(_points(r, "fps")) > 1]
    lines = _alike(ran, result["point"].get("psnr")) if ran else []
    devices = [r for r in rows if WAYS[r["contender"]].hardware]
    working = [r["contender"] for r in devices if r["seconds"]]
    if working:
        lines.append(f"encoders of devices that work here: {', '.join(working)}")
    elif devices:
        lines.append("no device encodes here; each was tried, and the table says why not")
    return lines


def _alike(ran: list[Mapping[str, Any]], asked: str | None) -> list[str]:
    wanted = float(asked) if asked else median(r["metrics"]["psnr_db"] for r in ran)
    found = []
    without = []
    for row in ran:
        speed, bits = (at_quality(_points(row, name), wanted) for name in ("fps", "mbits"))
        if speed is None or bits is None:
            qualities = [q for q, _ in _points(row, "fps")]
            without.append(f"{row['contender']} ({min(qualities):.1f} to {max(qualities):.1f} dB)")
        else:
            found.append((speed, bits, row["contender"]))
    lines = [f"at like quality, PSNR {wanted:.1f} dB (between three quality settings, interpolated):"]
    lines += [
        f"  {name:<20} {speed:8.1f} frames/s  {bits:8.2f} Mbit/s" for speed, bits, name in sorted(found, reverse=True)
    ]
    if without:
        lines.append(f"  not that near to it at any of the three: {', '.join(without)}")
    if found:
        lean = min(found, key=lambda one: one[1])
        fast = max(found)
        lines.append(
            f"fastest {fast[2]}, fewest bits {lean[2]}: {fast[0] / lean[0]:.1f} times the speed for {fast[1] / lean[1]:.1f} times the bits"
        )
    return lines


STUDY = Study(
    name="video",
    title="video encoding: the encoders that work here, frames a second at like quality",
    knobs=(
        Knob(
            "height", "rows of the clip, of 16:9: 480, 720, 1080, 2160, or any even number", "480", least=16, most=4320
        ),
        Knob("frames", "of the clip", "30", quick="10", most=10000),
        Knob("encoders", "those whose names begin so, separated by commas (default: all)", "", text=True),
        Knob("psnr", "dB at which they are compared (default: the median of what they give)", "", most=99),
    ),
    default_variant="libx264-medium",
    plain_variant="libx264-medium",
    rate_unit="frames/s",
    rate_scale=1.0,
    test_points=(
        {"height": "16", "frames": "1"},
        {"height": "18", "frames": "2"},
        {"height": "34", "frames": "3"},
        {"height": "66", "frames": "2"},
        {"height": "90", "frames": "4"},
    ),
    reference=reference,
    limits=(Limit("bandwidth", "read", per="bytes"),),
    published=(
        Published(
            "h264_qsv",
            "a device's encoder in FFmpeg, against software; the gain grows with resolution",
            "no figure",
            "FFmpeg's wrappers for Quick Sync Video",
        ),
    ),
    bench=({"height": "480"}, {"height": "720"}, {"height": "1080"}, {"height": "2160", "frames": "8"}),
    select=select,
    tell=tell,
    picture=("psnr_db", "fps"),
)
