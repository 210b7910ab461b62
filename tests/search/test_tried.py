# SPDX-License-Identifier: BSD-3-Clause
"""What a search keeps of the runs there were, and what it asks for again."""

import math

import pytest

from nodewise.search.guided import GuidedSearch
from nodewise.search.space import Axis, Space

SPACE = Space(
    (
        Axis("threads", tuple(range(1, 65)), (64, 32, 16, 8, 1), 64, ordered=True, crossed=True),
        Axis("placement", ("os", "compact", "scatter"), ("scatter", "os", "compact"), "os", crossed=True),
    ),
    lambda p: tuple(p.items()),
)


def test_a_point_has_run_once_some_run_of_it_ended_well() -> None:
    search = GuidedSearch(SPACE, 0)
    good, bad, never = (SPACE.default.having(placement=where) for where in ("os", "compact", "scatter"))
    search.tell({good: 1.0, bad: None})
    assert (search.ran(good), search.ran(bad), search.ran(never)) == (True, False, False)


def test_pairs_are_those_of_the_blocks_from_one_on() -> None:
    search = GuidedSearch(SPACE, 0)
    one, other = SPACE.default, SPACE.default.having(placement="scatter")
    for seconds in (1.0, 2.0, 4.0):
        search.tell({one: seconds, other: 1.0})
    assert search.pairs(other, one, 0) == pytest.approx([0, math.log(2), math.log(4)])
    assert search.pairs(other, one, 1) == pytest.approx([math.log(2), math.log(4)])


def test_what_failed_once_is_tried_again_in_the_order_of_what_it_promises() -> None:
    search = GuidedSearch(SPACE, 0)
    default = SPACE.default
    for _ in range(4):
        search.tell({default.having(threads=n): 0.1 + n / 64 for n in (1, 8, 16, 32, 48, 64)})
    best, middle, worst, given_up = (default.having(threads=n, placement="compact") for n in (2, 12, 60, 4))
    search.tell(dict.fromkeys((worst, best, middle, given_up), None))
    search.tell({given_up: None})
    assert search._retries(default) == [best, middle, worst][: len(search._retries(default))]
    assert search._retries(default)[:2] == [best, middle]
