# SPDX-License-Identifier: BSD-3-Clause
"""What a tune keeps of its runs, and when a candidate is given up for another setting."""

from nodewise.experiments.costs import Costs
from nodewise.experiments.reserve import Reserve
from nodewise.search.guided import GuidedSearch
from nodewise.search.space import Axis, Space

SPACE = Space((Axis("knob", ("", "a", "b"), ("", "a", "b"), ""),), lambda p: p["knob"])
NONE, A, B = (SPACE.default.having(knob=v) for v in ("", "a", "b"))


def _told(a: float, b: float) -> Reserve:
    search = GuidedSearch(SPACE)
    for k in range(4):
        wobble = 1 + 0.005 * (-1) ** k
        search.tell({NONE: wobble, A: a / wobble})
    search.tell({NONE: 1.0, B: b})
    return Reserve(search, SPACE, Costs(), 0.01)


def test_a_setting_that_ran_once_and_is_far_ahead_overtakes_one_that_gains_nothing() -> None:
    reserve = _told(1.0, 0.7)
    assert reserve.is_surely_faster(B, A)
    assert not reserve.is_surely_faster(A, B)
    assert not _told(1.0, 0.995).is_surely_faster(B, A)
    # faster than a slow one is not yet faster than the baseline
    assert not _told(1.5, 1.0).is_surely_faster(B, A)


def test_runs_are_kept_to_tell_what_a_gain_is_from_where_the_rest_makes_it_sure() -> None:
    reserve = _told(0.7, 1.0)
    assert reserve.for_ablation(A, 2, 60, 40) == 21
    # fewer than an interval takes would say nothing
    assert reserve.for_ablation(A, 2, 60, 20) == 0
    # too few to make it sure, no gain to speak of, nothing to put back
    assert reserve.for_ablation(A, 2, 9, 9) == 0
    assert _told(0.98, 1.0).for_ablation(A, 2, 60, 40) == 0
    assert reserve.for_ablation(A, 0, 60, 40) == 0
