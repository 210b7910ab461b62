# SPDX-License-Identifier: BSD-3-Clause
"""The order of settings that a model has judged."""

import numpy as np

from nodewise.search.ranking import ranked

EACH = np.diag([1e-6, 1e-6, 1e-6])
NEVER = np.zeros(3)
ALL = np.array([True, True, True])


def test_the_lowest_score_leads() -> None:
    assert ranked(np.array([0.3, 0.1, 0.2]), EACH, NEVER, ALL, [0, 5, 0]) == [1, 2, 0]


def test_of_those_that_cannot_be_distinguished_the_simplest_leads() -> None:
    score = np.array([0.101, 0.1, 0.2])
    assert ranked(score, EACH, NEVER, ALL, [0, 5, 0]) == [0, 1, 2]
    # known as well as this, a thousandth is a difference
    assert ranked(score, EACH * 1e-6, NEVER, ALL, [0, 5, 0]) == [1, 0, 2]
    # and what is hardly known ties by no more than half a percent
    assert ranked(np.array([0.11, 0.1, 0.2]), EACH * 1e6, NEVER, ALL, [0, 5, 0]) == [1, 0, 2]


def test_what_never_ended_is_no_answer() -> None:
    assert ranked(np.array([0.3, 0.1, 0.2]), EACH, NEVER, np.array([True, False, True]), [0, 0, 0]) == [2, 0]


def test_what_fails_every_other_time_takes_twice_as_long() -> None:
    score = np.log([1.0, 1.9, 2.2])
    assert ranked(score, EACH, np.array([0.5, 0, 0]), ALL, [0, 0, 0]) == [1, 0, 2]
    # one that always fails is last, and no more
    assert ranked(score, EACH, np.array([1.0, 0, 0]), ALL, [0, 0, 0]) == [1, 2, 0]


def test_how_sure_a_difference_is_depends_on_what_both_have_in_common() -> None:
    mean, variances = np.array([0.0, 0.004]), np.array([1e-2, 1e-2])
    # each by itself is hardly known, but both move together: their difference is known well
    alike = np.array([[1e-2, 1e-2 - 1e-8], [1e-2 - 1e-8, 1e-2]])
    assert ranked(mean, alike, np.zeros(2), np.array([True, True]), [5, 0]) == [0, 1]
    assert ranked(mean, np.diag(variances), np.zeros(2), np.array([True, True]), [5, 0]) == [1, 0]
    assert ranked(mean, np.diag(variances), np.zeros(2), np.array([True, True]), [0, 5]) == [0, 1]


def test_settings_that_are_as_good_stay_in_their_order() -> None:
    count = 40
    order = ranked(
        np.array([0.0, *[1.0] * count]),
        np.eye(count + 1) * 1e-6,
        np.zeros(count + 1),
        np.full(count + 1, True),
        [0] * (count + 1),
    )
    assert order == list(range(count + 1))
