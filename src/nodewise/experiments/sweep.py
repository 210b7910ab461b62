# SPDX-License-Identifier: BSD-3-Clause
"""What a sweep takes, a tune that leaves no setting out, and what a tune left out after all."""

from __future__ import annotations

from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.units import format_seconds, whole_duration
from nodewise.experiments.first_run import budget_for_s
from nodewise.search.grid import GridSearch, grid
from nodewise.search.guided import GuidedSearch
from nodewise.search.space import Space
from nodewise.statistics.sequential import FEWEST_BLOCKS


def sweep_settings(space: Space, run_s: float, affordable: int | None) -> int:
    """How many settings a sweep has, of which a run takes `run_s` seconds.

    Raises InputError where there are too many, or so few runs are `affordable` (None: not asked) that some would have none.
    """
    settings = len(grid(space))
    enough = settings + 2 * FEWEST_BLOCKS + 1
    if affordable is not None and affordable < enough - 1:
        budget = whole_duration(budget_for_s(run_s, enough))
        raise InputError(
            f"the budget is too small: a sweep of {settings} settings and its verdict take {enough} runs of {format_seconds(run_s)}",
            f"give --budget {budget} and --max-runs {enough} or more, or fewer axes or values",
        )
    return settings


def left_untried(search: GuidedSearch, space: Space) -> dict[str, Any]:
    """What the question keeps of that: by axis the positions of the values that no run had, and of a sweep how many settings."""
    untried = search.untried
    at = [[i for i, v in enumerate(a.values) if (a.name, v) in untried] for a in space.axes]
    return {"untried": at, **({"unswept": len(search.without_run)} if isinstance(search, GridSearch) else {})}


def is_tried_out(search: GuidedSearch, space: Space) -> bool:
    """Whether each value had a run by itself, and each natural point of the crossed axes one: where none of them ran to an end,
    nothing is left that might.
    """
    further = [a for a in space.open if not a.crossed]
    points = [space.default.having(**{a.name: v}) for a in further for v in a.worth if v != a.default]
    return all(search.ran(p) or search.failed(p) for p in (*points, *space.crossed()) if space.allowed(p))
