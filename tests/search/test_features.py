# SPDX-License-Identifier: BSD-3-Clause
"""What points are to a machine, as numbers."""

import math

import numpy as np
import pytest

from nodewise.search.axes import Options
from nodewise.search.features import Encoder, machine_features
from nodewise.search.space import Axis, Point
from tests.api.surfaces import machine

FOUR = machine(4, 2)


def test_busy_cores_threads_a_core_and_neighbours_are_counted() -> None:
    features = machine_features(FOUR, lambda p: p["places"])
    cores, most, on_one, nodes, on_node, near, bound = features(Point({"threads": 4, "places": (0, 1, 2, 4)}))
    assert (2**cores, 2**most, 2**on_one, 2**nodes, 2**on_node) == pytest.approx((3, 2, 1, 1, 4))
    assert near == pytest.approx(1 / 3)
    assert bound == 1


def test_threads_that_nothing_binds_are_taken_to_spread() -> None:
    cores, most, *_, near, bound = machine_features(FOUR, lambda _: None)(Point({"threads": 6}))
    assert (2**cores, 2**most, near, bound) == pytest.approx((4, 2, 0, 0))


def test_settings_alike_to_the_machine_have_equal_features_whatever_they_are_called() -> None:
    space = Options(FOUR, ["app"], ("threads", "placement"), {}).space
    assert space.features is not None
    points = [Point({"threads": 4, "placement": p}) for p in ("scatter", "balanced")]
    assert space.features(points[0]) == space.features(points[1])


def test_text_with_numbers_is_a_kind_and_a_size() -> None:
    values = ("static", "dynamic,1", "dynamic,255", "guided,255")
    axis = Axis("schedule", values, values, "static")
    encoder = Encoder((axis,), None, Point({"schedule": "static"}))
    rows = {v: encoder.row(Point({"schedule": v})) for v in values}
    assert len(encoder.groups) == len(rows["static"]) == 4
    kinds = {v: tuple(rows[v][:-1]) for v in values}
    assert kinds["dynamic,1"] == kinds["dynamic,255"] != kinds["guided,255"]
    assert rows["dynamic,255"][-1] - rows["dynamic,1"][-1] == pytest.approx(7)
    assert rows["dynamic,255"][-1] == rows["guided,255"][-1]


def test_ordered_numbers_are_their_logarithm_and_zero_is_no_trouble() -> None:
    axis = Axis("n", (1, 2, 64), (1,), 1, ordered=True)
    assert Encoder((axis,), None, Point({"n": 1})).row(Point({"n": 64})) == pytest.approx([6])
    zero = Axis("n", (0, 1, 2), (0,), 0, ordered=True)
    assert np.isfinite(Encoder((zero,), None, Point({"n": 0})).row(Point({"n": 0}))).all()
    assert math.isclose(Encoder((zero,), None, Point({"n": 0})).row(Point({"n": 2}))[0], 4)
