# SPDX-License-Identifier: BSD-3-Clause
"""The dip test, against published values and by what holds for any numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.statistics import dip as module
from nodewise.statistics.dip import dip, dip_p_value, scaled_dip
from tests.statistics.series import uneven


def test_the_dip_is_the_published_one() -> None:
    # of n equidistant values the dip is the least there is; of two heaps far apart nearly a quarter
    assert dip(range(1, 11)) == pytest.approx(1 / 20)
    heaps = np.concatenate([np.linspace(0, 1, 50), np.linspace(1000, 1001, 50)])
    assert dip(heaps) == pytest.approx(0.25, abs=0.01)
    # Hartigan and Hartigan 1985, table 1: of 50 uniform values one dip in twenty is above 0.0702, of 100 above 0.0511
    r = np.random.default_rng(23)
    for n, cut in ((50, 0.0702), (100, 0.0511)):
        above = np.mean([dip(r.random(n)) > cut for _ in range(300)])
        assert above == pytest.approx(0.05, abs=0.03)
    assert dip_p_value(heaps) == pytest.approx(0.001) and dip_p_value(r.normal(size=80)) > 0.05
    assert dip_p_value([1.0, 2.0]) == 1
    with pytest.raises(ValueError):
        dip([])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60, unique=True))
def test_the_dip_has_its_bounds_and_knows_no_direction(values: list[float]) -> None:
    found = dip(values)
    assert 1 / (2 * len(values)) - 1e-12 <= found <= 0.25 + 1 / (2 * len(values))
    assert dip([-v for v in values]) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize(
    ("count", "apart", "wanted"),
    [
        (7, 3, (0.115248558, 0.304919023, 0.5)),
        (25, 0, (0.0325819557, 0.162909779, 0.5)),
        (120, 3, (0.0273022678, 0.299081359, 0.5)),
        # longer ones are thinned
        (1500, 3, (0.0173440922, 0.550175332, 0.0401298657)),
    ],
)
def test_it_is_the_same_everywhere(count: int, apart: float, wanted: tuple[float, float, float]) -> None:
    values = [v + apart * (i % 2) for i, v in enumerate(uneven(count, 2 if apart else 1))]
    assert (dip(values), scaled_dip(values), dip_p_value(values)) == pytest.approx(wanted, rel=1e-6)


def test_the_table_has_no_slip() -> None:
    rows = list(module._QUANTILES.values())
    assert list(module._PROBABILITIES) == sorted(module._PROBABILITIES) and len(rows[0]) == len(module._PROBABILITIES)
    assert list(module._QUANTILES) == [6, 8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000]
    for row in rows:
        assert all(a < b for a, b in itertools.pairwise(row))
    for row, following in itertools.pairwise(rows):
        assert all(b == pytest.approx(a, rel=0.09) for a, b in zip(row, following, strict=True))


def test_a_p_value_is_looked_up_between_the_sizes_that_are_tabulated() -> None:
    # six values, and eight, whose dip is that of the table's entry, to the last digit
    assert dip_p_value([0.0, 0.1, 0.2, 0.3, 0.4]) == 1.0
    assert dip_p_value([0, 0, 0, 1, 1, 1]) == pytest.approx(0.001)
    assert dip_p_value([0, 1, 2, 3, 4, 5]) == 0.5
    two = [0.0, 0.01, 0.02, 1.0, 1.01, 1.02]
    assert 0.001 < dip_p_value(two) < 0.1
