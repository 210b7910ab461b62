# SPDX-License-Identifier: BSD-3-Clause
"""What points are to a machine, as numbers."""

import pytest

from nodewise.search.space import Point
from nodewise.tuning.machine_features import machine_features
from nodewise.tuning.options import Options
from tests.surfaces import machine

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
