# SPDX-License-Identifier: BSD-3-Clause
"""Choices that no other one beats."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from nodewise.statistics.pareto import pareto_front

# few different numbers, so that many are alike
NUMBER = st.one_of(st.integers(0, 6).map(float), st.floats(0, 1e9), st.just(math.nan))
POINTS = st.lists(st.tuples(NUMBER, NUMBER), max_size=40)


def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[0] and one[1] <= other[1] and one != other


@given(POINTS)
def test_the_front_is_what_none_beats(points: list[tuple[float, float]]) -> None:
    known = {i for i, p in enumerate(points) if not any(map(math.isnan, p))}
    wanted = {i for i in known if not any(beats(points[j], points[i]) for j in known)}
    assert set(pareto_front(points)) == wanted


@given(POINTS)
def test_along_the_front_one_number_rises_and_the_other_falls(points: list[tuple[float, float]]) -> None:
    front = [points[i] for i in pareto_front(points)]
    assert all(a == b or (a[0] < b[0] and a[1] > b[1]) for a, b in pairwise(front))


@given(POINTS, st.randoms(use_true_random=False))
def test_the_order_of_the_points_does_not_matter(points: list[tuple[float, float]], random: object) -> None:
    mixed = list(points)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert sorted(points[i] for i in pareto_front(points)) == sorted(mixed[i] for i in pareto_front(mixed))


def test_ten_thousand_points_are_no_matter() -> None:
    points = [(float(i % 997), float((i * 7919) % 1009)) for i in range(10_000)]
    assert 0 < len(pareto_front(points)) < 100
