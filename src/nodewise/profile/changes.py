# SPDX-License-Identifier: BSD-3-Clause
"""What changed from one profile to another, by function: builds lie elsewhere and stacks differ, names mostly stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.profile.result import Profiled
from nodewise.profile.samples import UNKNOWN, Taken
from nodewise.statistics.shares import share_intervals

#: So many functions are shown.
_TOLD = 8


@dataclass(frozen=True)
class Part:
    """A function's own part of all samples of work with its 95% interval, of 1."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Change:
    """A function's own part in the earlier profile and in the later one; its name as it is shown."""

    computed: ClassVar[tuple[str, ...]] = ("difference", "sure")
    function: str
    before: Part
    after: Part

    @property
    def difference(self) -> float:
        """By how much its part grew."""
        return self.after.share - self.before.share

    @property
    def sure(self) -> bool:
        """Whether it is more than chance: the intervals have nothing in common."""
        return self.after.low > self.before.high or self.before.low > self.after.high


@dataclass(frozen=True)
class Since:
    """What changed since the profile that was taken then: the functions that surely changed first, then by how much."""

    taken_at: str
    changes: tuple[Change, ...]

    @property
    def sure(self) -> tuple[Change, ...]:
        """Those that changed by more than chance."""
        return tuple(one for one in self.changes if one.sure)

    @property
    def told(self) -> tuple[Change, ...]:
        """Those that are shown: what is sure, or where nothing is what differs most."""
        return (self.sure or self.changes)[:_TOLD]


def since(before: Profiled, after: Profiled) -> Since:
    """What changed from one profile to another."""
    return Since(before.result.taken_at, function_changes(before.samples, after.samples))


def function_changes(before: Sequence[Taken], after: Sequence[Taken]) -> tuple[Change, ...]:
    """The functions that samples of work of either are in, those that surely changed first, then by how much. Samples are in the order of time."""
    names = [[_innermost(taken) for taken in samples if taken.waited is None] for samples in (before, after)]
    if not all(names):
        return ()
    number = {name: i for i, name in enumerate(dict.fromkeys(names[0] + names[1]))}
    earlier, later = (_parts([number[name] for name in own], len(number)) for own in names)
    changes = [Change(name, earlier[i], later[i]) for name, i in number.items()]
    return tuple(sorted(changes, key=lambda one: (not one.sure, -abs(one.difference), one.function)))


def _innermost(taken: Taken) -> str:
    return one_line(taken.chain[0].function) if taken.chain else UNKNOWN


def _parts(kinds: Sequence[int], count: int) -> list[Part]:
    own = [0] * count
    for kind in kinds:
        own[kind] += 1
    return [Part(n / len(kinds), *span) for n, span in zip(own, share_intervals(kinds, count), strict=True)]
