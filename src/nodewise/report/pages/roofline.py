# SPDX-License-Identifier: BSD-3-Clause
"""The page of a roofline."""

from __future__ import annotations

from nodewise.base.units import format_bytes, format_percent
from nodewise.report.figures.roofline import roofline_files
from nodewise.report.pages.conditions import common_values
from nodewise.report.pages.template import render
from nodewise.verdicts.roofline import RoofKind, RooflineVerdict
from nodewise.verdicts.stored import Stored


def roofline_page(stored: Stored[RooflineVerdict]) -> str:
    """The page's HTML."""
    result = stored.verdict
    heads, kernels = kernel_table(result)
    values = {
        **common_values(stored),
        "asked_for": f"{result.threads} thread{'s' * (result.threads != 1)}",
        "headline": result.headline,
        "sentence": result.sentence,
        "kernels": {"heads": heads, "rows": kernels},
        "roofs": roof_table(result),
        "left_out": [(one.study, one.why) for one in result.left_out],
        "blocks": result.blocks,
    }
    return render("roofline.html", roofline_files(stored), values)


def kernel_table(result: RooflineVerdict) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the kernels, those of a study together, the best variant first."""
    heads = ["study", "variant", "", "at", "flop/byte", "GFLOP/s", "bound by", "roof, GFLOP/s", "reached"]
    rows = []
    for k in sorted(result.kernels, key=lambda k: (k.study, k.role)):
        point = " ".join(f"{name}={value}" for name, value in k.point.items())
        intensity = f"{k.intensity:.3g}" if k.intensity else "no bytes"
        roof = f"{k.bound.roof * 1e-9:.4g}" if k.bound.roof else ""
        share = format_percent(k.bound.share) if k.bound.share is not None else ""
        row = [k.study, k.contender, k.role.value, point, intensity, f"{k.rate * 1e-9:.4g}"]
        rows.append([*row, k.bound.name or "", roof, share])
    return heads, rows


def roof_table(result: RooflineVerdict) -> list[list[str]]:
    """The roofs: name, best and median rate, how it was measured."""
    rows = []
    for roof in result.roofs:
        unit = "GFLOP/s" if roof.kind is RoofKind.FLOPS else "GB/s"
        kib = roof.point.get("kib")
        size = f", arrays of {format_bytes(int(kib) * 1024)}" if kib else ""
        how = f"study {roof.kind}, {roof.variant}{size}"
        rows.append([roof.name, f"{roof.rate * 1e-9:.4g} {unit}", f"{roof.median * 1e-9:.4g}", how])
    return rows
