# SPDX-License-Identifier: BSD-3-Clause
"""What history keeps of an experiment: when, where and of what it was, and a point for each thing that it measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field

from nodewise.base.frozen import dataclass
from nodewise.history.learned import Learned
from nodewise.records.commit import Commit
from nodewise.statistics.interval import median_interval
from nodewise.statistics.summary import mad, median

#: Of more values than this so many are kept, evenly chosen.
MOST_VALUES = 256
#: The role of a setting that a tune found; what is measured as it is started anyway has none.
TUNED = "tuned"


@dataclass(frozen=True)
class Point:
    """What was measured of one thing: centre, its 95% interval (None: too few runs) and spread in the unit of `metric`.

    `name` is the command or what else was measured, `program` what it is called in short. `values` are those of single runs,
    as far as they are kept. `maximise`: more of it is better. `anywhere`: it is the same thing in whatever project it was measured.
    """

    program: str
    name: str
    metric: str
    median: float
    low: float | None
    high: float | None
    mad: float | None
    runs: int
    failed: int = 0
    role: str = ""
    maximise: bool = False
    values: tuple[float, ...] = ()
    anywhere: bool = False


@dataclass(frozen=True)
class Entry:
    """An experiment: `key` tells it from all others, `at` is when it began, in seconds since 1970.

    `tool` measured it; `project` tells things of one name apart: the repository that they are in, or the folder. `conditions` are
    facts of the machine and the environment, by name. `folder` is empty where it came from no folder. `learned` is what later tunes may
    start from.
    """

    key: str
    kind: str
    at: float
    points: tuple[Point, ...]
    tool: str = "nodewise"
    version: str = ""
    folder: str = ""
    project: str = ""
    host: str = ""
    processor: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict)
    commit: Commit | None = None
    stopped: str = ""
    sentence: str = ""
    learned: Learned | None = None


def point_of(
    values: Sequence[float],
    program: str,
    name: str,
    *,
    metric: str = "seconds",
    role: str = "",
    maximise: bool = False,
    failed: int = 0,
) -> Point | None:
    """The point of single runs' values, which are above zero where they count; None where none does."""
    good = [float(v) for v in values if math.isfinite(v) and v > 0]
    if not good:
        return None
    low, high = median_interval(good) or (None, None)
    return Point(
        program,
        name,
        metric,
        median(good),
        low,
        high,
        mad(good),
        len(good),
        failed,
        role,
        maximise,
        thinned(good),
    )


def thinned(values: Sequence[float]) -> tuple[float, ...]:
    """At most `MOST_VALUES` of them, evenly chosen in their order."""
    if len(values) <= MOST_VALUES:
        return tuple(values)
    return tuple(values[i * len(values) // MOST_VALUES] for i in range(MOST_VALUES))
