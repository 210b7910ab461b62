# SPDX-License-Identifier: BSD-3-Clause
"""A figure as it stands in a file: laid out for the width that a paper has for it, and below it what it is of."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.late import late
from nodewise.base.masking import shell_text
from nodewise.report.drawings.lettering import broken
from nodewise.runner.launch import quoted_line
from nodewise.verdicts.stored import Stored

#: A unit of a drawing is a pixel of CSS.
_PER_INCH = 96.0
_UNITS = {"cm": _PER_INCH / 2.54, "mm": _PER_INCH / 25.4, "in": _PER_INCH, "pt": _PER_INCH / 72}
#: In centimetres: narrower ones hold no axis with its names, wider ones stand on no page.
_NARROWEST, _WIDEST = 4.0, 100.0
_LENGTH = late(r"(\d+(?:\.\d+)?)\s*(cm|mm|in|pt)")
_SIZE, _LINE, _MOST_LINES = 9.0, 12.0, 6
_LEAST_PLOT, _TURNS = 90, 6
_FONTS = "'DejaVu Sans', system-ui, sans-serif"


def parse_width(text: str, option: str) -> float:
    """A width such as `8cm`, `85mm`, `3.3in` or `252pt`, in units of a drawing. Raises InputError."""
    found = _LENGTH.fullmatch(text.strip())
    width = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not _NARROWEST <= width / _UNITS["cm"] <= _WIDEST:
        raise InputError(
            f"{option} {text!r} is no width of a figure",
            f"give {_NARROWEST:g} to {_WIDEST:g} cm, such as 8cm, 85mm, 3.3in or 252pt",
        )
    return width


def caption_of(stored: Stored[Any]) -> tuple[str, ...]:
    """What a figure is of, for who finds it in a folder years later: the machine, the command, the date."""
    machine, question = stored.machine, stored.question
    names = [machine.hostname or machine.source, machine.processor.model]
    asked = shell_text((" · " if question.contenders else " ").join(question.command)) or quoted_line(question.asked)
    when = f"{question.started_at[:16].replace('T', ' ')} UTC · nodewise {question.kind}, {question.version}"
    return tuple(line for line in (" · ".join(dict.fromkeys(filter(None, names))), asked, when) if line)


def laid_out(
    figure: Any,
    draw: Callable[[str], str],
    caption: Sequence[str] = (),
    width: float | None = None,
    in_points: bool = False,
) -> str:
    """A figure (a chart, or the text of a drawing) as SVG, with its caption; `draw` makes SVG of a specification in JSON.

    With `width` it is exactly that wide: charts are laid out anew, and what cannot become so narrow is scaled. `in_points` says its
    size in points, for what takes a number for one.
    """
    if isinstance(figure, str):
        svg = figure
    elif width is None:
        svg = draw(figure.to_json())
    else:
        svg = _narrowed(figure.to_dict(), draw, width)
    return _composed(svg, caption, width, in_points)


def _narrowed(spec: Mapping[str, Any], draw: Callable[[str], str], room: float) -> str:
    """The chart with as wide a plot as leaves room for what stands around it."""
    made: dict[str, Any] = copy.deepcopy(dict(spec))
    if "width" not in made:
        return draw(json.dumps(made))
    made["config"] = {**made.get("config", {})}
    made["config"]["legend"] = {
        **made["config"].get("legend", {}),
        **{"orient": "bottom", "direction": "vertical", "columns": 1, "labelLimit": room - 30, "labelFontSize": 10},
    }
    # numbers below an axis stay apart
    made["config"]["axisX"] = {"labelOverlap": "greedy", "labelSeparation": 6}
    if title := made.get("title"):
        title["fontSize"] = 11
        title["text"] = _lines(title["text"], room, 11, bold=True)
        if title.get("subtitle"):
            subtitles = title["subtitle"] if isinstance(title["subtitle"], list) else [title["subtitle"]]
            title |= {"subtitle": [line for one in subtitles for line in _lines(one, room, 10)], "subtitleFontSize": 10}
    most = max((_narrow(one, room) for one in made.get("layer", [made])), default=1)
    if isinstance(made.get("height"), dict):
        made["height"]["step"] = max(made["height"]["step"], 14 * most + 8)
    else:
        made["height"] = min(made.get("height", room), 0.7 * room)
    made["width"] = room - 40
    svg = ""
    for _ in range(_TURNS):
        svg = draw(json.dumps(made))
        over = _size(svg)[0] - room
        if over <= 0 or made["width"] <= _LEAST_PLOT:
            break
        made["width"] = max(_LEAST_PLOT, made["width"] - over - 1)
    return svg


def _narrow(layer: Mapping[str, Any], room: float) -> int:
    """Break the names of a layer's rows to what there is room for; the most lines that one of them has."""
    most = 1
    for channel in layer.get("encoding", {}).values():
        if not isinstance(channel, dict):
            continue
        names = (channel.get("scale") or {}).get("domain")
        axis = channel.get("axis")
        if axis and axis.get("labelLimit") and isinstance(names, list):
            wide = min(axis["labelLimit"], 0.38 * room)
            lines = {str(name): _lines(str(name), wide, 11) for name in names}
            axis |= {"labelLimit": wide + 10, "labelExpr": f"{json.dumps(lines)}[datum.label]", "labelFontSize": 10}
            most = max(most, *map(len, lines.values()))
        if (
            not axis
            and isinstance(names, list)
            and channel.get("type") == "nominal"
            and channel.get("legend", {}) is not None
        ):
            lines = {str(name): _lines(str(name), room - 90, 10) for name in names}
            below = {"orient": "bottom", "direction": "vertical", "columns": 1, "labelLimit": 0}
            channel["legend"] = {**channel.get("legend", {}), **below, "labelExpr": f"{json.dumps(lines)}[datum.label]"}
        for rule in ("labelOverlap", "tickCount"):
            if axis and rule in axis and axis.get("values") is None:
                del axis[rule]
    return most


