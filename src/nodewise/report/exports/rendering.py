# SPDX-License-Identifier: BSD-3-Clause
"""Figures turned into SVG and PNG without a browser, by vl-convert, which is large and therefore optional."""

from __future__ import annotations

from typing import Any

from nodewise.base.errors import UnavailableError

#: Pixels of a PNG for each unit of a drawing.
SCALE = 2.0


def svg_to_png(svg: str) -> bytes:
    """A drawing as PNG, of SCALE pixels for each of its units. Raises UnavailableError without vl-convert."""
    made: bytes = _vl_convert().svg_to_png(svg, scale=SCALE)
    return made


def chart_to_svg(specification: str) -> str:
    """A Vega-Lite specification in JSON as SVG. Raises UnavailableError without vl-convert."""
    made: str = _vl_convert().vegalite_to_svg(specification)
    return made


def chart_to_png(specification: str) -> bytes:
    """A Vega-Lite specification in JSON as PNG. Raises UnavailableError without vl-convert."""
    made: bytes = _vl_convert().vegalite_to_png(specification, scale=SCALE)
    return made


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise UnavailableError(
            "figures as files need vl-convert", "pip install 'nodewise[figures]'; the report shows them without it"
        ) from None
    return vl_convert
