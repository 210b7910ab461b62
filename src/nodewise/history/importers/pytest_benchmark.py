# SPDX-License-Identifier: BSD-3-Clause
"""What pytest-benchmark writes with --benchmark-json or saves below .benchmarks: rounds of each test, in seconds.

Rounds by themselves are there where --benchmark-save-data was given (always with --benchmark-json).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.history.entries import seconds_since_1970
from nodewise.history.entry import Entry, point_of
from nodewise.history.importer import Importer, key_of, mapping, number, numbers, texts
from nodewise.records.commit import Commit

_TOOL = "pytest-benchmark"


def _wants(path: Path, data: Any) -> bool:
    del path
    return isinstance(data, dict) and {"machine_info", "commit_info", "benchmarks"} <= data.keys()


def _read(path: Path, data: Any) -> Sequence[Entry]:
    machine = data["machine_info"] if isinstance(data["machine_info"], dict) else {}
    commit = data["commit_info"] if isinstance(data["commit_info"], dict) else {}
    points = []
    for benchmark in data["benchmarks"]:
        row = mapping(benchmark, "a benchmark")
        stats = mapping(row["stats"], "stats")
        name = str(row.get("fullname", row["name"]))
        times = numbers(stats.get("data") or [], "data")
        point = point_of(times or [number(stats["median"], "median")], _program(name), name)
        if point is not None:
            rounds = int(number(stats.get("rounds", point.runs), "rounds"))
            points.append(point if times else replace(point, runs=rounds, values=()))
    if not points:
        return []
    cpu = machine.get("cpu") if isinstance(machine.get("cpu"), dict) else {}
    found = Commit(
        str(commit.get("id") or ""),
        bool(commit["dirty"]) if isinstance(commit.get("dirty"), bool) else None,
        str(commit.get("branch") or ""),
        str(commit.get("project") or ""),
    )
    return [
        Entry(
            key_of(_TOOL, data),
            "results",
            seconds_since_1970(str(data.get("datetime", ""))) or path.stat().st_mtime,
            tuple(points),
            tool=_TOOL,
            version=str(data.get("version", "")),
            project=found.repository,
            host=str(machine.get("node", "")),
            processor=str((cpu or {}).get("brand_raw", machine.get("processor", ""))),
            conditions=texts({k: v for k, v in machine.items() if k not in ("node", "cpu")}),
            # outside of a repository it says unknown
            commit=found if found.hash not in ("", "unknown", "unversioned") else None,
        )
    ]


def _program(name: str) -> str:
    """The test without its file and its parameters."""
    return name.rpartition("::")[2].partition("[")[0] or name


IMPORTER = Importer("pytest-benchmark", "pytest-benchmark (JSON)", _wants, _read)
