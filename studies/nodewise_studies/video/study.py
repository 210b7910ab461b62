# SPDX-License-Identifier: BSD-3-Clause
"""Video encoding: the encoders that work here, by frames a second at like quality."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nodewise.statistics.pareto import pareto_front
from nodewise.studies.contract import Knob, Limit, Published, Study

from .bjontegaard import FEWEST, bd_rate
from .encoders import ffmpeg, variants
from .quality import LIKE_DB, RATE
from .vmaf import has_vmaf

_STORED = "stored"


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """None: what is decoded is near the clip, not equal; the study's check says how near it has to be."""
    return {}


def select(point: Mapping[str, str]) -> Collection[str]:
    """The encoders asked for, by the start of their names; all without."""
    asked = [word for word in point.get("encoders", "").split(",") if word]
    every = list(variants())
    return [name for name in (*every, _STORED) if any(name.startswith(word) for word in asked)] if asked else every


def report(result: Mapping[str, Any]) -> list[str]:
    """All encoders at one PSNR, those that do not come near it, which devices do the work, and why others do not."""
    rows = [r for r in result["rows"] if r["kind"] == "variant" and r["contender"] != _STORED]
    ran = {r["contender"]: r for r in rows if r["seconds"]}
    lines = _alike(list(ran.values()), result["point"]["psnr"])
    if "curve" in result["point"]:
        lines += _rates({name: row["metrics"] for name, row in ran.items()})
    program = ffmpeg()
    if ran and program is not None and not has_vmaf(program):
        lines.append("VMAF: this ffmpeg was built without it (libvmaf)")
    devices = [r["contender"] for r in rows if not r["contender"].startswith("lib")]
    working = [name for name in devices if name in ran]
    if working:
        lines.append(f"encoders of devices that work here: {', '.join(working)}")
    elif devices:
        lines.append("no device encodes here; each was tried, and the table says why not")
    return lines


def _points(metrics: Mapping[str, float], quality: str) -> list[tuple[float, float]]:
    numbers = [name.rpartition("_")[2] for name in metrics if name.startswith("curve_mbits_")]
    return [
        (metrics[f"curve_mbits_{n}"], metrics[f"curve_{quality}_{n}"])
        for n in numbers
        if f"curve_{quality}_{n}" in metrics
    ]


def _rates(ran: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Bits at equal quality against the study's plain encoder, on average over the curve."""
    plain = ran.get(STUDY.plain_variant)
    if plain is None:
        return [f"BD-rate: {STUDY.plain_variant} did not run, which others are compared with"]
    lines = [f"BD-rate against {STUDY.plain_variant}, bits at equal quality on average (by PSNR; by VMAF):"]
    for name, metrics in ran.items():
        if name == STUDY.plain_variant:
            continue
        by_psnr, by_vmaf = (bd_rate(_points(plain, q), _points(metrics, q)) for q in ("db", "vmaf"))
        shown = ["-" if rate is None else f"{rate:+.1f}%" for rate in (by_psnr, by_vmaf)]
        lines.append(f"  {name:<20} {shown[0]:>10} {shown[1]:>10}")
    return lines


def _alike(ran: Sequence[Mapping[str, Any]], wanted: str) -> list[str]:
    metrics = {r["contender"]: r["metrics"] for r in ran}
    unlike = [r["contender"] for r in ran if r["for_scale"]]
    found = _comparable(ran)
    # (fewer bits, more speed) are both better
    best = {found[i][2] for i in pareto_front([(-speed, bits) for speed, bits, _ in found])}
    lines = [f"at like quality, PSNR within {LIKE_DB} dB of {wanted}; * no other is both faster and smaller:"]
    lines = lines if found else []
    options = {name: variant.quality.option for name, variant in variants().items()}
    lines += [
        f"{'*' if name in best else ' '} {name:<20} {speed:8.1f} frames/s  {bits:8.2f} Mbit/s  "
        f"{metrics[name]['psnr_db']:6.2f} dB  {_judged(metrics[name])}{options[name]} {metrics[name]['quality']:.10g}"
        for speed, bits, name in found
    ]
    others = [
        f"{name} ({metrics[name]['psnr_db']:.1f} dB at {options[name]} {metrics[name]['quality']:.10g})"
        for name in unlike
    ]
    if others:
        lines.append(f"not comparable, farther than {LIKE_DB} dB from {wanted} at best: {', '.join(others)}")
    return lines


def advise(result: Mapping[str, Any]) -> list[str]:
    """The fastest encoder and the one with the fewest bits, of all that came near the PSNR."""
    found = _comparable([r for r in result["rows"] if r["kind"] == "variant" and r["contender"] != _STORED])
    if len(found) < 2:
        return []
    fast, lean = found[0], min(found, key=lambda one: one[1])
    speeds, sizes = fast[0] / lean[0], fast[1] / lean[1]
    live = min((one for one in found if one[0] >= RATE), key=lambda one: one[1], default=None)
    return [
        f"fastest {fast[2]}, fewest bits {lean[2]}: {speeds:.1f} times the speed for {sizes:.1f} times the bits",
        f"fewest bits of those that keep up with {RATE} frames a second: {live[2]}, {live[1]:.2f} Mbit/s"
        if live is not None
        else f"none keeps up with {RATE} frames a second",
    ]


def _judged(metrics: Mapping[str, float]) -> str:
    return f"VMAF {metrics['vmaf']:5.1f}  " if "vmaf" in metrics else ""


def _comparable(rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, str]]:
    """(frames a second, Mbit/s, name) of those that ran and came near the PSNR, the fastest first."""
    ran = [(r["metrics"], r) for r in rows if r["seconds"] and not r["for_scale"]]
    return sorted(((m["fps"], m["mbits"], r["contender"]) for m, r in ran), reverse=True)


STUDY = Study(
    name="video",
    title="video encoding: the encoders that work here, frames a second at like quality",
    knobs=(
        Knob(
            "height", "rows of the clip, of 16:9: 480, 720, 1080, 2160, or any even number", "480", least=16, most=4320
        ),
        Knob("frames", "of the clip", "30", quick="10", most=10000),
        Knob("encoders", "those whose names begin so, separated by commas (default: all)", "", text=True),
        Knob("curve", "so many settings of each encoder are encoded for its BD-rate", "", least=FEWEST, most=12),
        Knob("psnr", "dB at which they are compared", "42", least=30, most=99),
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
    report=report,
    advise=advise,
    picture=("frames_per_mbit", "fps"),
)
