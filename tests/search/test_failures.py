# SPDX-License-Identifier: BSD-3-Clause
"""What is blamed for failures, by counts that can be worked out by hand."""

import math

import numpy as np
import pytest

from nodewise.search.failures import Failures, fails_more
from nodewise.search.space import Point

DEFAULT = Point({"a": 0, "b": 0})


def _told(*runs: tuple[int, dict[str, int], bool]) -> Failures:
    failures = Failures(DEFAULT)
    for number, values, failed in runs:
        point = DEFAULT.having(**values)
        failures.tell(number, point, np.array([5.0 * point["a"], 5.0 * point["b"]]), failed, point == DEFAULT)
    return failures


def _chance(failures: Failures, number: int, **values: int) -> float:
    point = DEFAULT.having(**values)
    row = np.array([[5.0 * point["a"], 5.0 * point["b"]]])
    return float(failures.chances([number], [point], row)[0])


def test_a_value_that_always_fails_is_dropped_and_one_that_never_does_is_not_blamed() -> None:
    failures = _told((0, {}, False), (1, {"b": 2}, False), (2, {"a": 1, "b": 2}, True), (3, {"a": 1}, True))
    assert _chance(failures, 9, a=1, b=3) == 1.0
    assert _chance(failures, 9, a=2, b=2) < 0.05


def test_one_failure_is_a_doubt_and_no_verdict_on_a_value() -> None:
    failures = _told((0, {}, False), (1, {"a": 1}, True))
    assert 0.4 < _chance(failures, 9, a=1, b=3) < 0.9


def test_a_point_that_only_failed_waits_while_the_program_itself_never_did() -> None:
    failures = _told((0, {}, False), (1, {"a": 1}, True))
    assert failures.is_deferred(1) and failures.is_blamed(1, Point({"a": 1})) and failures.may_retry(1)
    assert not _told((0, {}, False), (0, {}, True), (1, {"a": 1}, True)).is_deferred(1)


def test_a_point_is_tried_twice_and_no_more() -> None:
    assert not _told((0, {}, False), (1, {"a": 1}, True), (1, {"a": 1}, True)).may_retry(1)


def test_around_a_failure_others_are_suspect() -> None:
    failures = _told((0, {}, False), (1, {"a": 3}, True))
    near, far = (float(failures.chances([9], [DEFAULT], np.array([[x, 0.0]]))[0]) for x in (14.9, 5.0))
    assert near > 0.5 > far


def test_the_program_s_own_failures_are_no_setting_s_fault() -> None:
    runs = [(0, {}, k % 4 == 0) for k in range(8)]
    failures = _told(*runs, (1, {"a": 1}, True), (1, {"a": 1}, False), (1, {"a": 1}, False))
    assert failures.rate == 3 / 11
    assert not failures.is_blamed(1, Point({"a": 1}))


def test_more_failures_than_the_program_s_own_rate_explains() -> None:
    assert fails_more(1, 1, 0, 20)
    assert fails_more(2, 4, 0, 20)
    assert not fails_more(1, 8, 0, 8)
    assert not fails_more(2, 10, 4, 20)
    assert fails_more(9, 10, 4, 20)
    assert not fails_more(0, 10, 0, 10)
    # twice, and the program never in as many runs
    assert fails_more(2, 9, 0, 9)
    assert not fails_more(2, 9, 0, 8) and not fails_more(2, 7, 0, 7)
    assert not fails_more(2, 12, 1, 12)


def test_a_value_with_which_runs_fail_now_and_then_is_left_alone_and_what_ran_beside_it_is_not() -> None:
    good = [(0, {}, False)] * 12 + [(3, {"b": 2}, False)] * 3
    # a = 1 fails every other time; b = 2 is in some of those runs
    mixed = [(1, {"a": 1}, k % 2 == 0) for k in range(4)] + [(2, {"a": 1, "b": 2}, k % 2 == 0) for k in range(4)]
    failures = _told(*good, *mixed)
    assert failures.is_guilty(Point({"a": 1, "b": 7})) and failures.is_blamed(9, Point({"a": 1, "b": 7}))
    assert not failures.is_guilty(Point({"a": 0, "b": 2}))


