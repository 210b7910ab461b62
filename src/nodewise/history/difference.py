# SPDX-License-Identifier: BSD-3-Clause
"""Two experiments of history against each other: how far what both measured is apart, and what of that their machines may have done."""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import UTC, datetime

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.history.entry import TUNED, Entry, Point
from nodewise.statistics.sequential import ALPHA
from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.verdict import Word, judge

#: A point's name, role and metric.
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Side:
    """An experiment of the two: how it was named, its number in history (None: it was read from its folder), when and where it was."""

    asked: str
    experiment: int | None
    at: str
    kind: str
    tool: str
    host: str
    processor: str
    commit: str | None
    changed: bool | None
    folder: str


@dataclass(frozen=True)
class PairDifference:
    """One thing that both measured: `ratio` is how many times as fast it is in the second, `low` to `high` its interval.

    `verdict` and `sentence` are None where machines or conditions differ: then the ratio is that of program and machine together.
    """

    name: str
    role: str
    metric: str
    before: float
    after: float
    runs: tuple[int, int]
    ratio: float
    low: float | None
    high: float | None
    verdict: Word | None
    sentence: str | None


@dataclass(frozen=True)
class Difference:
    """Two experiments; `differences` are those of machine and conditions, in words, `only_one` and `only_other` what has no counterpart.

    All intervals hold together at 95%, each at `level`, for runs that are independent of each other. `damaged` names rows of the history
    that cannot be used, and are left out.
    """

    one: Side
    other: Side
    differences: tuple[str, ...]
    pairs: tuple[PairDifference, ...]
    only_one: tuple[str, ...]
    only_other: tuple[str, ...]
    level: float
    within: float
    damaged: tuple[str, ...] = ()


def side_of(asked: str, number: int | None, entry: Entry) -> Side:
    """An experiment as one of the two."""
    commit = entry.commit
    return Side(
        asked,
        number,
        datetime.fromtimestamp(entry.at, UTC).isoformat(timespec="seconds"),
        entry.kind,
        entry.tool,
        entry.host,
        entry.processor,
        commit.hash if commit is not None else None,
        commit.changed if commit is not None else None,
        entry.folder,
    )


def difference_of(one: tuple[Side, Entry], other: tuple[Side, Entry], within: float) -> Difference:
    """The second experiment against the first. Raises InputError where they have nothing in common."""
    (first, then), (second, now) = one, other
    before, after = ({(p.name, p.role, p.metric): p for p in entry.points} for entry in (then, now))
    shared = [(key, key) for key in before if key in after]
    shared += _renamed(before, after)
    if not shared:
        raise InputError(
            f"{first.asked} and {second.asked} measured nothing that is alike: {_names(before)} in {first.asked}, {_names(after)} in {second.asked}",
            "name two experiments of one program: nodewise history PROGRAM lists them",
        )
    level = 1 - ALPHA / len(shared)
    found = _differences(then, now)
    pairs = tuple(_pair(before[a], after[b], level, within, not found) for a, b in shared)
    return Difference(
        first,
        second,
        tuple(found),
        pairs,
        tuple(_called(*key[:2]) for key in before if key not in {a for a, _ in shared}),
        tuple(_called(*key[:2]) for key in after if key not in {b for _, b in shared}),
        level,
        within,
    )


def _renamed(before: Collection[Key], after: Collection[Key]) -> list[tuple[Key, Key]]:
    """The one command of each that the other has not: it may be called otherwise, and is to be compared.

    Where both have others in common only if one was tuned: what confirms it has the command that was found, under its own name.
    """
    old, new = ([key for key in these if key not in those] for these, those in ((before, after), (after, before)))
    alone = len(before) == len(after) == 1
    if len(old) == len(new) == 1 and old[0][2] == new[0][2] and (alone or TUNED in (old[0][1], new[0][1])):
        return [(old[0], new[0])]
    return []


def _called(name: str, role: str) -> str:
    """A command as it is told from the one that was tuned."""
    return f"{name} ({role})" if role else name


def _names(points: dict[tuple[str, str, str], Point]) -> str:
    return ", ".join(sorted({name for name, _, _ in points})[:3])


def _differences(then: Entry, now: Entry) -> list[str]:
    """What differs between machines and conditions, and what is not known of them."""
    found = []
    if not (then.conditions and now.conditions):
        found.append("the conditions of one of them are not known")
    facts = [("host", then.host, now.host), ("processor", then.processor, now.processor)]
    names = sorted(then.conditions.keys() | now.conditions.keys()) if then.conditions and now.conditions else []
    facts += [(name, then.conditions.get(name, ""), now.conditions.get(name, "")) for name in names]
    for name, old, new in dict.fromkeys(facts):
        if old != new:
            found.append(f"{name}: {old or 'not set'} then, {new or 'not set'} now")
    if then.tool != now.tool:
        found.append(f"measured by {then.tool} then, by {now.tool} now")
    return found


def _pair(before: Point, after: Point, level: float, within: float, comparable: bool) -> PairDifference:
    ratio = after.median / before.median if before.maximise else before.median / after.median
    low = high = None
    verdict = None
    if before.values and after.values:
        costs = [[1 / v if p.maximise else v for v in p.values] for p in (before, after)]
        found = unpaired_interval(costs[0], costs[1], level)
        ratio = found.ratio
        low = found.low if found.low > 0 else None
        high = found.high if math.isfinite(found.high) else None
        verdict = judge(found, within, final=True) if comparable else None
    # one command each may be one program under two names, or two programs: whoever reads it is to know
    old, new = (_called(p.name, p.role) for p in (before, after))
    name = after.name if old == new else f"{old} then, {new} now"
    return PairDifference(
        name,
        after.role if old == new else "",
        after.metric,
        before.median,
        after.median,
        (before.runs, after.runs),
        ratio,
        low,
        high,
        verdict.word if verdict is not None else None,
        verdict.sentence if verdict is not None else None,
    )
