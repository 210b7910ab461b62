# SPDX-License-Identifier: BSD-3-Clause
"""Figures turned into SVG, PNG and PDF without a browser, by vl-convert, which is large and therefore optional."""

from __future__ import annotations

import resource
from typing import Any

from nodewise.base.errors import UnavailableError

#: Pixels of a PNG for each unit of a drawing: for a screen, and 600 to an inch for print.
SCALE, PRINT_SCALE = 2.0, 600 / 96
#: What vl-convert's engine sets aside of the address space, in bytes, and ends the process where it cannot: seen to suffice, and 64 GiB not to.
_SPACE = 80 << 30


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
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY and allowed < _SPACE:
        raise UnavailableError(
            f"figures as files need {_SPACE >> 30} GiB of address space, and a limit allows {allowed / 2**30:.3g} GiB",
            "raise it: ulimit -v unlimited; the report shows them without it",
        )
    try:
        import vl_convert
    except ImportError:
        raise UnavailableError(
            "figures as files need vl-convert", "pip install 'nodewise[figures]'; the report shows them without it"
        ) from None
    return vl_convert
