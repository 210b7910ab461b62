# SPDX-License-Identifier: BSD-3-Clause
"""What a tune keeps of its runs, and when a candidate is given up for another setting."""

from dataclasses import replace
from typing import cast

import pytest

from nodewise.experiments.confirmation import fewest_blocks
from nodewise.experiments.costs import Costs
from nodewise.experiments.reserve import Reserve
from nodewise.runner.sample import Sample
from nodewise.search.guided import GuidedSearch
from nodewise.search.space import Axis, Point, Space

SPACE = Space((Axis("knob", ("", "a", "b"), ("", "a", "b"), ""),), lambda p: p["knob"])
NONE, A, B = (SPACE.default.having(knob=v) for v in ("", "a", "b"))


def _told(a: float, b: float, space: Space = SPACE) -> Reserve:
    search, costs = GuidedSearch(space), Costs()
    costs.take("", Sample(1.0, 1.0, 0.0), 1.0, searching=True)
    for k in range(4):
        wobble = 1 + 0.005 * (-1) ** k
        search.tell({NONE: wobble, A: a / wobble})
    search.tell({NONE: 1.0, B: b})
    return Reserve(search, space, costs, 0.01)


def test_a_setting_that_ran_once_and_is_far_ahead_overtakes_one_that_gains_nothing() -> None:
    reserve = _told(1.0, 0.7)
    assert reserve.is_surely_faster(B, A, disappointing=True)
    assert not reserve.is_surely_faster(A, B, disappointing=True)
    assert not _told(1.0, 0.995).is_surely_faster(B, A, disappointing=True)
    # one and a half percent of one run may be noise
    gain, deviation = _told(1.2, 0.985)._search.gain(B, NONE)
    assert gain > 0.01 > gain - deviation and not _told(1.2, 0.985).is_surely_faster(B, A, disappointing=True)
    # faster than a slow one is not yet faster than the baseline
    assert not _told(1.5, 1.0).is_surely_faster(B, A, disappointing=True)


def test_runs_are_kept_to_tell_what_a_gain_is_from_where_the_rest_makes_it_sure() -> None:
    reserve = _told(0.7, 1.0)
    assert reserve.for_ablation(A, 2, 60, 40) == 21
    # fewer than an interval takes would say nothing
    assert reserve.for_ablation(A, 2, 60, 20) == 0
    # too few to make it sure, no gain to speak of, nothing to put back
    assert reserve.for_ablation(A, 2, 9, 9) == 0
    assert _told(0.98, 1.0).for_ablation(A, 2, 60, 40) == 0
    assert reserve.for_ablation(A, 0, 60, 40) == 0


def test_a_setting_disappoints_that_gains_nothing_for_sure_or_less_than_it_promised() -> None:
    assert _told(1.0, 1.0).disappoints(A, 0.0)
    assert not _told(0.8, 1.0).disappoints(A, 0.22)
    assert _told(0.8, 1.0).disappoints(A, 0.26)


def test_a_comparison_is_not_begun_anew_for_a_small_part_of_the_gain_nor_where_it_holds_what_it_promised() -> None:
    assert _told(0.8, 0.6).is_surely_faster(B, A, disappointing=True)
    assert not _told(0.8, 0.6).is_surely_faster(B, A, disappointing=False)
    assert not _told(0.62, 0.6).is_surely_faster(B, A, disappointing=True)


def test_of_crossed_axes_another_value_overtakes_what_holds_its_promise() -> None:
    space = Space((replace(SPACE.axes[0], crossed=True),), lambda p: p["knob"])
    assert _told(0.8, 0.6, space).is_surely_faster(B, A, disappointing=False)
    assert not _told(0.8, 0.798, space).is_surely_faster(B, A, disappointing=False)


def test_few_runs_are_kept_while_values_that_never_ran_together_are_left() -> None:
    axes = tuple(Axis(f"k{i}", ("", "a", "b", "c"), ("", "a", "b", "c"), "") for i in range(4))
    space = Space(axes, lambda p: tuple(p.items()))
    search, left, kept = GuidedSearch(space), 100, []
    reserve = Reserve(search, space, costs := Costs(), 0.01)
    costs.take("", Sample(1.0, 1.0, 0.0), 1.0, searching=True)
    while not search.paired and (points := search.ask(left)):
        left -= len(points)
        search.tell(dict.fromkeys(points, 1.0))
        kept.append(reserve.runs(points[-1], 2.0, left, 100, 0.04, timed=False))
    assert left > 30 and max(kept[:-1]) <= 16 < kept[-1]


