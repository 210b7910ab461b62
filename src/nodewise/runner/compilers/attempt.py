# SPDX-License-Identifier: BSD-3-Clause
"""Attempt: what one compiler did with one instance of one loop."""

from __future__ import annotations

from enum import StrEnum

from nodewise.base.frozen import dataclass


class Outcome(StrEnum):
    """What became of a loop, or of straight-line code."""

    VECTORIZED = "vectorized"
    MISSED = "missed"
    LIBRARY = "library call"
    UNROLLED = "unrolled"
    REMOVED = "removed"
    STRAIGHT = "straight-line code"


@dataclass(frozen=True)
class Place:
    """A place in a source file; `column` counts from 1, 0 where it is not known."""

    file: str
    line: int
    column: int = 0


#: The place of a loop of which the record gives none.
NOWHERE = Place("", 0)


@dataclass(frozen=True)
class Attempt:
    """One instance of a loop, as it stands in `function` after inlining.

    `chain` are the functions that it was inlined through, its own first, and `sites` the places of these calls, from the
    innermost on. `place` may be one of a function that was inlined into the loop, not of the loop. `nest` is whether there was
    a loop within it then; `early` is of an unrolled loop, whether it was gone before others were looked at. `width_bytes` is of one vector, `elements` how many
    iterations one step takes, `interleave` how many such steps are taken at once; None where the compiler does not say.
    `why` are the compiler's own words, not yet sorted by how much they explain; `at` is the statement that they are about.
    """

    compiler: str
    place: Place
    function: str
    outcome: Outcome
    chain: tuple[str, ...] = ()
    sites: tuple[Place, ...] = ()
    nest: bool = False
    early: bool = False
    width_bytes: int | None = None
    elements: int | None = None
    interleave: int | None = None
    scalable: bool = False
    epilogues: tuple[int, ...] = ()
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    at: Place | None = None
