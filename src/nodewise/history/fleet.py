# SPDX-License-Identifier: BSD-3-Clause
"""One question asked on many nodes: how far what they measured is apart, each node against the one in the middle.

Runs of different nodes are not of the same block, so their ratios are those of independent series (`statistics.unpaired`). The one
in the middle is chosen after looking: every pair of nodes has its share of the errors, as if all of them were printed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.history.entry import Entry, Point
from nodewise.statistics.sequential import ALPHA
from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.verdict import Word, judge


@dataclass(frozen=True)
class NodeRow:
    """What one node measured, in the unit of the metric: `ratio` is how many times as fast it is as the node in the middle, `low` to `high` its interval.

    `verdict` and `sentence` are None for the one in the middle. `differs` are its conditions that are not those of most nodes.
    """

    node: str
    host: str
    processor: str
    folder: str
    runs: int
    failed: int
    median: float
    ratio: float
    low: float | None
    high: float | None
    verdict: Word | None
    sentence: str | None
    differs: tuple[str, ...]


@dataclass(frozen=True)
class FleetTable:
    """One thing that several nodes measured, the fastest node first; `middle` is the node that the others are held against."""

    name: str
    role: str
    metric: str
    maximise: bool
    middle: str
    rows: tuple[NodeRow, ...]


@dataclass(frozen=True)
class Fleet:
    """Nodes side by side: all intervals hold together at 95%, each at `level`; a difference up to `within` counts as none.

    `left_out` says in words which folders have no part in it.
    """

    kind: str
    nodes: tuple[str, ...]
    tables: tuple[FleetTable, ...]
    level: float
    within: float
    left_out: tuple[str, ...]


def fleet_of(entries: Sequence[Entry], within: float, left_out: Sequence[str] = ()) -> Fleet:
    """Experiments of one program on several nodes. Raises InputError where no two of them measured the same."""
    names = _names(entries)
    grouped: dict[tuple[str, str, str], list[tuple[int, Point]]] = defaultdict(list)
    for i, entry in enumerate(entries):
        for point in {(p.name, p.role, p.metric): p for p in entry.points if p.values}.values():
            grouped[point.name, point.role, point.metric].append((i, point))
    shared = {key: points for key, points in grouped.items() if len(points) > 1}
    if not shared:
        raise InputError(
            "no two of these experiments measured the same",
            "name the folders of one program's experiments on several nodes, or the folder that holds them",
        )
    pairs = sum(math.comb(len(points), 2) for points in shared.values())
    level = 1 - ALPHA / pairs
    usual = _usual(entries)
    tables = tuple(_table(points, entries, names, level, within, usual) for points in shared.values())
    return Fleet("fleet", tuple(names), tables, level, within, tuple(left_out))


def _names(entries: Sequence[Entry]) -> list[str]:
    """What each is called: its host, with its folder where several are of one host."""
    hosts = Counter(entry.host for entry in entries)
    return [
        e.host if e.host and hosts[e.host] == 1 else f"{e.host or 'no name'} ({Path(e.folder).name})" for e in entries
    ]


def _facts(entry: Entry) -> dict[str, str]:
    return {"processor": entry.processor, **entry.conditions}


def _usual(entries: Sequence[Entry]) -> dict[str, str]:
    """For each condition the value that most nodes have."""
    every = [_facts(entry) for entry in entries]
    names = dict.fromkeys(name for facts in every for name in facts)
    return {name: Counter(facts.get(name, "") for facts in every).most_common(1)[0][0] for name in names}


def _table(
    points: Sequence[tuple[int, Point]],
    entries: Sequence[Entry],
    names: Sequence[str],
    level: float,
    within: float,
    usual: dict[str, str],
) -> FleetTable:
    first = points[0][1]
    ordered = sorted(points, key=lambda p: p[1].median, reverse=first.maximise)
    middle, at = ordered[len(ordered) // 2]
    rows = []
    for i, point in ordered:
        entry = entries[i]
        found = unpaired_interval(_costs(at), _costs(point), level)
        verdict = None if i == middle else judge(found, within, final=True)
        facts = _facts(entry)
        differs = [
            f"{n}: {facts.get(n) or 'not set'}, {v or 'not set'} on most"
            for n, v in usual.items()
            if facts.get(n, "") != v
        ]
        rows.append(
            NodeRow(
                names[i],
                entry.host,
                entry.processor,
                entry.folder,
                point.runs,
                point.failed,
                point.median,
                1.0 if verdict is None else found.ratio,
                found.low if verdict is not None and found.low > 0 else None,
                found.high if verdict is not None and math.isfinite(found.high) else None,
                verdict.word if verdict is not None else None,
                verdict.sentence if verdict is not None else None,
                tuple(differs),
            )
        )
    return FleetTable(first.name, first.role, first.metric, first.maximise, names[middle], tuple(rows))


def _costs(point: Point) -> list[float]:
    return [1 / v if point.maximise else v for v in point.values]
