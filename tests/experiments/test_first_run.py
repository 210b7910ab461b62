# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a budget that does not hold the fewest runs, by the time of one and of starting up."""

import pytest

from nodewise.base.errors import ProgramError
from nodewise.experiments.first_run import check_first_run, too_small
from nodewise.runner.sample import Sample


@pytest.mark.parametrize(
    ("run_s", "spent_s", "gone"),
    [(2.0, 0.5, ""), (2.0, 7.0, ""), (2.0, 20.0, ", and 20 s were gone before the first of them")],
)
def test_starting_up_is_named_where_it_took_much(run_s: float, spent_s: float, gone: str) -> None:
    problem = too_small(run_s, spent_s)
    assert problem.what == f"the budget is too small: one run takes 2 s, a verdict needs 15 runs{gone}"
    assert problem.hint and problem.hint.startswith("give --budget ")


@pytest.mark.parametrize(
    ("error", "said"), [("exit code 20", True), ("killed by SIGSEGV", False), ("exit code 127", False)]
)
def test_a_program_that_ends_well_with_another_exit_code_hears_how_to_say_so(error: str, said: bool) -> None:
    with pytest.raises(ProgramError, match=error) as told:
        check_first_run(Sample(1.0, 1.0, 0.0, error=error), None, True)
    assert ("name 20 in --accept-codes" in str(told.value.hint)) == said
    # what is not there does not end well
    assert ("--accept-codes" in str(told.value.hint)) == said
