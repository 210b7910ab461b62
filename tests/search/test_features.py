# SPDX-License-Identifier: BSD-3-Clause
"""What points are as numbers."""

import math

import numpy as np
import pytest

from nodewise.search.features import Encoder
from nodewise.search.space import Axis, Point


def test_text_with_numbers_is_a_kind_and_a_size() -> None:
    values = ("static", "dynamic,1", "dynamic,255", "guided,255")
    axis = Axis("schedule", values, values, "static")
    encoder = Encoder((axis,), None, Point({"schedule": "static"}))
    rows = {v: encoder.row(Point({"schedule": v})) for v in values}
    assert encoder.groups == [0, 0, 0, 1, 2, 2, 2, 2]
    kinds = {v: tuple(rows[v][:3]) for v in values}
    assert kinds["dynamic,1"] == kinds["dynamic,255"] != kinds["guided,255"]
    assert rows["dynamic,255"][3] - rows["dynamic,1"][3] == pytest.approx(7)
    assert rows["dynamic,255"][3] == rows["guided,255"][3]
    # v1, v2, v3 may be nothing but names
    assert [tuple(rows[v][4:]).index(1.0) for v in values] == [0, 1, 2, 3]


def test_ordered_numbers_are_their_logarithm_and_zero_is_no_trouble() -> None:
    axis = Axis("n", (1, 2, 64), (1,), 1, ordered=True)
    assert Encoder((axis,), None, Point({"n": 1})).row(Point({"n": 64})) == pytest.approx([6])
    zero = Axis("n", (0, 1, 2), (0,), 0, ordered=True)
    assert np.isfinite(Encoder((zero,), None, Point({"n": 0})).row(Point({"n": 0}))).all()
    assert math.isclose(Encoder((zero,), None, Point({"n": 0})).row(Point({"n": 2}))[0], 4)


def test_ordered_texts_are_their_places_from_none_to_four() -> None:
    levels = Axis("level", ("low", "middle", "high"), ("low",), "low", ordered=True)
    encoder = Encoder((levels,), None, Point({"level": "low"}))
    assert [float(encoder.row(Point({"level": v}))[0]) for v in levels.values] == [0, 2, 4]


def test_columns_of_different_axes_are_of_different_groups() -> None:
    schedules = ("static", "dynamic,1", "dynamic,255", "guided,255")
    axes = (
        Axis("schedule", schedules, schedules, "static"),
        Axis("n", (1, 2), (1,), 1, ordered=True),
        Axis("wait", ("active", "passive"), ("active",), "active"),
    )
    point = Point({"schedule": "static", "n": 1, "wait": "active"})
    encoder = Encoder(axes, lambda _: (1.0, 2.0), point)
    assert encoder.groups == [0, 0, 0, 1, 2, 2, 2, 2, 3, 4, 4, 5, 6]
    assert len(encoder.row(point)) == len(encoder.groups)


def test_numbers_with_a_word_among_them_are_their_places() -> None:
    axis = Axis("n", ("none", 1, 64), ("none", 1, 64), "none", ordered=True)
    encoder = Encoder((axis,), None, Point({"n": 1}))
    assert [float(encoder.row(Point({"n": value}))[0]) for value in ("none", 1, 64)] == [0.0, 2.0, 4.0]