def test_two_values_that_only_fail_together_are_not_blamed_each() -> None:
    good = [(0, {}, False)] * 12 + [(1, {"a": 1}, False)] * 3 + [(3, {"b": 2}, False)] * 3
    failures = _told(*good, *[(2, {"a": 1, "b": 2}, k % 2 == 0) for k in range(6)])
    assert failures.is_guilty(Point({"a": 1, "b": 2}))
    assert not failures.is_guilty(Point({"a": 1, "b": 0})) and not failures.is_guilty(Point({"a": 0, "b": 2}))


def test_one_failure_among_good_runs_is_nobody_s_fault() -> None:
    failures = _told(*[(0, {}, False)] * 4, *[(1, {"a": 1}, k == 0) for k in range(6)])
    assert not failures.is_guilty(Point({"a": 1, "b": 0}))


def test_what_fails_now_and_then_is_counted_with_two_runs_of_the_program_itself() -> None:
    failures = _told(*[(0, {}, False)] * 4, (1, {"a": 1}, True), (1, {"a": 1}, False))
    assert _chance(failures, 1, a=1) == (1 + 2 * failures.rate) / 4
    # one failure more is not yet the rule, and no failure leaves what the program itself has
    failures = _told(*[(0, {}, False)] * 4, (1, {"a": 1}, False), *[(2, {"b": 1}, True)] * 3, (2, {"b": 1}, False))
    assert _chance(failures, 1, a=1) == failures.rate
    assert _chance(failures, 2, b=1) == (3 + 2 * failures.rate) / 6


def test_a_value_is_suspect_by_the_distance_of_what_failed() -> None:
    failures = _told((0, {}, False), (1, {"a": 1}, True))
    # e to the minus half of the square of the distance, beside what counts as much as one good region
    chances = [float(failures.chances([9], [DEFAULT], np.array([[5.0 + x, 0.0]]))[0]) for x in (0.0, 1.0, 2.0)]
    assert chances[0] > chances[1] > chances[2]
    ratio = [c / (1 - c) for c in chances]
    assert ratio[1] / ratio[0] == pytest.approx(math.exp(-0.5), rel=0.05)


def test_what_explains_its_failures_leaves_the_rest_to_others() -> None:
    often = [(1, {"a": 1}, k % 2 == 0) for k in range(12)]
    beside = [(2, {"a": 1, "b": 1}, k % 2 == 0) for k in range(12)]
    fine = [(3, {"b": 1}, False) for _ in range(12)] + [(0, {}, False) for _ in range(12)]
    failures = _told(*often, *beside, *fine)
    assert failures.is_guilty(Point({"a": 1, "b": 0})) and failures.is_guilty(Point({"a": 1, "b": 1}))
    assert not failures.is_guilty(Point({"a": 0, "b": 1}))
    # what always fails is judged by its own count, and blames no value
    always = _told(*[(1, {"a": 1}, True) for _ in range(6)], *[(0, {}, False) for _ in range(30)])
    assert not always.is_guilty(Point({"a": 1, "b": 0}))


def test_a_failure_is_the_less_the_setting_s_the_more_often_the_program_fails_by_itself() -> None:
    seldom, often = (_told(*((0, {}, k < failed) for k in range(20)), (1, {"a": 3}, True)) for failed in (1, 10))
    assert seldom.rate == 1 / 20 and often.rate == 1 / 2
    near = [float(f.chances([9], [DEFAULT], np.array([[15.0, 0.0]]))[0]) for f in (seldom, often)]
    assert near[1] < near[0] <= 1


def test_how_likely_a_run_fails_is_worked_out_by_hand() -> None:
    own = [(0, {}, True), *[(0, {}, False)] * 3]
    # two of six runs of what also ran well
    failures = _told(*own, (1, {"a": 1}, True), (1, {"a": 1}, False))
    assert failures.rate == 1 / 3 and _chance(failures, 1, a=1) == (1 + 2 / 3) / 4
    # one that failed where the program itself never does is broken for sure
    assert _chance(_told((0, {}, False), (1, {"a": 1}, True)), 1, a=1) == 1.0
    # one of ten settings is broken: what fails as every fourth run does anyway is so with 0.1 / (0.1 + 0.9 / 4)
    failures = _told(*own, (1, {"a": 1}, True))
    weight = 0.1 / (0.1 + 0.9 / 4)
    # and its value is to blame by as much, beside half a good run
    far = float(failures.chances([9], [DEFAULT.having(a=1)], np.array([[90.0, 0.0]]))[0])
    assert far == pytest.approx(weight / (weight + 0.5))
