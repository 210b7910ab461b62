# SPDX-License-Identifier: BSD-3-Clause
"""Search: which settings to sample next, and when to stop. A search only ever sees points and seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from nodewise.base.frozen import dataclass
from nodewise.search.space import Point


@dataclass(frozen=True)
class AtLeast:
    """What is known of a run that was cut off: it would have taken at least so many seconds."""

    seconds: float


#: What came of a run: its seconds, a bound below them, or None where it failed.
Outcome = float | AtLeast | None


class Search(Protocol):
    """Hands out blocks of points and takes in their outcomes, until it has no further block (ask and tell).

    Every point of a block is run once, in random order. What a search decides follows from these outcomes and its seed
    alone.
    """

    def ask(self, affordable: int) -> list[Point]:
        """The next block; `affordable` is how many runs the budget still has for the search. Empty: it has ended."""
        ...

    def tell(self, outcomes: Mapping[Point, Outcome]) -> None:
        """What came of the points of one block, those asked for or others of the space."""
        ...

    @property
    def ranking(self) -> list[Point]:
        """Points that ran, the best first; empty before the first block, without those that are to blame for failures."""
        ...
