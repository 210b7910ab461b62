# SPDX-License-Identifier: BSD-3-Clause
"""Links for a terminal: what is signalled and what is data, and how a frame lies over the lanes."""

from __future__ import annotations

from nodewise.base.units import format_percent, format_seconds
from nodewise.fabric.rates import RATES, WIDTHS, Link, link
from nodewise.fabric.result import Links

#: Bytes of a frame that are drawn, and the size of a frame and of a message whose time is said.
_SHOWN, _FRAME, _MESSAGE = 48, 4096, 1 << 20


def links_text(found: Links) -> str:
    """One link in full, two that face each other with what comes up, or the table of all."""
    if len(found.links) > 2:
        return _table()
    lines = [line for one in found.links for line in (*_link(one), "")]
    if found.between is not None:
        lines += _facing(found.links[0], found.links[1], found.between, found.store_and_forward)
    return "\n".join(lines).rstrip()


def _number(gbits: float) -> str:
    """Three digits behind the point at most, as tables of links have them."""
    return f"{gbits:.3f}".rstrip("0").rstrip(".")


def _link(one: Link) -> list[str]:
    lanes = f"{one.width} lane{'s' * (one.width > 1)}"
    sold = f", sold as {one.sold_as}" if one.sold_as else ""
    return [
        f"{one.label}{sold}",
        f"  signalling  {_number(one.signalling_gbits)} Gb/s, {lanes} × {one.lane_gbits:.8g}, each way at the same time",
        f"  data        {_number(one.data_gbits)} Gb/s, {_number(one.data_gbits / 8)} GB/s: {one.encoding}, {format_percent(one.data_share)} of it",
        f"  wires       {one.wires}: a pair each way for each lane",
        f"  sysfs       {one.printed}",
        f"  time        a frame of {_FRAME} B {format_seconds(one.seconds(_FRAME))}, a message of 1 MiB {format_seconds(one.seconds(_MESSAGE))} at least",
        "",
        "  A frame's bytes over the lanes:",
        *_striping(one),
    ]


def _striping(one: Link) -> list[str]:
    """Byte i on lane i mod width, drawn in the order in which they leave."""
    per_lane = max(2, min(12, _SHOWN // one.width))
    wide = len(str(per_lane * one.width - 1))
    rows = []
    for lane in range(one.width):
        numbers = " ".join(f"{byte:>{wide}}" for byte in range(lane, per_lane * one.width, one.width))
        rows.append(f"  lane {lane:<2} ▸ {numbers} …")
    return rows


def _facing(one: Link, other: Link, between: Link, store: bool) -> list[str]:
    lines = [
        f"{one.label} facing {other.label} comes up as {between.label}, {_number(between.data_gbits)} Gb/s of data"
    ]
    if store:
        lines += [
            "  Their widths differ: a switch between them has to store a frame whole before it sends it on, where a",
            f"  fabric of one width cuts through: {format_seconds(between.seconds(_FRAME))} more for a frame of {_FRAME} B, at each such switch.",
        ]
    return lines


def _table() -> str:
    lines = [
        "Gb/s of data in one direction, and what is signalled",
        "",
        "       " + "".join(f"{w}X".rjust(18) for w in WIDTHS),
    ]
    for rate in RATES:
        cells = [link(w, rate) for w in WIDTHS]
        texts = [
            f"{_number(round(c.data_gbits, 2))} of {_number(round(c.signalling_gbits, 2))}".rjust(18) for c in cells
        ]
        lines.append(f"{rate:<7}" + "".join(texts))
    lines += ["", "2X HDR is sold as HDR100, 2X NDR as NDR200. A rate without a width says no speed."]
    return "\n".join(lines)
