# SPDX-License-Identifier: BSD-3-Clause
"""Values that are tested in all combinations, of which so many have the mark `long` that the others still say what each part does."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

Case = Any  # of pytest.param, whose class has no public name


def crossed(*axes: Sequence[Any], together: int = 1) -> list[Case]:
    """All combinations, of each axis one value; the ones that are not `long` have each value at least, or each two that meet."""
    kept = _each(axes) if together == 1 else _each_two(axes)
    return [
        pytest.param(*combined(axes, places), marks=() if places in kept else pytest.mark.long)
        for places in itertools.product(*(range(len(axis)) for axis in axes))
    ]


def combined(axes: Sequence[Sequence[Any]], places: Sequence[int]) -> list[Any]:
    """The values at these places."""
    return [axis[place] for axis, place in zip(axes, places, strict=True)]


def _each(axes: Sequence[Sequence[Any]]) -> set[tuple[int, ...]]:
    return {tuple(i % len(axis) for axis in axes) for i in range(max(map(len, axes)))}


def _each_two(axes: Sequence[Sequence[Any]]) -> set[tuple[int, ...]]:
    """The one that brings most new meetings is the next one, until there is no other meeting."""
    every = list(itertools.product(*(range(len(axis)) for axis in axes)))
    met: set[tuple[tuple[int, int], ...]] = set()
    kept: set[tuple[int, ...]] = set()
    while new := max((_meetings(places) - met for places in every), key=len):
        met |= new
        kept.add(next(places for places in every if _meetings(places) >= new))
    return kept


def _meetings(places: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
    return set(itertools.combinations(enumerate(places), 2))
