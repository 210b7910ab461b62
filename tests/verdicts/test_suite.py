# SPDX-License-Identifier: BSD-3-Clause
"""What all cases of a suite come to."""

from typing import Any

import pytest

from nodewise.verdicts.suite import SuiteRow, SuiteVerdict


def _row(name: str, **more: Any) -> SuiteRow:
    return SuiteRow(name, "true", "seconds", 1.0, 0.9, 1.1, 10, 0, **{"error": None, "experiment": "x", **more})


def _of(*rows: SuiteRow) -> SuiteVerdict:
    return SuiteVerdict("suite", "nodewise.toml", rows, ())


@pytest.mark.parametrize("field", ["slower", "undecided"])
def test_one_case_stands_for_all(field: str) -> None:
    good, bad = _row("a"), _row("b", **{field: True})
    assert getattr(_of(good, bad), field) and not getattr(_of(good, good), field)


def test_one_that_could_not_be_measured_has_failed() -> None:
    assert _of(_row("a"), _row("b", error="exit code 3")).failed and not _of(_row("a")).failed
