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
