# SPDX-License-Identifier: BSD-3-Clause
"""What a tune's first run shows before anything is searched: that the program runs, and that the budget can decide something."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.units import format_seconds, whole_duration
from nodewise.runner.sample import Sample
from nodewise.search.space import Space
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.tuning.outline import named_values

#: The fewest runs that can end in a verdict: a first one, two blocks of a small search, and the confirmation.
FEWEST_RUNS = 1 + 2 * 2 + 2 * FEWEST_BLOCKS


def check_first_run(sample: Sample, stopped_after_s: float | None, has_input: bool) -> None:
    """Whether the program runs as it is. `stopped_after_s` is the share of the budget after which it was stopped, where it was.

    Raises ProgramError where it does not run, InputError where the budget stopped it.
    """
    if sample.cut_off and stopped_after_s is not None:
        enough = format_seconds(stopped_after_s * FEWEST_RUNS)
        raise InputError(
            f"the budget is too small: the first run was stopped after {format_seconds(stopped_after_s)}, "
            f"and a verdict needs {FEWEST_RUNS} runs",
            f"give more than --budget {enough.replace(' ', '')}, or a smaller input",
        )
    if not sample.ok:
        shown = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
        raise ProgramError(
            f"the program does not run as it is: {sample.error}{shown}",
            "it must succeed before it can be tuned"
            + ("" if has_input else "; it has no terminal, and input only by --input FILE"),
        )
    if sample.seconds <= 0:
        raise ProgramError(f"the program reports {sample.seconds} seconds", "only times above zero can be compared")


def check_axes(space: Space, conditions: Sequence[str]) -> None:
    """Whether there is something to search, `conditions` being what must hold between axes. Raises InputError where there is not."""
    if not space.axes:
        raise InputError("there is no axis to search", "name some with --axes, -P or --env-axis")
    if conditions and not space.has_choice:
        named = "; ".join(f"{a.name}: {named_values(a)}" for a in space.open)
        raise InputError(
            f"no setting but the program as it is meets {' and '.join(map(repr, conditions))}",
            f"loosen --constraint, or give values that meet it; the axes are {named}",
        )


def too_few_runs(cost_s: float) -> InputError:
    """The error of a budget that is too small for a verdict, where one run takes so many seconds."""
    needed = cost_s * FEWEST_RUNS * 1.2
    return InputError(
        f"the budget is too small: one run takes {format_seconds(cost_s)}, a verdict needs {FEWEST_RUNS} runs",
        f"give --budget {whole_duration(needed)} or more, or a smaller input",
    )
