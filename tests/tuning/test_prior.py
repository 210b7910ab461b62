# SPDX-License-Identifier: BSD-3-Clause
"""Settings of earlier tunes as points of another space, on another machine."""

from typing import Any

import pytest

from nodewise.base.shapes import ShapeError
from nodewise.records.earlier import (
    SAME_LIBRARIES,
    SAME_PROGRAM,
    Earlier,
    SettingSeen,
    Width,
    earlier_from_json,
    led_by,
    started_from,
)
from nodewise.search.space import AS_STARTED, Axis, Point, Space
from nodewise.tuning.prior import as_here, prior_of, priors_of
from tests.surfaces import machine

HERE, EIGHT = machine(8, 2), Width(8, 16)
THREADS = Axis("threads", tuple(range(1, 17)), (16, 8), 16, ordered=True, crossed=True)
PAGES = Axis("hugepages", ("default", "transparent"), ("default", "transparent"), "default")


def _space(*axes: Axis) -> Space:
    return Space(axes, lambda p: tuple(p.items()))


def _seen(log: float | None = -0.1, **values: Any) -> SettingSeen:
    return SettingSeen(values, log, 0.01, 3)


def _earlier(*settings: SettingSeen, width: Width = EIGHT, **more: Any) -> Earlier:
    facts = {"command": "./app a", "machine": "n1, some", "began": "2026-11-20T10:00:00+00:00"}
    facts |= {"relation": SAME_PROGRAM, "here": True, "defaults": {"threads": width.threads, "hugepages": "default"}}
    return Earlier(**{**facts, "width": width, "settings": [_seen(0.0), *settings], **more})


@pytest.mark.parametrize(
    ("count", "there", "here", "found"),
    [
        (8, (8, 16), (24, 48), 24),
        (16, (8, 16), (24, 48), 48),
        (12, (8, 16), (24, 48), 36),
        (1, (64, 64), (4, 4), 1),
        (4, (8, 8), (24, 24), 12),
        (16, (8, 16), (24, 24), None),
        (8, (8, 8), (4, 8), 4),
        (5, (8, 16), (8, 16), 5),
        (7, (8, 8), (2, 2), 2),
        (5, (8, 8), (4, 4), 2),
    ],
)
def test_threads_keep_their_share_of_the_cores_and_of_the_further_threads(
    count: int, there: tuple[int, int], here: tuple[int, int], found: int | None
) -> None:
    assert as_here(count, Width(*there), Width(*here)) == found


def test_settings_become_points_and_what_is_not_here_is_left_out() -> None:
    earlier = _earlier(
        _seen(-0.3, threads=24, hugepages="transparent"),
        _seen(-0.2, hugepages="1G"),
        _seen(-0.2, allocator="jemalloc"),
        _seen(None, threads=48, hugepages="transparent"),
        width=Width(24, 48),
        defaults={"threads": 48, "hugepages": "default", "allocator": "libc"},
        here=False,
    )
    prior = prior_of(earlier, _space(THREADS, PAGES), HERE, apart=False)
    assert prior is not None
    assert prior.axes == {"threads", "hugepages"}
    found = {s.point: s.log for s in prior.seen}
    assert set(found) == {
        Point({"threads": 16, "hugepages": "default"}),
        Point({"threads": 8, "hugepages": "transparent"}),
        Point({"threads": 16, "hugepages": "transparent"}),
    }
    assert found[Point({"threads": 8, "hugepages": "transparent"})] == -0.3
    # what failed there is no good guess
    assert found[Point({"threads": 16, "hugepages": "transparent"})] > 0.5


def test_the_program_as_it_is_is_itself_where_the_default_is_another_setting() -> None:
    prior = prior_of(_earlier(_seen(-0.1, threads=16)), _space(THREADS, PAGES), HERE, apart=True)
    assert prior is not None
    assert [AS_STARTED in s.point for s in prior.seen] == [True, False]


def test_what_says_nothing_of_this_space_leads_nothing() -> None:
    other = _space(Axis("schedule", ("static", "dynamic"), ("static",), "static"))
    assert prior_of(_earlier(_seen(threads=8)), other, HERE, apart=False) is None
    assert prior_of(_earlier(), _space(THREADS), HERE, apart=False) is None
    assert priors_of([_earlier()], _space(THREADS), HERE, apart=False) == []


def test_the_liker_the_more_is_expected() -> None:
    made = [
        prior_of(_earlier(_seen(threads=8), relation=r, here=h), _space(THREADS), HERE, apart=False)
        for r, h in ((SAME_PROGRAM, True), (SAME_PROGRAM, False), (SAME_LIBRARIES, True), (SAME_LIBRARIES, False))
    ]
    likeness = [p.likeness for p in made if p is not None]
    assert likeness == sorted(likeness, reverse=True)
    assert len(set(likeness)) == 4


def test_what_is_kept_is_read_back_and_said_in_words() -> None:
    from dataclasses import asdict

    one = _earlier(_seen(threads=8), best="threads=8", ratio=1.4)
    assert earlier_from_json([asdict(one)])[0].settings[1].values == {"threads": 8}
    with pytest.raises(ShapeError):
        earlier_from_json([{**asdict(one), "width": "wide"}])
    count, line = led_by([one])
    assert "an earlier tune" in count
    assert "--no-history" in count
    assert line == "./app a, on this machine, 2026-11-20: threads=8 was 1.40× as fast (2 settings)"
    other = _earlier(_seen(threads=8), relation=SAME_LIBRARIES, here=False)
    assert started_from(other).sentence == (
        "./app a (another program of the same libraries), on n1, some, 2026-11-20: nothing was shown to be faster (2 settings)"
    )
    assert led_by([]) == []
