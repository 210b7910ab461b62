# SPDX-License-Identifier: BSD-3-Clause
"""The page of a roofline, and its picture as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.base.units import format_bytes, format_percent, format_seconds
from nodewise.machine.model import machine_from_json
from nodewise.report.page import machine_facts
from nodewise.report.roofline_figure import roofline_figure
from nodewise.report.template import render
from nodewise.runner.launch import quoted_line


def roofline_page(record: Mapping[str, Any], folder: Path) -> str:
    """The page's HTML."""
    result = record["result"]
    heads, kernels = kernel_table(result)
    values = {
        "question": record,
        "asked_for": f"{result['threads']} thread{'s' * (result['threads'] != 1)}",
        "headline": headline(result),
        "sentence": _sentence(result),
        "kernels": {"heads": heads, "rows": kernels},
        "roofs": roof_table(result),
        "left_out": [(one["study"], one["why"]) for one in result["left_out"]],
        "facts": machine_facts(machine_from_json(record["machine"])),
        "repeat": quoted_line(record.get("asked") or []),
        "folder": folder,
    }
    return render("roofline.html", {"roofline": roofline_figure(result)}, values)


def headline(result: Mapping[str, Any]) -> str:
    """The two roofs that everybody asks for."""
    rates = {r["name"]: r["rate"] for r in result["roofs"]}
    parts = [f"{rates['f64 peak'] * 1e-9:.4g} GFLOP/s"] if "f64 peak" in rates else []
    parts += [f"{rates['memory'] * 1e-9:.4g} GB/s"] if "memory" in rates else []
    return ", ".join(parts)


def _sentence(result: Mapping[str, Any]) -> str:
    best = [k for k in result["kernels"] if k["role"] == "best" and k["share"] is not None]
    parts = ["peak of 64 bits, and bandwidth of memory"]
    if best:
        near = max(best, key=lambda k: float(k["share"]))
        parts.append(
            f"nearest to its roof: {near['study']} {near['contender']}, {format_percent(near['share'])} of {near['bound']}"
        )
    return " · ".join([*parts, f"{result['blocks']} blocks in {format_seconds(result['seconds_spent'])}"])


def kernel_table(result: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the kernels, those of a study together, the best variant first."""
    heads = ["study", "variant", "", "at", "flop/byte", "GFLOP/s", "bound by", "roof, GFLOP/s", "reached"]
    rows = []
    for k in sorted(result["kernels"], key=lambda k: (k["study"], k["role"])):
        point = " ".join(f"{name}={value}" for name, value in k["point"].items())
        intensity = f"{k['intensity']:.3g}" if k["intensity"] else "no bytes"
        roof = f"{k['roof'] * 1e-9:.4g}" if k["roof"] else ""
        share = format_percent(k["share"]) if k["share"] is not None else ""
        row = [k["study"], k["contender"], k["role"], point, intensity, f"{k['rate'] * 1e-9:.4g}"]
        rows.append([*row, k["bound"] or "", roof, share])
    return heads, rows


def roof_table(result: Mapping[str, Any]) -> list[list[str]]:
    """The roofs: name, best and median rate, how it was measured."""
    rows = []
    for roof in result["roofs"]:
        unit = "GFLOP/s" if roof["kind"] == "flops" else "GB/s"
        kib = roof["point"].get("kib")
        size = f", arrays of {format_bytes(int(kib) * 1024)}" if kib else ""
        how = f"study {'flops' if roof['kind'] == 'flops' else 'bandwidth'}, {roof['way']}{size}"
        rows.append([roof["name"], f"{roof['rate'] * 1e-9:.4g} {unit}", f"{roof['median'] * 1e-9:.4g}", how])
    return rows
