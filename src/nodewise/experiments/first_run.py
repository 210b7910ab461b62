# SPDX-License-Identifier: BSD-3-Clause
"""What a tune's first run shows before anything is searched: that the program runs, and that the budget can decide something."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.units import format_seconds, whole_duration
from nodewise.runner.sample import Sample
from nodewise.search.space import Space
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.tuning.outline import named_values

#: The fewest runs that can end in a verdict: a first one, a block of the search with one setting, and the confirmation.
FEWEST_RUNS = 1 + 2 + 2 * FEWEST_BLOCKS
#: The budget proposed where one is too small, as a multiple of the time of the runs alone.
_WITH_START = 1.2
#: What was gone before the first run is named where it makes the budget larger by this factor.
_MUCH = 1.2
#: What shells and env(1) exit with where a command cannot be started, or there is none of that name.
_NOT_FOUND = (126, 127)
#: How long a first run may take whatever the budget is (seconds): from how long it takes follows the budget that would do.
LEAST_FIRST_S = 1.0
#: Starting up counts for no more than this share of the budget: one that took long leaves the rest to the program.
MOST_STARTING = 0.5


def budget_for_s(run_s: float, runs: int = FEWEST_RUNS) -> float:
    """The budget (seconds) that is proposed for so many runs of `run_s` seconds each."""
    return runs * run_s * _WITH_START


def check_first_run(sample: Sample, stopped_after_s: float | None, has_input: bool) -> None:
    """Whether the program runs as it is. `stopped_after_s` is the share of the budget after which it was stopped, where it was;
    `has_input`: its standard input was given.

    Raises ProgramError where it does not run, InputError where the budget stopped it.
    """
    if sample.cut_off and stopped_after_s is not None:
        least = budget_for_s(stopped_after_s)
        raise InputError(
            f"the budget is too small: the first run was stopped after {format_seconds(stopped_after_s)}, "
            f"and a verdict needs {FEWEST_RUNS} runs",
            f"give more than --budget {whole_duration(least)}, such as {whole_duration(2 * least)}, or a smaller input",
        )
    if not sample.ok:
        raise failed(
            "the program does not run as it is",
            sample,
            or_accepting("it must succeed before it can be tuned", str(sample.error))
            + ("" if has_input else "; it has no terminal, and input only by --input FILE"),
        )
    if sample.seconds <= 0:
        raise ProgramError(f"the program reports {sample.seconds} seconds", "only times above zero can be compared")


def failed(text: str, sample: Sample, hint: str | None) -> ProgramError:
    """What is raised of a command that failed, with what it printed."""
    printed = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
    return ProgramError(f"{text}: {sample.error}{printed}", hint)


def or_accepting(hint: str, error: str) -> str:
    """A hint, and what helps a program that ends well with another exit code."""
    return f"{hint}; {accept}" if (accept := accepting(error)) else hint


def accepting(error: str) -> str | None:
    """What helps a program that ends well with another exit code than 0, such as solvers, grep and diff; None after another error."""
    code = re.fullmatch(r"exit code (\d+)", error)
    return (
        f"where that is a success, name {code[1]} in --accept-codes"
        if code and int(code[1]) not in _NOT_FOUND
        else None
    )


def check_runs(limit: int | None) -> None:
    """Raises InputError where a budget's number of runs cannot end in a verdict."""
    if limit is not None and limit < FEWEST_RUNS:
        raise InputError(f"{limit} runs are too few for a verdict", f"give --max-runs {FEWEST_RUNS} or more")


def too_small(run_s: float, spent_s: float) -> InputError:
    """The budget has not the fewest runs of `run_s` seconds, where `spent_s` were gone before the first one."""
    runs_s = budget_for_s(run_s)
    enough = min(spent_s + runs_s, runs_s / (1 - MOST_STARTING))
    gone = f", and {format_seconds(spent_s)} were gone before the first of them" if enough > _MUCH * runs_s else ""
    return InputError(
        f"the budget is too small: one run takes {format_seconds(run_s)}, a verdict needs {FEWEST_RUNS} runs{gone}",
        f"give --budget {whole_duration(enough)} or more, or a smaller input",
    )


def check_space(space: Space, conditions: Sequence[str]) -> None:
    """Whether there is anything to search, under the conditions that the user has given. Raises InputError where not."""
    if not space.axes:
        raise InputError("there is no axis to search", "name some with --axes, -P or --env-axis")
    if conditions and not space.has_choice:
        axes = "; ".join(f"{a.name}: {named_values(a)}" for a in space.open)
        raise InputError(
            f"no setting but the program as it is meets {' and '.join(map(repr, conditions))}",
            f"loosen --constraint, or give values that meet it; the axes are {axes}",
        )
