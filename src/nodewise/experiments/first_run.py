# SPDX-License-Identifier: BSD-3-Clause
"""What a tune says where its first run shows that nothing can come of it."""

from __future__ import annotations

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.units import format_seconds, whole_duration
from nodewise.runner.sample import Sample
from nodewise.statistics.sequential import FEWEST_BLOCKS

#: The fewest runs that can end in a verdict: a first one, a block of the search with one setting, and the confirmation.
FEWEST_RUNS = 1 + 2 + 2 * FEWEST_BLOCKS
#: The budget proposed where one is too small, as a multiple of the time of the runs alone.
WITH_START = 1.2
#: Starting up counts for no more than this share of the budget: one that took long leaves the rest to the program.
MOST_STARTING = 0.5


def stopped_early(after_s: float) -> InputError:
    """The first run was stopped, since a budget for so long a run would be a larger one."""
    enough = format_seconds(after_s * FEWEST_RUNS)
    return InputError(
        f"the budget is too small: the first run was stopped after {format_seconds(after_s)}, "
        f"and a verdict needs {FEWEST_RUNS} runs",
        f"give more than --budget {enough.replace(' ', '')}, or a smaller input",
    )


def too_small(run_s: float, spent_s: float) -> InputError:
    """The budget has not the fewest runs of `run_s` seconds, where `spent_s` were gone before the first one."""
    runs_s = run_s * FEWEST_RUNS * WITH_START
    enough = min(spent_s + runs_s, runs_s / (1 - MOST_STARTING))
    return InputError(
        f"the budget is too small: one run takes {format_seconds(run_s)}, a verdict needs {FEWEST_RUNS} runs",
        f"give --budget {whole_duration(enough)} or more, or a smaller input",
    )


def does_not_run(sample: Sample, has_input: bool) -> ProgramError:
    """The program failed as it is; `has_input`: its standard input was given."""
    shown = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
    return ProgramError(
        f"the program does not run as it is: {sample.error}{shown}",
        "it must succeed before it can be tuned"
        + ("" if has_input else "; it has no terminal, and input only by --input FILE"),
    )
