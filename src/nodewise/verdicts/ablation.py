# SPDX-License-Identifier: BSD-3-Clause
"""What each axis of a confirmed setting brings: the setting against itself with that axis alone put back, in the same blocks.

Nothing is said of an axis without an interval, and the intervals of all axes hold together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_percent
from nodewise.records.experiment import Experiment
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.resolution import MOST_MORE, pairs_to_narrow
from nodewise.statistics.sequential import ALPHA, FEWEST_BLOCKS
from nodewise.verdicts.pair import pair_up

#: The phases of the runs that show what carries a gain: before the comparison that decides, and after it.
REDUCE, AFTER = "reduce", "confirm"


def ablation_blocks(axes: int) -> int:
    """In how many blocks so many axes have to be put back, each for itself, before there are intervals."""
    return max(FEWEST_BLOCKS, math.ceil(1 - math.log2(ALPHA / axes)))


def first_blocks(axes: int) -> int:
    """So many blocks come first: of several axes one more, as a block with unequal predecessors counts for nothing."""
    return ablation_blocks(axes) + (axes > 1)


def level_of(axes: int, blocks: int) -> float:
    """At which level an axis of so many is judged after so many blocks. They are looked at once, or where that leaves an axis
    open and there are more runs a second time: each look has half of the error then.
    """
    return 1 - ALPHA / max(1, axes) / (2 if blocks > first_blocks(axes) else 1)


@dataclass(frozen=True)
class Ablations:
    """For each axis that was to be put back how many times as long the program takes without it, None where it did not run so.

    `within` is the difference that counts as none.
    """

    ratios: Mapping[str, Ratio | None]
    within: float

    @property
    def carrying(self) -> dict[str, float]:
        """The axes that surely bring something, and how much, in log time."""
        return {a: math.log(r.ratio) for a, r in self.ratios.items() if r is not None and r.low > 1}

    @property
    def idle(self) -> dict[str, float]:
        """The axes that bring no more than counts as none, and the largest difference that their interval leaves."""
        sizes = {
            a: max(r.high, 1 / r.low) - 1
            for a, r in self.ratios.items()
            if r is not None and r.has_interval and r.low <= 1
        }
        return {a: size for a, size in sizes.items() if size <= self.within}

    @property
    def unseparated(self) -> tuple[str, ...]:
        """The axes of which the runs do not say whether they bring anything."""
        return tuple(a for a in self.ratios if a not in self.carrying and a not in self.idle)

    def shares(self, gain: float) -> dict[str, float]:
        """How much of a gain, in log time, each axis surely brings; where all are known they add up to 1."""
        carrying = self.carrying
        known = sum(carrying.values())
        whole = max(known, gain) if self.unseparated else known
        return {a: worth / whole for a, worth in carrying.items()} if whole > 0 else {}

    def notes(self) -> list[str]:
        """What is to be said of axes that bring nothing, or perhaps nothing."""
        found = [
            f"{a} made no difference beyond {format_percent(math.ceil(size * 1e4 - 1e-6) / 1e4)}; the line may do without it"
            for a, size in self.idle.items()
        ]
        unseparated = self.unseparated
        if not unseparated:
            return found
        runs = self.more_blocks(unseparated) * (1 + len(unseparated))
        named = ", ".join(unseparated)
        what = "it adds" if len(unseparated) == 1 else "each of them adds"
        enough = f"about {runs} more would" if runs <= MOST_MORE else f"more than {MOST_MORE} more would have to"
        return [*found, f"{named} could not be distinguished: the runs do not say whether {what} to the gain; {enough}"]

    def more_blocks(self, axes: Iterable[str]) -> int:
        """In how many more blocks the effects of all these axes would probably be distinguished from none."""
        return max(map(self._more_blocks, axes))

    def _more_blocks(self, axis: str) -> int:
        """The same of one axis: intervals narrow with the root of the number of blocks."""
        ratio = self.ratios[axis]
        fewest = ablation_blocks(len(self.ratios))
        if ratio is None or not ratio.has_interval:
            return fewest - (0 if ratio is None else ratio.pairs)
        # narrow enough to leave out 1, or to lie within what counts as none
        wanted = max(abs(math.log(ratio.ratio)), math.log1p(self.within) - abs(math.log(ratio.ratio)))
        return max(1, pairs_to_narrow(ratio, ratio.pairs, wanted))


def ablations_of(experiment: Experiment, candidate: str, within: float, accept_disturbed: bool) -> Ablations:
    """What the runs say of the axes of the setting that was confirmed; nothing where it was not."""
    plan = next((p for p in reversed(experiment.plans) if p.candidate == candidate), None)
    if plan is None:
        return Ablations({}, within)
    found: dict[str, Ratio | None] = dict.fromkeys(plan.axes)
    axes = max(len(found), len(plan.ablations))
    for axis, key in plan.ablations.items():
        one: list[float] = []
        other: list[float] = []
        for phase in (REDUCE, AFTER):
            pairs = pair_up(experiment, key, candidate, phase)
            without, itself = pairs.deciding(accept_disturbed)
            one += without
            other += itself
        # those of the last phase, which alone goes on
        found[axis] = ratio_interval(one, other, level_of(axes, len(pairs.blocks))) if one else None
    return Ablations(found, within)
