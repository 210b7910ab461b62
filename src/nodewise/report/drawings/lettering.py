# SPDX-License-Identifier: BSD-3-Clause
"""Lettering: how wide a text may become in a drawing, whichever font its reader has, and texts cut or broken to fit."""

from __future__ import annotations

from collections.abc import Sequence

ELLIPSIS = "…"
#: Widths of characters relative to the font's size, in hundredths: those of DejaVu Sans, which is among the widest.
_REGULAR = {
    29: "'ijlIJ",
    34: " ,.·/:;\\|",
    41: "f-()[]t!r",
    52: '"*_`–sz',
    56: "?cL",
    62: "FkvxyPTYaoäöeé",
    64: "ESbdghnpquüß0123456789${}µ",
    70: "KAVBRXZC",
    79: "UHNDG&OQ",
    86: "w#+<=>^~×M",
}
_BOLD = {
    37: "'ijl /IJ\\|",
    46: ",.·:;-f!()[]",
    52: 'tr_`–"*',
    60: "?zcs",
    69: "LvxyakäFTEeéoö",
    74: "0123456789$hnu{}üSYbdgpqßCPZµ",
    77: "BAKRVX",
    87: "UGD#+<=>HN^~×OQ&",
}
_WIDEST = 110
#: By how much the room that was made for exactly one text may differ.
_ROUNDING = 0.01
_REGULAR_WIDTHS = {c: width for width, characters in _REGULAR.items() for c in characters}
_BOLD_WIDTHS = {c: width for width, characters in _BOLD.items() for c in characters}


def text_width(words: str, size: float, bold: bool = False) -> float:
    """The most room that a text takes."""
    widths = _BOLD_WIDTHS if bold else _REGULAR_WIDTHS
    return sum(widths.get(c, _WIDEST) for c in words) * size / 100


def fitting_size(words: str, width: float, sizes: Sequence[float], bold: bool = False) -> float | None:
    """The first of some sizes at which a text fits; None where it fits at none."""
    return next((s for s in sizes if text_width(words, s, bold) <= width + _ROUNDING), None)


def shorten(words: str, width: float, size: float, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits, and an ellipsis."""
    if text_width(words, size, bold) <= width + _ROUNDING:
        return words
    room = width - text_width(ELLIPSIS, size, bold)
    kept = 0
    for c in words:
        room -= text_width(c, size, bold)
        if room < 0:
            break
        kept += 1
    return words[:kept].rstrip(" ,;:") + ELLIPSIS


def broken(words: str, width: float, size: float, bold: bool = False, most: int = 3) -> list[str]:
    """The text in lines that fit, broken at blanks and behind commas where there are any; the last is cut if it must be."""
    lines: list[str] = []
    rest = words.strip()
    while rest and len(lines) < most - 1 and text_width(rest, size, bold) > width:
        whole = shorten(rest, width, size, bold).removesuffix(ELLIPSIS)
        at = max(whole.rfind(" "), whole.rfind(",") + 1)
        # a break very early would leave the line all but empty
        at = at if at > len(whole) // 3 else max(len(whole), 1)
        lines.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    return [*lines, shorten(rest, width, size, bold)] if rest else lines
