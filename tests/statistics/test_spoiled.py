# SPDX-License-Identifier: BSD-3-Clause
"""How often drift, modes and a first run that differs are seen where they are, and where they are not."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.statistics.spoiled import (
    PASSING,
    Met,
    disturbance,
    drift,
    first_run_differs,
    modes,
    repeat_worthy,
    repeats_due,
)
from tests.statistics.series import uneven

Family = Callable[[np.random.Generator, int], np.ndarray]


def outliers(share: float, low: float, high: float) -> Family:
    """Normal times of 1 % noise of which a share takes longer by `low` to `high`."""

    def draw(r: np.random.Generator, n: int) -> np.ndarray:
        return (1 + 0.01 * r.normal(size=n)) * np.where(r.random(n) < share, 1 + r.uniform(low, high, n), 1)

    return draw


UNIMODAL: dict[str, Family] = {
    "normal": lambda r, n: 1 + 0.01 * r.normal(size=n),
    "lognormal": lambda r, n: np.exp(0.3 * r.normal(size=n)),
    "5 % outliers": outliers(0.05, 0.03, 0.5),
    "10 % outliers": outliers(0.1, 0.03, 0.5),
    "15 % outliers": outliers(0.15, 0.03, 0.5),
    "15 % outliers in one place": outliers(0.15, 0.2, 0.2),
    "a heavy tail": lambda r, n: 1 + 0.1 * r.exponential(size=n),
    "quantised to some values": lambda r, n: np.round((1 + 0.01 * r.normal(size=n)) / 0.01) * 0.01,
    "quantised to two or three": lambda r, n: np.round((1 + 0.01 * r.normal(size=n)) / 0.03) * 0.03,
    "quantised with outliers": lambda r, n: np.round(outliers(0.1, 0.03, 0.5)(r, n) / 0.01) * 0.01,
}


@pytest.mark.parametrize(("n", "times"), [(10, 500), (30, 300), (100, 150)])
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
def test_noise_is_seldom_taken_for_drift(n: int, noise: Family, most: float) -> None:
    r = np.random.default_rng(24)
    assert sum(drift(1 + 0.01 * noise(r, n)).found for _ in range(500)) <= most * 500


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


def test_what_passes_is_worth_another_run_and_the_rest_is_not() -> None:
    assert repeat_worthy(["steal: the hypervisor took 3% of the processor time"])
    assert not repeat_worthy([])
    assert not repeat_worthy(["throttled: the cgroup's quota held it back for 2 s", "rebound: x", "outside: y"])
    assert all(repeat_worthy([f"{kind}: x"]) for kind in PASSING)


def test_as_many_blocks_are_repeated_as_were_disturbed_but_not_all() -> None:
    assert [repeat_worthy(marks) for marks in ([], ["steal: x"], ["quota: y"], ["quota: y", "heat: z"])] == [0, 1, 0, 1]
    assert [repeats_due(n, 40) for n in (0, 3, 10, 11, 40)] == [0, 3, 10, 10, 10]
    assert repeats_due(1, 1) == 1


def _met(block: int, who: str, *marks: str, used: float = 1.0, stolen: float = 0.0) -> Met:
    return Met(block, who, marks, used, stolen)


def test_a_block_is_disturbed_by_any_of_its_runs() -> None:
    busy = "other load: it waited 1 s for processors that others used"
    runs = [m for b in range(20) for m in (_met(b, "a", *[busy] * (b < 11)), _met(b, "b"))]
    found = disturbance(runs)
    assert (found.blocks, found.disturbed_blocks, found.runs, found.disturbed_runs) == (20, 11, 40, 11)
    assert found.which == set(range(11))
    assert found.reason == "the machine was busy (11 of 40 runs, other load)"
    assert disturbance([]).reason == "" and disturbance([]).blocks == 0
    lasting = disturbance([_met(b, "a", "rebound: x", "outside: y", "left behind: z") for b in range(9)])
    assert lasting.disturbed_runs == 0 and lasting.conditions == () and lasting.which == set()


def test_what_disturbed_most_is_named_first() -> None:
    runs = [
        _met(b, "a", "paging: 9 major page faults", *["heat: it lowered the clock 1 time"] * (b < 3)) for b in range(6)
    ]
    assert disturbance(runs).reason == "the machine was disturbed (6 of 6 runs, paging, heat)"


def test_steal_that_all_runs_meet_is_a_condition_and_steal_that_comes_is_not() -> None:
    mark = "steal: the hypervisor took 8% of the processor time"
    alike = disturbance([_met(b, "ab"[b % 2], mark, used=0.92, stolen=0.08 + 0.01 * (b % 3 - 1)) for b in range(30)])
    assert alike.disturbed_runs == 0 and alike.conditions == ("steal of 8% in all runs",)
    comes = disturbance([_met(b, "a", used=0.7, stolen=0.3 if b % 3 == 0 else 0.0) for b in range(30)])
    assert comes.disturbed_runs == 10 and comes.conditions == () and comes.kinds == ("steal",)
    # one that met much more than the others was disturbed
    more = disturbance([_met(b, "a", used=0.92, stolen=0.9 if b == 7 else 0.08) for b in range(30)])
    assert more.disturbed_runs == 1 and more.conditions == ("steal of 8% in all runs",)
    # at the limit: five percentage points
    for stolen, disturbed in ((0.04, 0), (0.06, 3)):
        runs = [_met(b, "a", used=1 - stolen * (b < 3), stolen=stolen * (b < 3)) for b in range(12)]
        assert disturbance(runs).disturbed_runs == disturbed


def test_steal_of_short_runs_is_seen_in_many() -> None:
    # of 20 ms each one in ten meets a hundredth of a second, which is 5 % of all and no more than rounding by itself
    few = disturbance([_met(b, "a", used=0.02, stolen=0.01 * (b % 20 == 0)) for b in range(600)])
    assert few.disturbed_runs == 0 and few.conditions == ("steal of 2% in all runs",)
    much = disturbance([_met(b, "a", used=0.02, stolen=0.01 * (200 <= b < 400)) for b in range(600)])
    assert 180 <= much.disturbed_runs <= 240 and much.conditions == ()


def test_a_quota_and_a_clock_that_is_low_in_all_runs_are_conditions() -> None:
    low = "clock: 1.60 GHz on the average, below its base of 2.00 GHz"
    wide = [_met(b, who, *([low] if who == "wide" else [])) for b in range(8) for who in ("wide", "narrow")]
    assert disturbance(wide, 1.5).conditions == (
        "the clock below its base in all runs of wide",
        "a quota of 1.5 processors",
    )
    assert disturbance(wide).disturbed_runs == 0
    falls = disturbance([_met(b, "a", *[low] * (b > 4)) for b in range(8)])
    assert falls.disturbed_runs == 3 and falls.conditions == ()
    held = disturbance([_met(b, "a", "throttled: the cgroup's quota held it back for 2 s") for b in range(8)])
    assert held.disturbed_runs == 0 and held.conditions == ("a quota that held runs back",)


def _loud(block: int, who: str, rest_busy: float | None) -> Met:
    rest = (0.0, 0.0) if rest_busy is None else (0.25, rest_busy)
    return Met(block, who, ("other load: others used 1 s",), 1.0, 0.0, *rest)


def test_load_that_rests_between_the_runs_is_named_with_what_to_do() -> None:
    service = [_loud(b, who, 0.0 if who == "a" and b else None) for b in range(4) for who in "ab"]
    found = disturbance(service)
    assert found.disturbed_blocks == 4 and "the machine was busy" in found.reason
    (named,) = found.conditions
    assert "rested between them" in named and "--accept-disturbed" in named


def test_load_that_goes_on_between_the_runs_is_another_users() -> None:
    hog = [_loud(b, who, 0.24 if who == "a" and b else None) for b in range(4) for who in "ab"]
    assert disturbance(hog).disturbed_blocks == 4 and disturbance(hog).conditions == ()
    # half of the time is enough, and so are too few looks
    bursts = [_loud(b, who, 0.25 * (b % 2) if who == "a" and b else None) for b in range(6) for who in "ab"]
    assert disturbance(bursts).conditions == ()
    seldom = [_loud(b, who, 0.0 if who == "a" and b in (1, 2) else None) for b in range(4) for who in "ab"]
    assert disturbance(seldom).conditions == ()


def test_load_in_few_blocks_is_no_service() -> None:
    runs = [_loud(b, who, 0.0) if b < 3 else _met(b, who) for b in range(8) for who in "ab"]
    assert disturbance(runs).disturbed_blocks == 3 and disturbance(runs).conditions == ()


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


def test_a_first_run_is_off_by_more_than_the_rest_is_apart() -> None:
    rest = [1.0, 1.01, 0.99, 1.02, 0.98]
    # six deviations of 1.4826 × 0.01, times 1 + 4/5 as there are five: 0.1601
    assert first_run_differs([1.159, *rest]) is None and first_run_differs([1.161, *rest]) == pytest.approx(0.161)
    assert first_run_differs([0.841, *rest]) is None and first_run_differs([0.839, *rest]) == pytest.approx(-0.161)
    # four others are enough, and half a percent is too little
    assert first_run_differs([1.5, 1, 1, 1, 1]) == 0.5
    assert first_run_differs([1.00501, 1, 1, 1, 1]) is not None and first_run_differs([1.00499, 1, 1, 1, 1]) is None


def test_of_steal_a_twentieth_is_no_harm_and_less_than_a_hundredth_is_not_named() -> None:
    def alike(share: float, runs: int = 30) -> tuple[int, tuple[str, ...]]:
        found = disturbance([_met(b, "a", used=10 * (1 - share), stolen=10 * share) for b in range(runs)])
        return found.disturbed_runs, found.conditions

    assert alike(0.009) == (0, ()) and alike(0.011) == (0, ("steal of 1% in all runs",))
    assert alike(0.2) == (0, ("steal of 20% in all runs",))
    # nine of ten are all
    for others, disturbed in ((3, 3), (4, 30)):
        runs = [_met(b, "a", used=9.0, stolen=1.0) if b >= others else _met(b, "a", used=10.0) for b in range(30)]
        found = disturbance(runs)
        assert found.disturbed_runs == (disturbed if others == 3 else 26)
        assert found.conditions == (("steal of 10% in all runs",) if others == 3 else ())


def test_load_that_rests_needs_most_blocks_three_looks_and_a_twentieth() -> None:
    def said(blocks: int, loud: int, looks: int, busy: float) -> bool:
        runs = [
            Met(b, "a", ("other load: x",) if b < loud else (), 1.0, 0.0, *((10.0, busy) if b < looks else (0.0, 0.0)))
            for b in range(blocks)
        ]
        return any("rested between them" in c for c in disturbance(runs).conditions)

    assert said(8, 5, 3, 0.0) and not said(8, 4, 3, 0.0) and not said(8, 5, 2, 0.0)
    # a twentieth of what was looked at, and the rounding of the clock
    assert said(8, 5, 3, 0.50) and said(8, 5, 3, 0.509) and not said(8, 5, 3, 0.511)


def test_a_clock_that_is_low_in_nine_of_ten_runs_of_each_is_low_in_all() -> None:
    low = ("clock: 1.60 GHz",)
    for high, conditions in ((1, ("the clock below its base in all runs",)), (2, ())):
        runs = [_met(b, who, *(low if b >= high else ())) for b in range(10) for who in "ab"]
        found = disturbance(runs)
        assert found.conditions == conditions
        assert found.disturbed_runs == (0 if conditions else 16)


def test_steal_that_all_meet_excuses_only_where_it_is_more_than_a_twentieth() -> None:
    def disturbed(usual: float, one: float) -> int:
        shares = [one if b == 15 else usual for b in range(30)]
        return disturbance(
            [_met(b, "a", used=10 * (1 - s), stolen=10 * s) for b, s in enumerate(shares)]
        ).disturbed_runs

    assert disturbed(0.03, 0.07) == 1 and disturbed(0.03, 0.045) == 0
    assert disturbed(0.2, 0.24) == 0 and disturbed(0.2, 0.26) == 1
