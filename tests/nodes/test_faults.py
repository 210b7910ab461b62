# SPDX-License-Identifier: BSD-3-Clause
"""Faults that are planted in snapshots: on which scale a fact is far from the others."""

import math

import pytest

from benchmarks._check.faults import _scaled


@pytest.mark.parametrize(
    ("value", "log", "scaled"),
    [(8, True, math.log(8)), (8, False, 8.0), (0, True, None), (-1.5, True, None), (0, False, 0.0), ("x", False, None)],
)
def test_what_has_no_logarithm_is_on_no_such_scale(value: object, log: bool, scaled: float | None) -> None:
    assert _scaled({"memory": {"bytes": value}}, "memory.bytes", log) == scaled
