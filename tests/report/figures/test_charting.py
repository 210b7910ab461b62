# SPDX-License-Identifier: BSD-3-Clause
"""Units of metrics on the axes of figures."""

import pytest

from nodewise.report.figures.charting import metric_unit


@pytest.mark.parametrize(
    ("metric", "value", "expected"),
    [
        ("seconds", 1.0, (1.0, "s")),
        ("seconds", 0.999, (1e3, "ms")),
        ("wall_s", 1e-3, (1e3, "ms")),
        ("seconds", 1e-6, (1e6, "µs")),
        ("seconds", 9e-7, (1e9, "ns")),
        ("peak_bytes", 1024.0, (1 / 1024, "KiB")),
        ("peak_bytes", 1023.0, (1.0, "B")),
        ("peak_bytes", 2.0**30, (2.0**-30, "GiB")),
        ("energy_j", 5.0, (1.0, "J")),
        ("work", 1e6, (1e-6, "10⁶ work")),
        ("work", 1e9, (1e-9, "10⁹ work")),
        ("work", 5.0, (1.0, "work")),
    ],
)
def test_a_unit_is_the_largest_that_the_value_has_one_of(
    metric: str, value: float, expected: tuple[float, str]
) -> None:
    factor, unit = metric_unit(metric, value)
    assert (pytest.approx(factor), unit) == expected
