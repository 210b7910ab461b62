# SPDX-License-Identifier: BSD-3-Clause
"""Figures turned into SVG, PNG and PDF without a browser, by vl-convert, which is large and therefore optional."""

from __future__ import annotations

from typing import Any

from nodewise.base.errors import UnavailableError

#: Pixels of a PNG for each unit of a drawing: for a screen, and 600 to an inch for print.
SCALE, PRINT_SCALE = 2.0, 600 / 96


def svg_to_png(svg: str, print_quality: bool = False) -> bytes:
    """A drawing as PNG, of SCALE pixels for each of its units, or of PRINT_SCALE. Raises UnavailableError without vl-convert."""
    made: bytes = _vl_convert().svg_to_png(svg, scale=PRINT_SCALE if print_quality else SCALE)
    return made


def svg_to_pdf(svg: str) -> bytes:
    """A drawing as PDF, a point for each of its units, with the fonts that it uses inside. Raises UnavailableError without vl-convert."""
    made: bytes = _vl_convert().svg_to_pdf(svg)
    return made


def chart_to_svg(specification: str) -> str:
    """A Vega-Lite specification in JSON as SVG. Raises UnavailableError without vl-convert."""
    made: str = _vl_convert().vegalite_to_svg(specification)
    return made


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise UnavailableError(
            "figures as files need vl-convert", "pip install 'nodewise[figures]'; the report shows them without it"
        ) from None
    return vl_convert
