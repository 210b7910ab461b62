# SPDX-License-Identifier: BSD-3-Clause
"""What hyperfine writes with --export-json: commands with the times of their runs, in seconds. It says neither when nor where.

The format is that of its `src/export/json.rs` and `src/benchmark/benchmark_result.rs` (version 1.20).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodewise.history.entry import Entry, point_of
from nodewise.history.importer import Importer, key_of, mapping, numbers
from nodewise.history.points import program_of

_TOOL = "hyperfine"


def _wants(path: Path, data: Any) -> bool:
    del path
    results = data.get("results") if isinstance(data, dict) else None
    return isinstance(results, list) and all(isinstance(r, dict) and "command" in r and "mean" in r for r in results)


def _read(path: Path, data: Any) -> Sequence[Entry]:
    points = []
    for result in data["results"]:
        row = mapping(result, "a result")
        command = str(row["command"])
        # without single runs, as other tools write this format, the median stands for them
        times = numbers(row.get("times") or [row.get("median", row["mean"])], "times")
        codes = row.get("exit_codes") or []
        failed = sum(code != 0 for code in codes if code is not None) if isinstance(codes, list) else 0
        points.append(point_of(times, program_of(command), command, failed=failed))
    made = tuple(one for one in points if one is not None)
    # when it ran is not in it: the file's own time is the nearest to it
    began = path.stat().st_mtime
    return [Entry(key_of(_TOOL, data), "results", began, made, tool=_TOOL)] if made else []


IMPORTER = Importer("hyperfine", "hyperfine (--export-json)", _wants, _read)
