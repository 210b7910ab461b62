# SPDX-License-Identifier: BSD-3-Clause
"""The progress line of an experiment."""

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


@pytest.mark.parametrize(("runs", "disturbed", "said"), [(6, 4, True), (6, 3, False), (5, 5, False)])
def test_a_machine_that_is_busy_is_named_while_there_is_time_to_wait_for_quiet(
    runs: int, disturbed: int, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressLine(Budget(None, 40)) as line:
        line.show(Progress("confirm", runs, 1.0, disturbed=disturbed, by="other load"))
    assert (f"{disturbed} of {runs} runs met other load" in capsys.readouterr().err) == said
