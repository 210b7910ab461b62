# SPDX-License-Identifier: BSD-3-Clause
"""What Google Benchmark writes with --benchmark_out or --benchmark_format=json: repetitions of each benchmark, in its time unit.

The format is that of its `docs/user_guide.md` and `src/json_reporter.cc`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from nodewise.history.entries import seconds_since_1970
from nodewise.history.entry import Entry, Point, point_of
from nodewise.history.importer import Importer, key_of, mapping, number, texts

_TOOL = "Google Benchmark"
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def _wants(path: Path, data: Any) -> bool:
    del path
    if not isinstance(data, dict) or not isinstance(data.get("context"), dict):
        return False
    return isinstance(data.get("benchmarks"), list) and "num_cpus" in data["context"]


def _read(path: Path, data: Any) -> Sequence[Entry]:
    context = data["context"]
    executable = str(context.get("executable", ""))
    program = PurePath(executable).name or path.stem
    times: dict[str, list[float]] = defaultdict(list)
    medians: dict[str, float] = {}
    failed: dict[str, int] = defaultdict(int)
    for benchmark in data["benchmarks"]:
        row = mapping(benchmark, "a benchmark")
        name = str(row.get("run_name", row["name"]))
        if row.get("error_occurred"):
            failed[name] += 1
        elif row.get("run_type", "iteration") == "iteration":
            times[name].append(_seconds(row))
        elif row.get("aggregate_name") == "median":
            medians[name] = _seconds(row)
    points = [_point(program, name, values, failed[name]) for name, values in times.items()]
    # with --benchmark_report_aggregates_only there are no others
    points += [_point(program, name, [value], failed[name]) for name, value in medians.items() if name not in times]
    made = tuple(one for one in points if one is not None)
    if not made:
        return []
    facts = {k: v for k, v in context.items() if k not in ("date", "host_name", "executable", "load_avg")}
    return [
        Entry(
            key_of(_TOOL, data),
            "results",
            seconds_since_1970(str(context.get("date", ""))) or path.stat().st_mtime,
            made,
            tool=_TOOL,
            version=str(context.get("library_version", "")),
            project="",
            host=str(context.get("host_name", "")),
            conditions=texts(facts),
        )
    ]


def _seconds(row: Mapping[str, Any]) -> float:
    unit = str(row.get("time_unit", "ns"))
    if unit not in _UNITS:
        raise ValueError(f"time_unit {unit!r} is none of {', '.join(_UNITS)}")
    return number(row["real_time"], "real_time") * _UNITS[unit]


def _point(program: str, name: str, values: Sequence[float], failed: int) -> Point | None:
    return point_of(values, program, f"{program} {name}", failed=failed)


IMPORTER = Importer("google-benchmark", "Google Benchmark (JSON)", _wants, _read)
