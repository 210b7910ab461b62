# SPDX-License-Identifier: BSD-3-Clause
"""Which runs are disturbed, and by what; what is a condition of all of them."""

import pytest

from nodewise.base.stolen_time import ROUNDING_S
from nodewise.statistics.disturbance import PASSING, Met, disturbance, repeat_worthy, repeats_due


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
    assert found.reason == "the machine was busy (11 of 40 runs, in 11 of 20 blocks, other load)"
    assert disturbance([]).reason == "" and disturbance([]).blocks == 0
    lasting = disturbance([_met(b, "a", "rebound: x", "outside: y", "left behind: z") for b in range(9)])
    assert lasting.disturbed_runs == 0 and lasting.conditions == () and lasting.which == set()


def test_what_disturbed_most_is_named_first() -> None:
    runs = [
        _met(b, "a", "paging: 9 major page faults", *["heat: it lowered the clock 1 time"] * (b < 3)) for b in range(6)
    ]
    assert disturbance(runs).reason == "the machine was disturbed (6 of 6 runs, paging, heat)"


@pytest.mark.parametrize(
    ("mark", "word"), [("other load: x", "busy"), ("steal: x", "busy"), ("paging: x", "disturbed")]
)
def test_a_machine_is_busy_with_what_others_do(mark: str, word: str) -> None:
    runs = [_met(b, "a", *[mark] * (b < 11), stolen=0.2 * (b < 11)) for b in range(20)]
    assert disturbance(runs).reason.startswith(f"the machine was {word} (")


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
    # of 20 ms each one in ten meets a hundredth of a second, which is 5% of all and no more than rounding by itself
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


def test_steal_of_less_than_half_of_what_is_usual_in_a_fifth_of_all_is_none_that_all_meet() -> None:
    for least, alike in ((0.045, True), (0.035, False)):
        runs = [_met(b, "a", used=1.0, stolen=least if b % 5 == 0 else 0.08) for b in range(40)]
        assert bool(disturbance(runs).conditions) == alike


def test_steal_of_a_short_run_is_more_than_rounding_or_none() -> None:
    def met(stolen: float) -> int:
        runs = [Met(block, "a", used_s=0.3, stolen_s=stolen if block == 12 else 0.0) for block in range(13)]
        return len(disturbance(runs).which)

    assert (met(ROUNDING_S), met(ROUNDING_S + 0.001)) == (0, 1)


def test_of_a_run_of_which_nothing_more_is_known_nothing_is_added() -> None:
    run = Met(0, "a")
    assert (run.used_s, run.stolen_s, run.rest_s, run.rest_busy_s, run.served_s) == (0, 0, 0, 0, 0)


def test_one_run_that_a_quota_held_back_is_named() -> None:
    held = disturbance([_met(0, "a", "throttled: 10%"), _met(0, "b"), _met(1, "a"), _met(1, "b")])
    assert held.conditions == ("a quota that held runs back",)


def test_of_steal_the_usual_share_is_that_of_the_middle_by_share() -> None:
    shares = [0.1] * 10 + [0.6] + [0.1] * 9
    found = disturbance([_met(n, "a", used=10 * (1 - share), stolen=10 * share) for n, share in enumerate(shares)])
    assert "steal of 10% in all runs" in found.conditions
    assert found.which == {10}
