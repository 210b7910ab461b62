# SPDX-License-Identifier: BSD-3-Clause
"""A page from its template: one file with everything in it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.base.escaping import visible
from nodewise.base.units import format_bytes, format_count, format_percent, format_seconds
from nodewise.report.figures.vega import spec_text
from nodewise.report.pages.bundle import bundle

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent


@cache
def environment() -> Environment:
    """That of all templates, each of which is compiled once."""
    from jinja2 import Environment, FileSystemLoader

    made = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {
        "seconds": format_seconds,
        "percent": format_percent,
        "bytes": format_bytes,
        "counted": format_count,
    }
    made.filters["quoted"] = shlex.quote
    made.filters |= {"commands": _commands, "visible": lambda text: visible(str(text))}
    return made


def render(template: str, charts: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """The HTML of a template with its figures, by the name of the element that each is drawn in."""
    from markupsafe import Markup

    specs = {name: chart.to_dict() for name, chart in charts.items()}
    return (
        environment()
        .get_template(template)
        .render(
            figures={name: _least_height(spec) for name, spec in specs.items()},
            # inside a JSON text every < can be written otherwise, so no string in it can end the script element
            specs=Markup(spec_text(specs).replace("<", "\\u003c")),
            bundle=Markup(bundle()),
            **values,
        )
    )


def _commands(text: str) -> Any:
    """What stands between backticks as what is to be typed."""
    from markupsafe import Markup, escape

    parts = [Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(text.split("`"))]
    return Markup("").join(parts)


def _least_height(spec: dict[str, Any]) -> int:
    """What a figure surely takes up, so that what stands below it stays where it is while it is being drawn."""
    height = spec["height"]
    if isinstance(height, dict):
        layers = spec.get("layer", [spec])
        rows = max(len(one["encoding"].get("y", {}).get("scale", {}).get("domain", ())) for one in layers)
        height = height["step"] * rows
    return int(height) + 45
