# SPDX-License-Identifier: BSD-3-Clause
"""How often drift and a first run that differs are seen where they are, and where they are not."""

from collections.abc import Callable

import numpy as np
import pytest

from nodewise.statistics.trend import drift, first_run_differs
from tests.statistics.series import uneven

Family = Callable[[np.random.Generator, int], np.ndarray]


def correlated(r: np.random.Generator, n: int, phi: float) -> np.ndarray:
    """Noise of which each value keeps a share of the one before."""
    steps, values = r.normal(size=n + 50), np.zeros(n + 50)
    for i in range(1, n + 50):
        values[i] = phi * values[i - 1] + steps[i]
    return values[50:]


@pytest.mark.parametrize("n", [10, 30, 100])
@pytest.mark.parametrize(
    ("noise", "most"),
    [
        (lambda r, n: r.normal(size=n), 0.02),
        (lambda r, n: np.clip(r.standard_t(2, n), -50, 50), 0.02),
        (lambda r, n: np.round(r.normal(size=n)), 0.02),
        (lambda r, n: correlated(r, n, 0.3), 0.06),
        (lambda r, n: correlated(r, n, 0.6), 0.11),
    ],
)
@pytest.mark.parametrize("series", [200, pytest.param(500, marks=pytest.mark.long)])
def test_noise_is_seldom_taken_for_drift(n: int, noise: Family, most: float, series: int) -> None:
    r = np.random.default_rng(24)
    assert sum(drift(1 + 0.01 * noise(r, n)).found for _ in range(series)) <= most * series


@pytest.mark.parametrize(("n", "size", "least"), [(30, 0.03, 0.85), (100, 0.02, 0.95), (2000, 0.005, 0.95)])
def test_drift_is_found_with_its_size(n: int, size: float, least: float) -> None:
    r = np.random.default_rng(25)
    seen = [drift((1 + 0.01 * r.normal(size=n)) * (1 + size * np.arange(n) / n)) for _ in range(60)]
    assert sum(d.found for d in seen) >= least * 60
    assert np.median([d.size for d in seen]) == pytest.approx(size, rel=0.15)
    assert np.median([d.slope * n for d in seen]) == pytest.approx(size, rel=0.15)
    falls = drift(np.linspace(2, 1, n))
    assert falls.found and falls.size < -0.4


def test_outliers_and_bursts_are_no_drift() -> None:
    times = [1.0] * 40
    times[37:] = [9.0] * 3
    assert abs(drift(times).size) < 0.01
    for few in ([], [1.0], [1.0, 2.0, 3.0, 4.0, 5.0], [2.0] * 30):
        assert not drift(few).found
    with pytest.raises(ValueError):
        drift([1.0] * 9 + [0.0])


def test_a_first_run_that_differs_is_reported_with_its_size() -> None:
    r = np.random.default_rng(26)
    assert first_run_differs([1.5, *(1 + 0.01 * r.normal(size=20))]) == pytest.approx(0.5, abs=0.03)
    assert first_run_differs([0.8, *(1 + 0.01 * r.normal(size=20))]) == pytest.approx(-0.2, abs=0.03)
    # the rest is off as often, or there is too little of it, or nobody would mind
    assert first_run_differs([1.5, 1, 1, 1.6, 1, 1, 1]) is None
    assert first_run_differs([1.5, 1, 1, 1]) is None
    assert first_run_differs([1.004, 1, 1, 1, 1, 1]) is None
    with pytest.raises(ValueError):
        first_run_differs([0.0, 1, 1, 1, 1])


@pytest.mark.parametrize(("n", "most"), [(10, 0.01), (30, 0.01), (100, 0.01)])
def test_a_first_run_like_the_others_is_not_reported(n: int, most: float) -> None:
    r = np.random.default_rng(27)
    assert sum(first_run_differs(list(1 + 0.02 * r.normal(size=n))) is not None for _ in range(500)) <= most * 500


@pytest.mark.parametrize(
    ("times", "slope", "size", "p", "found"),
    [
        (
            [1 + 0.01 * v + 0.001 * i for i, v in enumerate(uneven(30))],
            0.000814015598,
            0.023877458,
            0.00306034015,
            True,
        ),
        # equal times, and times that are like those before them
        (
            [round(1 + 0.02 * v + 0.001 * i, 2) for i, v in enumerate(uneven(30, 1))],
            *(0.000813345165, 0.0238575676, 0.139467381, False),
        ),
        (
            [1 + 0.01 * sum(uneven(60, 2)[i : i + 5]) for i in range(50)],
            *(5.5940908e-05, 0.00274478787, 0.849037833, False),
        ),
        # so many that groups are looked at
        ([1 + 0.01 * v + 1e-5 * i for i, v in enumerate(uneven(1300, 3))], 9.16249e-06, 0.0119623134, 0.0, True),
        ([1 - 0.02 * i for i in range(6)], -0.0208394283, -0.0999438866, 0.00853492041, True),
    ],
    ids=["rising", "ties", "alike", "many", "falling"],
)
def test_drift_is_the_same_everywhere(times: list[float], slope: float, size: float, p: float, found: bool) -> None:
    seen = drift(times)
    assert (seen.slope, seen.size, seen.p_value) == pytest.approx((slope, size, p), rel=1e-6, abs=1e-12)
    assert seen.found is found
    assert drift(times, alpha=0.5).found is (p < 0.5) and not drift(times, alpha=p / 2).found


def test_a_first_run_is_off_by_more_than_the_rest_is_apart() -> None:
    rest = [1.0, 1.01, 0.99, 1.02, 0.98]
    # six deviations of 1.4826 × 0.01, times 1 + 4/5 as there are five: 0.1601
    assert first_run_differs([1.159, *rest]) is None and first_run_differs([1.161, *rest]) == pytest.approx(0.161)
    assert first_run_differs([0.841, *rest]) is None and first_run_differs([0.839, *rest]) == pytest.approx(-0.161)
    # four others are enough, and half a percent is too little
    assert first_run_differs([1.5, 1, 1, 1, 1]) == 0.5
    assert first_run_differs([1.00501, 1, 1, 1, 1]) is not None and first_run_differs([1.00499, 1, 1, 1, 1]) is None


def test_the_first_run_differs_where_no_other_is_as_far_out() -> None:
    assert first_run_differs([9.0, *[1.0, 1.1] * 5]) == pytest.approx(9 / 1.05 - 1)
    assert first_run_differs([9.0, *[1.0, 1.1] * 5, 9.0]) is None
    assert first_run_differs([0.1, *[1.0, 1.1] * 5]) is not None
    assert first_run_differs([0.1, *[1.0, 1.1] * 5, 0.1]) is None
