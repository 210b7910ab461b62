# SPDX-License-Identifier: BSD-3-Clause
"""Canvas: the marks of a drawing, and the frame that makes them a self-contained SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nodewise.report.drawings.seating import INK

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
FAINT, PALE, ALARM = "#5f6b7a", "#a3acb7", "#c0392b"


def text_mark(
    x: float, y: float, words: str, size: float = 12, fill: str = INK, *, bold: bool = False, anchor: str = ""
) -> str:
    """A text with its baseline at a position; `anchor` is `middle` or `end` where it does not begin there."""
    style = (' font-weight="600"' if bold else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{fill}"{style}>{escape(words)}</text>'


def box_mark(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", radius: int = 4, more: str = ""
) -> str:
    """A filled rectangle; `more` are further attributes."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" fill="{fill}"'
        f' stroke="{stroke}"{more}/>'
    )


def picture(width: float, height: float, title: str, marks: Sequence[str]) -> str:
    """The whole drawing on white, in the viewer's font."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" font-family="{escape(FONT)}" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(marks) + "\n</svg>\n"
    )
