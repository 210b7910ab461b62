# SPDX-License-Identifier: BSD-3-Clause
"""How often several modes are seen where they are, and where they are not."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.statistics.modes import _two, modes
from tests.statistics.series import uneven

Family = Callable[[np.random.Generator, int], np.ndarray]


def outliers(share: float, low: float, high: float) -> Family:
    """Normal times of 1% noise of which a share takes longer by `low` to `high`."""

    def draw(r: np.random.Generator, n: int) -> np.ndarray:
        return (1 + 0.01 * r.normal(size=n)) * np.where(r.random(n) < share, 1 + r.uniform(low, high, n), 1)

    return draw


UNIMODAL: dict[str, Family] = {
    "normal": lambda r, n: 1 + 0.01 * r.normal(size=n),
    "lognormal": lambda r, n: np.exp(0.3 * r.normal(size=n)),
    "5% outliers": outliers(0.05, 0.03, 0.5),
    "10% outliers": outliers(0.1, 0.03, 0.5),
    "15% outliers": outliers(0.15, 0.03, 0.5),
    "15% outliers in one place": outliers(0.15, 0.2, 0.2),
    "a heavy tail": lambda r, n: 1 + 0.1 * r.exponential(size=n),
    "quantised to some values": lambda r, n: np.round((1 + 0.01 * r.normal(size=n)) / 0.01) * 0.01,
    "quantised to two or three": lambda r, n: np.round((1 + 0.01 * r.normal(size=n)) / 0.03) * 0.03,
    "quantised with outliers": lambda r, n: np.round(outliers(0.1, 0.03, 0.5)(r, n) / 0.01) * 0.01,
}


@pytest.mark.some(8)
@pytest.mark.parametrize(
    ("n", "times"),
    [
        *((10, 150), (30, 100), (100, 50)),
        *(pytest.param(n, times, marks=pytest.mark.long) for n, times in ((10, 500), (30, 300), (100, 150))),
    ],
)
@pytest.mark.parametrize("family", UNIMODAL)
def test_one_mode_is_taken_for_several_in_at_most_2_of_100(family: str, n: int, times: int) -> None:
    r = np.random.default_rng(20)
    said = sum(modes(UNIMODAL[family](r, n)).bimodal for _ in range(times))
    assert said <= 0.02 * times


TIMES = 150


@pytest.mark.parametrize(("n", "least"), [(30, 0.5), (50, 0.72), (100, 0.9)])
def test_two_modes_are_found_where_they_are(n: int, least: float) -> None:
    r = np.random.default_rng(21)
    found = 0
    for _ in range(TIMES):
        slow = r.random(n) < r.uniform(0.3, 0.7)
        seen = modes((1 + 0.01 * r.normal(size=n)) * np.where(slow, 1.05, 1))
        if seen.bimodal and len(seen.modes) == 2:
            first, second = seen.modes
            found += abs(first.seconds - 1) < 0.01 and abs(second.seconds - 1.05) < 0.01
            assert first.share == pytest.approx(1 - slow.mean(), abs=0.15)
            assert first.share + second.share == pytest.approx(1)
    assert found >= least * TIMES


def test_three_modes_are_three() -> None:
    r = np.random.default_rng(22)
    seen = modes(np.concatenate([c * (1 + 0.005 * r.normal(size=60)) for c in (1.0, 1.1, 1.3)]))
    assert [round(m.seconds, 1) for m in seen.modes] == [1.0, 1.1, 1.3]
    assert sum(m.share for m in seen.modes) == pytest.approx(1)


@pytest.mark.parametrize("n", [20, 30, 60])
def test_modes_at_even_distances_are_not_cut_through(n: int) -> None:
    r = np.random.default_rng(23)
    found = 0
    for _ in range(20):
        seen = modes(np.concatenate([c * (1 + 0.003 * r.normal(size=n)) for c in (1.0, 1.2, 1.44)]))
        found += [round(m.share, 3) for m in seen.modes] == [0.333] * 3
    assert found >= 18


def test_at_most_six_modes_are_told_apart() -> None:
    r = np.random.default_rng(24)

    def seen(*centres: float) -> list[float]:
        drawn = modes(np.concatenate([c * (1 + 0.002 * r.normal(size=60)) for c in centres]))
        return [round(m.seconds, 2) for m in drawn.modes]

    assert seen(1.0, 1.1, 2.0, 2.2) == [1.0, 1.1, 2.0, 2.2]
    assert seen(1.0, 1.1, 2.0, 2.2, 4.0, 4.4) == [1.0, 1.1, 2.0, 2.2, 4.0, 4.4]
    # seven, of which the last two are left together
    assert len(seen(1.0, 1.1, 1.21, 5.0, 5.5, 25.0, 27.5)) == 6


def test_of_few_or_equal_times_there_is_one_mode() -> None:
    for times in ([2.0], [1.0, 9.0] * 4, [3.0] * 50):
        seen = modes(times)
        assert not seen.bimodal and len(seen.modes) == 1 and seen.modes[0].share == 1
    for wrong in ([], [1.0, -1.0]):
        with pytest.raises(ValueError):
            modes(wrong)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=40))
def test_modes_are_in_order_and_share_all_runs(times: list[float]) -> None:
    seen = modes(times)
    assert sum(m.share for m in seen.modes) == pytest.approx(1)
    assert [m.seconds for m in seen.modes] == sorted(m.seconds for m in seen.modes)
    assert seen.bimodal == (len(seen.modes) > 1)
    assert all(min(times) <= m.seconds <= max(times) for m in seen.modes)


@pytest.mark.parametrize(
    ("times", "p", "wanted"),
    [
        (
            [(1 if i % 5 < 3 else 1.06) * (1 + 0.005 * v) for i, v in enumerate(uneven(50))],
            *(0.001, [(1.00008265, 0.6), (1.05957261, 0.4)]),
        ),
        (
            [(1, 1.1, 1.3)[i % 3] * (1 + 0.005 * v) for i, v in enumerate(uneven(90, 1))],
            *(0.001, [(1.00012126, 1 / 3), (1.09996516, 1 / 3), (1.30083871, 1 / 3)]),
        ),
        (
            [round((1 if i % 2 else 1.2) * (1 + 0.01 * v), 2) for i, v in enumerate(uneven(40, 3))],
            0.001,
            [(1, 0.5), (1.2, 0.5)],
        ),
        ([1 + 0.01 * v for v in uneven(40)], 0.5, [(0.999898001, 1)]),
    ],
    ids=["two", "three", "of a coarse clock", "one"],
)
def test_modes_are_the_same_everywhere(times: list[float], p: float, wanted: list[tuple[float, float]]) -> None:
    seen = modes(times)
    assert seen.bimodal is (len(wanted) > 1) and seen.p_value == pytest.approx(p)
    assert [(m.seconds, m.share) for m in seen.modes] == [pytest.approx(w, rel=1e-7) for w in wanted]


def test_of_cuts_that_are_as_good_the_widest_gap_is_cut() -> None:
    for first, cut in ((1.005, 5), (0.995, 10)):
        logs = np.array([0.0] * 5 + [first] * 5 + [2.0] * 5)
        assert _two(logs, 1.02) == [cut]