def _lines(text: str | Sequence[str], room: float, size: float, bold: bool = False) -> list[str]:
    whole = text if isinstance(text, str) else " ".join(text)
    return broken(whole, room - 6, size, bold, most=6) or [""]


def _size(svg: str) -> tuple[float, float]:
    """Width and height of a drawing in its units."""
    root = svg[svg.index("<svg") : svg.index(">", svg.index("<svg"))]
    found = [re.search(rf'\b{name}="([\d.]+)(?:px)?"', root) for name in ("width", "height")]
    box = re.search(r'viewBox="[-\d.]+[ ,]+[-\d.]+[ ,]+([\d.]+)[ ,]+([\d.]+)"', root)
    wide, high = (float(one[1]) if one else 0.0 for one in found)
    return (wide, high) if wide and high else (float(box[1]), float(box[2])) if box else (wide, high)


def _composed(svg: str, caption: Sequence[str], width: float | None, in_points: bool) -> str:
    """The drawing with the caption below it, on white; as wide as is asked for."""
    if not caption and width is None and not in_points:
        return svg
    own_width, own_height = _size(svg)
    wide = width or own_width
    scale = min(1.0, wide / own_width)
    begin = svg.index("<svg")
    end = svg.index(">", begin)
    root = re.sub(r'\s(?:width|height|x|y)="[^"]*"', "", svg[begin:end].removesuffix("/"))
    if "viewBox" not in root:
        root += f' viewBox="0 0 {own_width:g} {own_height:g}"'
    rest = "></svg>" if svg[begin:end].endswith("/") else svg[end:]
    inner = f'{root} width="{own_width * scale:g}" height="{own_height * scale:g}"{rest}'
    lines = [line for one in caption for line in broken(one, wide - 8, _SIZE, most=_MOST_LINES)]
    below = own_height * scale + 4
    high = below + _LINE * len(lines) + 4
    texts = "".join(
        f'<text x="4" y="{below + _LINE * (i + 1) - 3:g}" font-size="{_SIZE:g}" font-family="{_FONTS}" fill="#56616c">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    # what is asked for in centimetres is written so
    unit, per = ("", _UNITS["pt"]) if in_points else ("", 1.0) if width is None else ("cm", _UNITS["cm"])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{wide / per:.6g}{unit}" '
        f'height="{high / per:.6g}{unit}" viewBox="0 0 {wide:g} {high:g}">'
        f'<rect width="{wide:g}" height="{high:g}" fill="white"/>{inner}{texts}</svg>'
    )