def test_of_a_time_more_is_kept_than_the_fewest_runs_take_now() -> None:
    reserve = _told(0.4, 1.0)
    counted, timed = (reserve.runs(A, 2.0, 150, 200, 0.04, timed=t) for t in (False, True))
    assert counted < timed <= 50
    # where there are few runs most of them go on searching
    assert reserve.runs(A, 2.0, 25, 30, 0.04, timed=True) <= 16


def test_where_nothing_ran_that_could_be_confirmed_all_but_the_fewest_runs_go_on_searching() -> None:
    reserve = _told(0.7, 1.0)
    fewest = 2 * fewest_blocks(0.045)
    assert reserve.runs(None, 2.0, 200, 200, 0.045, False) == fewest
    assert reserve.runs(A, 2.0, 200, 200, 0.045, True) > fewest
    # before anything ran the search plans with what is kept as ever
    costs = Costs()
    costs.take("", Sample(1.0, 1.0, 0.0), 1.0, searching=True)
    assert Reserve(GuidedSearch(SPACE), SPACE, costs, 0.01).runs(None, 2.0, 200, 200, 0.045, False) > fewest


def test_a_confirmation_takes_no_fewer_runs_than_an_interval_does_however_large_the_gain() -> None:
    reserve = _told(0.1, 1.0)
    least = 2 * fewest_blocks(0.05)
    assert least <= reserve.needed(A, 40, 0.05) <= 2 * least


def test_of_a_budget_of_time_a_confirmation_has_an_eighth() -> None:
    reserve, alpha = _told(0.7, 0.9), 0.05
    counted, timed = (reserve.runs(A, 2.0, 3000, 4000, alpha, timed=timed) for timed in (False, True))
    assert counted < 100 and timed == 500
    # of few runs that is less than it takes anyway
    assert reserve.runs(A, 2.0, 60, 80, alpha, timed=True) >= 2 * fewest_blocks(alpha)


def test_a_baseline_that_varies_more_than_the_rest_needs_more_runs() -> None:
    def needed(slow: float) -> float:
        search, costs = GuidedSearch(SPACE), Costs()
        for k in range(16):
            wobble = 1 + 0.01 * (-1) ** k
            search.tell({NONE: slow if k % 4 < 2 else 1.0, A: 0.8 * wobble, B: 0.9 / wobble})
        return Reserve(search, SPACE, costs, 0.01).needed(A, 1000, 0.05)

    assert needed(1.02) < 100 < needed(3.0)


class Believing:
    """A search that believes in a gain of 5% in log time, without doubt, where runs vary by as much."""

    noise, reference = 0.05, NONE

    def gain(self, point: Point, over: Point) -> tuple[float, float]:
        return 0.05, 0.0

    def pairs(self, point: Point, other: Point, since: int) -> list[float]:
        return []


def test_a_small_gain_needs_as_many_runs_as_make_it_sure() -> None:
    # of n runs half are the baseline's: the standard error of the gain is 2 x 0.05 / sqrt(n), and 3.5 of these are to lie between 0.05 and 0.01
    reserve = Reserve(cast(GuidedSearch, Believing()), SPACE, Costs(), 0.01)
    assert reserve.needed(A, 1000, 0.05) == pytest.approx((2 * 3.5 * 0.05 / 0.04) ** 2)


class Promising(Believing):
    """One that has seen all values and pairs; `promises`: it expects more of values that never ran together."""

    blocks, size, unseen, paired = 5, 6, (), True

    def __init__(self, promises: bool):
        self.promises = promises

    def untried_pairings(self, most: int) -> list[Point]:
        return []


def test_what_good_values_promise_together_has_a_block_before_the_rest_is_kept() -> None:
    costs, alpha = Costs(), 0.05
    costs.take("", Sample(1.0, 1.0, 0.0), 1.0, searching=True)

    def kept(promises: bool, left: int) -> int:
        reserve = Reserve(cast(GuidedSearch, Promising(promises)), SPACE, costs, 0.01)
        return reserve.runs(A, 2.0, left, 60, alpha, timed=False)

    usual, fewest = kept(False, 30), 2 * fewest_blocks(alpha)
    assert usual >= 30 and kept(True, 30) == 30 - 6
    # never less than an interval takes, nor more than without a promise
    assert kept(True, fewest + 2) == fewest
    assert kept(True, usual + 20) == usual == kept(False, usual + 20)
