# SPDX-License-Identifier: BSD-3-Clause
"""The search that leaves nothing out: every setting of a space, equally often, so that the whole surface can be seen."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from nodewise.base.errors import InputError
from nodewise.search.guided import GuidedSearch
from nodewise.search.prior import Prior
from nodewise.search.space import Point, Space

#: Each setting runs at most so often: as many runs as an interval takes.
ROUNDS = 6
#: More combinations than this are gone through by no sweep.
MOST_COMBINATIONS = 20_000


def grid(space: Space) -> list[Point]:
    """Every setting of a space that may run, each under one of its names. Raises InputError where there are too many to go through."""
    if space.size > MOST_COMBINATIONS:
        raise InputError(
            f"a sweep of {space.size} combinations has no end",
            "name fewer axes, or values: -P n=1,2,4 --sweep placement",
        )
    names = [a.name for a in space.open]
    return space.distinct(
        [
            space.default,
            *(Point(dict(zip(names, v, strict=True))) for v in itertools.product(*(a.values for a in space.open))),
        ]
    )


class GridSearch(GuidedSearch):
    """Asks for every setting in each block, those with the fewest runs first; what failed is not run again.

    What ran is judged as by GuidedSearch.
    """

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        start: Sequence[Point] = (),
        *,
        apart: bool = False,
        earlier: Sequence[Prior] = (),
    ):
        """As GuidedSearch; `start` is in the grid in any case, and nothing `earlier` is looked at. Raises InputError where the space is too large."""
        super().__init__(space, seed, (), apart=apart)
        self._every = self._tried.distinct([self.reference, *grid(space)])

    def ask(self, affordable: int) -> list[Point]:
        """The settings with the fewest runs, as many as there are runs for; none once each has had its share."""
        due = self._due_runs()
        if not due or affordable < 1:
            return []
        if len(due) > affordable:
            self._random.shuffle(due)
            due.sort(key=self._had)
        return due[:affordable]

    @property
    def unseen(self) -> list[tuple[str, Any]]:
        """Values that still have runs to come: as long as there are some, only the fewest runs are kept from the sweep."""
        return [("", self._had(point)) for point in self._due_runs()]

    @property
    def without_run(self) -> list[Point]:
        """The settings that were not started, one name of each."""
        return [p for p in self._every if not self._had(p)]

    def _had(self, point: Point) -> int:
        return self._failures.runs(self._tried.key(point))

    def _due_runs(self) -> list[Point]:
        return [p for p in self._every if self._had(p) < ROUNDS and (not self._had(p) or not self.failed(p))]
