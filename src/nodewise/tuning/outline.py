# SPDX-License-Identifier: BSD-3-Clause
"""Outline: what a tune is about to do, once its program ran for the first time: to be shown before hours are spent."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.base.lists import apart
from nodewise.records.earlier import Earlier
from nodewise.search.space import Axis

#: The most values of an axis that are named.
_MOST_NAMED = 8


@dataclass(frozen=True)
class Outline:
    """The axes with their values, what was left out and why, how threads are placed, and what it may take.

    `run_s` is what one run of the program as it is takes of the budget, in seconds; at most about `runs` runs and `seconds`
    seconds are made of it (None: no bound). `settings` is the size of the space; with `sweep` all of them are run. `earlier` are the
    tunes whose results lead this one's search.
    """

    axes: tuple[Axis, ...]
    left_out: Mapping[str, str]
    placed: str
    run_s: float
    runs: int | None
    seconds: float | None
    settings: int
    sweep: bool = False
    earlier: tuple[Earlier, ...] = ()


def named_values(axis: Axis) -> str:
    """The values of an axis in words, the program's own first; of many only the ends."""
    if axis.ordered and len(axis.values) > _MOST_NAMED:
        return f"{axis.values[0]} to {axis.values[-1]} (now {axis.default})"
    others = [one_line(str(v)) or "''" for v in axis.values if v != axis.default]
    shown = (
        others if len(others) < _MOST_NAMED else [*others[: _MOST_NAMED - 2], f"{len(others) - _MOST_NAMED + 2} more"]
    )
    now = one_line(str(axis.default)) or "''"
    return apart([f"{now} (now)", *shown])
