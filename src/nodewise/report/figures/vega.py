# SPDX-License-Identifier: BSD-3-Clause
"""Vega-Lite specifications in Altair's notation, as far as the figures here need it.

Altair itself checks what it is given against the whole schema, each row of data too: with thousands of points that takes
seconds, and its classes alone half a second and 30 MB. Here a specification is a dictionary from the start; the tests hold
them against Altair's schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from nodewise.base.escaping import escaped_all
from nodewise.base.frozen import dataclass

_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal", "T": "temporal"}

Definition = dict[str, Any]


def channel(shorthand: str, **options: Any) -> Definition:
    """What a channel shows: `time:Q` is the field `time`, of numbers. Raises KeyError for an unknown type."""
    name, _, kind = shorthand.rpartition(":")
    return {"field": name, "type": _TYPES[kind], **options}


X = Y = YOffset = Color = Shape = Size = Detail = Order = Text = Tooltip = channel


def options(**given: Any) -> Definition:
    """What qualifies a channel: None is a value, too (no title)."""
    return given


Scale = Axis = Legend = options


def Title(text: str | list[str], **given: Any) -> Definition:  # noqa: N802
    """A title, of one line or several, and how it is set."""
    return {"text": text, **given}


def Step(pixels: float) -> Definition:  # noqa: N802
    """A size by that of each row."""
    return {"step": pixels}


def value(constant: Any) -> Definition:
    """A channel that is the same for all."""
    return {"value": constant}


def _defined(name: str, given: Any) -> Any:
    if isinstance(given, str):
        # the far end of a span is of its begin's type
        return {"field": given.partition(":")[0]} if name in ("x2", "y2") else channel(given)
    return [_defined(name, one) for one in given] if isinstance(given, list | tuple) else given


@dataclass(frozen=True)
class Chart:
    """One mark over rows of data, or layers of such; every method returns another chart."""

    rows: Sequence[Mapping[str, Any]] = ()
    mark: Definition = field(default_factory=dict)
    encoding: Definition = field(default_factory=dict)
    layers: tuple[Chart, ...] = ()
    rest: Definition = field(default_factory=dict)
    config: Definition = field(default_factory=dict)

    def _marked(self, kind: str, given: Definition) -> Chart:
        return replace(self, mark={"type": kind, **given})

    def mark_line(self, **given: Any) -> Chart:
        """A line through the points."""
        return self._marked("line", given)

    def mark_area(self, **given: Any) -> Chart:
        """A band between two lines."""
        return self._marked("area", given)

    def mark_rule(self, **given: Any) -> Chart:
        """A straight line for each row."""
        return self._marked("rule", given)

    def mark_circle(self, **given: Any) -> Chart:
        """A disc for each row."""
        return self._marked("circle", given)

    def mark_point(self, **given: Any) -> Chart:
        """A symbol for each row."""
        return self._marked("point", given)

    def mark_tick(self, **given: Any) -> Chart:
        """A stroke for each row."""
        return self._marked("tick", given)

    def mark_bar(self, **given: Any) -> Chart:
        """A bar for each row."""
        return self._marked("bar", given)

    def mark_text(self, **given: Any) -> Chart:
        """A text for each row."""
        return self._marked("text", given)

    def encode(self, **channels: Any) -> Chart:
        """Channels by name: a definition, its shorthand, or a list of them."""
        return replace(self, encoding={**self.encoding, **{k: _defined(k, v) for k, v in channels.items()}})

    def properties(self, **given: Any) -> Chart:
        """Width, height, title."""
        return replace(self, rest={**self.rest, **given})

    def configure(self, **given: Any) -> Chart:
        """How everything in the figure looks."""
        return replace(self, config={**self.config, **given})

    def configure_axis(self, **given: Any) -> Chart:
        """How its axes look."""
        return self.configure(axis=given)

    def configure_legend(self, **given: Any) -> Chart:
        """How its legends look."""
        return self.configure(legend=given)

    def configure_view(self, **given: Any) -> Chart:
        """How the ground behind the marks looks."""
        return self.configure(view=given)

    def __add__(self, other: Chart) -> Chart:
        return layer(self, other)

    def to_dict(self) -> Definition:
        """The specification; rows that several layers share stand in it once."""
        datasets: dict[int, tuple[str, Sequence[Mapping[str, Any]]]] = {}
        made = self._unit(datasets)
        return {"config": self.config, **made, "datasets": {name: list(rows) for name, rows in datasets.values()}}

    def to_json(self) -> str:
        """The specification as JSON."""
        return spec_text(self.to_dict())

    def _unit(self, datasets: dict[int, tuple[str, Sequence[Mapping[str, Any]]]]) -> Definition:
        if self.layers:
            return {**self.rest, "layer": [one._unit(datasets) for one in self.layers]}
        name, _ = datasets.setdefault(id(self.rows), (f"rows{len(datasets)}", self.rows))
        return {**self.rest, "data": {"name": name}, "mark": self.mark, "encoding": self.encoding}


def spec_text(spec: Definition) -> str:
    """A specification as JSON, without halves of characters: what draws it takes none."""
    text = json.dumps(spec, separators=(",", ":"))
    return json.dumps(escaped_all(spec), separators=(",", ":")) if "\\ud" in text else text


def layer(*charts: Chart) -> Chart:
    """Charts over each other, the first one at the bottom."""
    return Chart(layers=charts)
