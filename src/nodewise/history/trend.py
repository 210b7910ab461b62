# SPDX-License-Identifier: BSD-3-Clause
"""Trends: what was measured of one program on one machine over time, with its changes of level."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from enum import StrEnum
from itertools import repeat
from typing import Any

import numpy as np

from nodewise.base.difference import WITHIN
from nodewise.base.errors import InputError, NodewiseError, StoreError
from nodewise.base.frozen import dataclass
from nodewise.history.database import REBUILD
from nodewise.history.rows import FIRST_S, LAST_S
from nodewise.history.store import Series, Store
from nodewise.records.commit import commit_named
from nodewise.statistics.changes import RATE, find_changes

#: Series that are shown where no program is named.
MOST_SERIES = 20


class Word(StrEnum):
    """What a change is."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"


@dataclass(frozen=True)
class TrendPoint:
    """One experiment: its number, when it began (ISO 8601, UTC), and what was measured in the metric's unit (`low` to `high` is the 95% interval).

    `commit` is that of the working directory, or the beginning of the one that was checked out for it, `changed` whether files differed from it (None: not known).
    """

    experiment: int
    at: str
    kind: str
    tool: str
    median: float
    low: float | None
    high: float | None
    runs: int
    failed: int
    commit: str | None
    changed: bool | None
    branch: str


@dataclass(frozen=True)
class Mark:
    """From `experiment` on the level is another one: `ratio` times as fast (below 1: slower), medians `before` and `after`."""

    experiment: int
    at: str
    word: Word
    ratio: float
    before: float
    after: float
    commit_before: str | None
    commit: str | None


@dataclass(frozen=True)
class Trend:
    """All points of one command, metric and role on one machine in their order, and the changes among them.

    `role` is `tuned` for what a tune found, and empty for what runs as it is started.
    """

    program: str
    name: str
    project: str
    role: str
    metric: str
    maximise: bool
    host: str
    processor: str
    points: tuple[TrendPoint, ...]
    marks: tuple[Mark, ...]

    @property
    def machine(self) -> str:
        """Its name, or that of the processor where it has none."""
        return self.host or self.processor or "unknown machine"

    @property
    def about(self) -> str:
        """What tells it apart from others of its command: that it was tuned, and a metric that is not time."""
        return ", ".join(filter(None, [self.role, "" if self.metric == "seconds" else self.metric]))


@dataclass(frozen=True)
class Trends:
    """What history says of `program` (None: of all), the trend with the latest point first.

    Of trends without a change at most the share `rate` have a mark; changes of a level by no more than `within` have none.
    `left_out` more trends are there and not shown. `damaged` names rows of the history that cannot be used, and are left out.
    """

    program: str | None
    since: str | None
    machine: str | None
    rate: float
    within: float
    trends: tuple[Trend, ...]
    left_out: int
    history: str
    damaged: tuple[str, ...] = ()


def trends_of(
    store: Store,
    program: str | None = None,
    *,
    since: float = 0.0,
    machine: str | None = None,
    within: float = WITHIN,
    most: int | None = MOST_SERIES,
) -> Trends:
    """The trends of a program, or of all; `machine` is a part of the machine's or the processor's name, `most` how many are shown.

    Raises InputError where there are none, StoreError where there are only damaged ones.
    """
    known = {one.number: one for one in store.series(program)}
    hosts = {
        n: h for n, h in store.machines().items() if machine is None or machine in h.host or machine in h.processor
    }
    # few are put in order by their own points
    latest = [number for number in store.latest(since) if number in known] if len(known) > MOST_SERIES else list(known)
    # several machines may share a series, so that no fewer than asked for are left
    shown = latest if most is None or machine is not None else latest[:most]
    grouped: dict[tuple[int, str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for row in store.points(shown, since):
        if (host := hosts.get(row[2])) is not None:
            grouped[row[0], host.host, host.processor].append(row)
    if not grouped:
        raise _nothing(store, program, since, machine, bool(hosts))
    ordered = sorted(grouped.items(), key=lambda item: (item[1][-1][3], item[1][-1][1]), reverse=True)
    kept = ordered if most is None else ordered[:most]
    made = tuple(_trend(known[key[0]], key, rows, within) for key, rows in kept)
    day = _time(since)[:10] if since else None
    left = len(latest) - len(shown) + len(ordered) - len(kept)
    return Trends(program, day, machine, RATE, within, made, left, store.name, store.damaged)


def _nothing(store: Store, program: str | None, since: float, machine: str | None, is_known: bool) -> NodewiseError:
    """What is raised where no point is there; `is_known`: there is a machine of that name."""
    asked = [f"of {program}"] * (program is not None) + [f"since {_time(since)[:10]}"] * (since > 0)
    asked += [f"on {machine}"] * (machine is not None)
    if store.damaged:
        more = f", and {len(store.damaged) - 1} more" if len(store.damaged) > 1 else ""
        return StoreError(
            f"nothing {' '.join([*asked, 'that is whole'])} is in the history; damaged is {store.damaged[0]}{more}",
            REBUILD,
        )
    programs = {one.program for one in store.series()}
    there = programs if is_known else {host.host or host.processor for host in store.machines().values()} - {""}
    named = ", ".join(sorted(there)[:8]) + (" …" if len(there) > 8 else "")
    hint = (
        f"it has {'' if is_known else 'the machines '}{named}"
        if there
        else "measure something, or: nodewise history --rebuild DIR…"
    )
    return InputError(f"history has nothing {' '.join(asked)}".rstrip() if asked else "history is empty", hint)


def _trend(series: Series, key: tuple[int, str, str], rows: list[tuple[Any, ...]], within: float) -> Trend:
    # all at once: one by one they would be most of what a long trend takes
    times = np.array([row[3] for row in rows]).astype("datetime64[s]")
    # what ran in a commit that was checked out for it is of that one, not of the working directory's
    own_commit = commit_named(series.name)
    points = tuple(map(_point, rows, np.datetime_as_string(times).tolist(), repeat(own_commit)))
    marks = tuple(_marks(series, points, within))
    own = (series.program, series.name, series.project, series.role, series.metric, series.maximise)
    return Trend(*own, key[1], key[2], points, marks)


def _marks(series: Series, points: tuple[TrendPoint, ...], within: float) -> list[Mark]:
    made = []
    for change in find_changes([p.median for p in points], within):
        ratio = change.ratio if series.maximise else 1 / change.ratio
        first, last = points[change.first], points[change.first - 1]
        word = Word.IMPROVEMENT if ratio > 1 else Word.REGRESSION
        made.append(
            Mark(first.experiment, first.at, word, ratio, change.before, change.after, last.commit, first.commit)
        )
    return made


def _point(row: tuple[Any, ...], began: str, own_commit: str) -> TrendPoint:
    _, number, _, _, kind, tool, median, low, high, runs, failed, commit, changed, branch = row
    if own_commit:
        commit, changed, branch = own_commit, False, ""
    return TrendPoint(
        number, f"{began}+00:00", kind, tool, median, low, high, runs, failed, commit or None, changed, branch
    )


def _time(seconds: float) -> str:
    # a day may begin before the first or after the last that there is
    return datetime.fromtimestamp(min(max(seconds, FIRST_S), LAST_S), UTC).isoformat(timespec="seconds")
