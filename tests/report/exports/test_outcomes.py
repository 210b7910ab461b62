# SPDX-License-Identifier: BSD-3-Clause
"""What a suite's rows are where a file of tests, or of annotations, is made of them."""

from dataclasses import replace

import pytest

from nodewise.report.exports.outcomes import State, outcomes_of_suite
from nodewise.statistics.verdict import Word
from nodewise.verdicts.baseline import BaselinePair
from nodewise.verdicts.suite import SuiteRow, SuiteVerdict

ROW = SuiteRow("nap", "sleep 1", "seconds", 1.0, 0.9, 1.1, 8, 0, None, "/x")
SLOWER = BaselinePair("nap", "nap", "sleep 1", True, Word.SLOWER, 0.8, 0.7, 0.9, "slower")


@pytest.mark.parametrize(
    ("row", "threshold", "state"),
    [
        (ROW, None, State.PASSED),
        (replace(ROW, undecided=True), 0.05, State.OPEN),
        (replace(ROW, error="exit code 3", undecided=True), 0.05, State.FAILED),
        (replace(ROW, slower=True), 0.05, State.FAILED),
        # by less than is allowed
        (replace(ROW, then=SLOWER), 0.5, State.PASSED),
        (replace(ROW, then=SLOWER), None, State.FAILED),
    ],
)
def test_what_a_row_is(row: SuiteRow, threshold: float | None, state: State) -> None:
    (one,) = outcomes_of_suite(SuiteVerdict("suite", "nodewise.toml", (row,), (), threshold))
    assert (one.name, one.state) == ("nap", state)
