# SPDX-License-Identifier: BSD-3-Clause
"""The progress line of a tune."""

import pytest

from nodewise.cli.progress import ProgressLine
from nodewise.experiments.progress import Progress
from nodewise.records.budget import Budget


@pytest.mark.parametrize(("speedup", "words"), [(0.69, "none faster so far"), (1.2, "leader t=2 (1.20× so far)")])
def test_what_is_slower_than_the_program_as_it_is_does_not_lead(
    speedup: float, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressLine(Budget(None, 40)) as line:
        line.show(Progress("search", 4, 1.0, racing=2, leader="t=2", speedup=speedup))
    assert capsys.readouterr().err.strip().endswith(words)
