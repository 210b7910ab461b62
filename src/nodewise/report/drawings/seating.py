# SPDX-License-Identifier: BSD-3-Clause
"""Seating: how a placement's threads are shown on a machine: labels, colours, and who floats over what."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import cached_property

from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.placement import Placement

#: Blue over green to orange, in steps that are distinguished also without colour vision; thread numbers run through it.
RAMP = ((38, 70, 130), (42, 120, 160), (42, 157, 143), (138, 177, 96), (233, 196, 90), (240, 150, 80))
#: Okabe and Ito's colours, without black and with a darker yellow: for ranks, distinguished by every kind of sight.
RANKS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5195")
INK = "#1f2933"
#: Different bands over one core, beyond which they are named in words.
_MOST_BANDS = 4


def ink_on(colour: str) -> str:
    """The colour of text that is read on a colour given as #rrggbb."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 140 else INK


def ramp_colour(number: int, count: int) -> tuple[str, str]:
    """The colour of one of that many, and that of text on it."""
    position = number / max(count - 1, 1) * (len(RAMP) - 1)
    step = min(int(position), len(RAMP) - 2)
    share = position - step
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(RAMP[step], RAMP[step + 1], strict=True))
    colour = f"#{red:02x}{green:02x}{blue:02x}"
    return colour, ink_on(colour)


def number_ranges(numbers: list[int]) -> str:
    """`0–7, 9`: numbers with ranges."""
    return format_processors(numbers).replace("-", "–").replace(",", ", ")


@dataclass
class Seating:
    """Where each thread is to be drawn: in a processor's cell, as a band over cells of a core, or in words.

    `cells` are threads bound to one processor, `bands` those that float within one core, by the processors they have
    there; `loose` those that may move further, by their place, and those of a core for which there are too many bands.
    """

    machine: Machine
    placement: Placement
    cells: dict[int, list[int]] = field(default_factory=dict)
    bands: dict[tuple[int, ...], list[int]] = field(default_factory=dict)
    loose: dict[tuple[int, ...], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        core_of = {p: i for i, core in enumerate(self.machine.cores) for p in core.pus}
        for thread, place in enumerate(self.placement.places):
            if len(place) == 1:
                self.cells.setdefault(place[0], []).append(thread)
            elif len({core_of.get(p, -1) for p in place}) == 1:
                self.bands.setdefault(place, []).append(thread)
            else:
                self.loose.setdefault(place, []).append(thread)
        by_core = Counter(core_of.get(place[0], -1) for place in self.bands)
        for place in [p for p in self.bands if by_core[core_of.get(p[0], -1)] > _MOST_BANDS]:
            self.loose[place] = self.bands.pop(place)

    @property
    def count(self) -> int:
        """How many threads there are."""
        return self.placement.threads

    @property
    def ranked(self) -> bool:
        """Whether there are several ranks to distinguish."""
        return len(self.placement.by_rank) > 1

    @cached_property
    def _seats(self) -> list[tuple[int, int]]:
        return [(rank, i) for rank, places in enumerate(self.placement.by_rank) for i in range(len(places))]

    def rank(self, thread: int) -> int:
        """The rank of a thread, among those of the node."""
        return self._seats[thread][0]

    def label(self, thread: int) -> str:
        """A thread's number, within its rank; with the rank where there are more of those than colours."""
        rank, number = self._seats[thread]
        return f"{rank}:{number}" if len(self.placement.by_rank) > len(RANKS) else str(number)

    def labels(self, threads: list[int]) -> tuple[str, str, str]:
        """What a place's threads may be called, the fullest first: all of them, the first and how many more, how many."""
        if len(threads) == 1:
            return (self.label(threads[0]),) * 3
        first, more = self.label(threads[0]), len(threads) - 1
        everybody = ",".join(map(self.label, threads)) if more < 8 else f"{first}+{more}"
        return everybody, f"{first}+{more}", f"×{more + 1}"

    def words(self, threads: list[int]) -> str:
        """`thread 3`, `threads 0–7 of rank 2`."""
        parts = []
        for rank in dict.fromkeys(map(self.rank, threads)):
            own = [self._seats[t][1] for t in threads if self.rank(t) == rank]
            named = f"thread{'s' * (len(own) > 1)} {number_ranges(own)}"
            parts.append(f"{named} of rank {rank}" if self.ranked else named)
        return "; ".join(parts)

    def colour(self, thread: int) -> tuple[str, str]:
        """A thread's colour, and that of text on it: its rank's, or by its number."""
        if not self.ranked:
            return ramp_colour(thread, self.count)
        colour = RANKS[self.rank(thread) % len(RANKS)]
        return colour, ink_on(colour)

    @cached_property
    def crowded(self) -> set[int]:
        """Processors with several threads bound to them while an allowed core has none at all."""
        used = {p for place in self.placement.places for p in place}
        if all(set(core.pus) & used for core in self.machine.allowed_cores):
            return set()
        return {p for p, threads in self.cells.items() if len(threads) > 1}

    @cached_property
    def tints(self) -> dict[int, str]:
        """For each processor the colour of the one rank that may use it; those of several or of none are left out."""
        owners: dict[int, set[int]] = {}
        for rank, zone in enumerate(self.placement.zones if self.ranked else ()):
            for p in zone:
                owners.setdefault(p, set()).add(rank)
        return {p: RANKS[min(ranks) % len(RANKS)] for p, ranks in owners.items() if len(ranks) == 1}

    def loose_lines(self) -> list[str]:
        """A line for each set of processors that threads move on: `threads 0–7 may move on processors 0-15`."""
        return [
            f"{self.words(threads)} may move on processors {format_processors(place)}"
            for place, threads in self.loose.items()
        ]
