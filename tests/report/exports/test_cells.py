# SPDX-License-Identifier: BSD-3-Clause
"""No cell is a formula, and numbers stay numbers."""

import csv
import io

import pytest

from nodewise.report.exports.cells import cell, csv_of


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "-", "--fast", "-inf", "- 1"]
)
def test_what_a_spreadsheet_would_work_out_is_a_text(text: str) -> None:
    assert cell(text) == "'" + text


@pytest.mark.parametrize("value", [-1.5, 3, None, "-1.5", "+3", "-1e-3", "a=b", "", "x-y"])
def test_numbers_and_other_texts_stay(value: object) -> None:
    assert cell(value) == value


def test_heads_and_rows_of_both_kinds() -> None:
    text = csv_of(["=a", "b"], [{"=a": "@x", "b": -1}, ["-y", 2.5], {"b": 1}])
    assert list(csv.reader(io.StringIO(text))) == [["'=a", "b"], ["'@x", "-1"], ["'-y", "2.5"], ["", "1"]]
