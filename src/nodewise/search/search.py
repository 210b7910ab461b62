# SPDX-License-Identifier: BSD-3-Clause
"""Search: which settings to sample next, and when to stop. A search only ever sees points and seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from nodewise.search.space import Point


class Search(Protocol):
    """Asked for a block of points, then told what each took, until it has no further block.

    Every point of a block is run once, in random order. A run that failed, or was cut off for being far too slow, is
    told as None. What a search decides follows from what it was told and its seed alone.
    """

    def ask(self, affordable: int) -> list[Point]:
        """The next block; `affordable` is how many runs the budget still has for the search. Empty: it has ended."""
        ...

    def tell(self, times: Mapping[Point, float | None]) -> None:
        """Seconds of each point of the block asked for last."""
        ...

    @property
    def ranking(self) -> list[Point]:
        """Candidates, the best first; empty before the first block, without points that ever failed."""
        ...
