# SPDX-License-Identifier: BSD-3-Clause
"""What airspeed velocity (asv) keeps of a commit in an environment: RESULTS/MACHINE/COMMIT-ENVIRONMENT.json, or the folder above.

The format is version 2 of its `asv/results.py`; units of what is no time are read from the `benchmarks.json` beside the machines.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.history.entry import Entry, Point, point_of
from nodewise.history.importer import Importer, key_of, mapping, number, numbers, texts
from nodewise.records.commit import Commit

_TOOL = "asv"
_LISTS = ("machine.json", "benchmarks.json")
_VERSION = 2
#: Of a benchmark whose unit nobody says: what its name's beginning says.
_BY_NAME = {"time": "seconds", "timeraw": "seconds", "mem": "bytes", "peakmem": "bytes"}


def _wants(path: Path, data: Any) -> bool:
    if data is None:
        return any(_is_result(parse_json(read_bounded(file))) for file in _files(path)[:1])
    return _is_result(data)


def _is_result(data: Any) -> bool:
    return isinstance(data, dict) and {"commit_hash", "env_name", "results"} <= data.keys()


def _files(folder: Path) -> list[Path]:
    """Results of one machine, or of all machines below a folder of results."""
    found = [*folder.glob("*.json"), *folder.glob("*/*.json")]
    return sorted(path for path in found if path.name not in _LISTS and re.match(r"[0-9a-f]{4,}-", path.name))


def _read(path: Path, data: Any) -> Sequence[Entry]:
    if data is not None:
        return _entries(path, data)
    return [entry for file in _files(path) for entry in _entries(file, parse_json(read_bounded(file)))]


def _entries(path: Path, data: Any) -> Sequence[Entry]:
    if not _is_result(data):
        raise ValueError(f"{path.name} is no result of a commit")
    if data.get("version") != _VERSION:
        raise ValueError(
            f"version {data.get('version')} of its format, and {_VERSION} can be read: asv update makes it that"
        )
    units = _units(path)
    columns = data.get("result_columns") or ["result", "params"]
    points: list[Point] = []
    for name, result in mapping(data["results"], "results").items():
        if isinstance(result, list):
            points += _points(name, dict(zip(columns, result, strict=False)), units.get(name))
    if not points:
        return []
    params = mapping(data.get("params") or {}, "params")
    facts = {k: v for k, v in params.items() if k not in ("machine", "cpu")}
    return [
        Entry(
            key_of(_TOOL, data),
            "results",
            # of a commit: that is what asv draws its results over
            number(data["date"], "date") / 1000,
            tuple(points),
            tool=_TOOL,
            host=str(params.get("machine", path.parent.name)),
            processor=str(params.get("cpu", "")),
            conditions=texts(facts) | {"environment": str(data["env_name"])},
            commit=Commit(str(data["commit_hash"]), None, "", ""),
        )
    ]


def _points(name: str, row: Mapping[str, Any], unit: str | None) -> list[Point]:
    """One for each combination of parameters that has a result."""
    metric = unit or _BY_NAME.get(name.rpartition(".")[2].partition("_")[0], "value")
    results = row.get("result")
    params = row.get("params") or []
    samples = row.get("samples")
    made = []
    combinations = list(itertools.product(*params)) or [()]
    for i, (value, combination) in enumerate(zip(results or [], combinations, strict=False)):
        if value is None:
            continue
        called = f"{name}({', '.join(map(str, combination))})" if combination else name
        own = samples[i] if isinstance(samples, list) and i < len(samples) and samples[i] else [value]
        point = point_of(numbers(own, "samples"), name, called, metric=metric)
        if point is not None:
            made.append(_with_ends(point, row, i))
    return made


def _with_ends(point: Point, row: Mapping[str, Any], i: int) -> Point:
    """A point of a single number with the interval that asv has for it, which is one at 99%."""
    ends = [row.get(name) for name in ("stats_ci_99_a", "stats_ci_99_b")]
    low, high = (one[i] if isinstance(one, list) and i < len(one) else None for one in ends)
    if point.runs > 1 or not all(isinstance(end, int | float) for end in (low, high)):
        return point
    return replace(point, low=low, high=high)


def _units(path: Path) -> dict[str, str]:
    """The unit of each benchmark, where the list of them is there."""
    for folder in (path.parent, path.parent.parent):
        try:
            data = parse_json(read_bounded(folder / "benchmarks.json"))
        except (OSError, ValueError):
            continue
        if isinstance(data, dict):
            return {name: str(one["unit"]) for name, one in data.items() if isinstance(one, dict) and "unit" in one}
    return {}


IMPORTER = Importer("asv", "asv (results)", _wants, _read)
