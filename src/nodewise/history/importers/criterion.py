# SPDX-License-Identifier: BSD-3-Clause
"""What Criterion.rs leaves below target/criterion: of each benchmark a folder `new` with samples of so many iterations, in nanoseconds.

Its book documents `raw.csv`, which is written where that is turned on; else `sample.json` has the same, and `benchmark.json` the
name. It says neither when nor where.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.history.entry import Entry, point_of
from nodewise.history.importer import Importer, key_of, mapping, numbers

_TOOL = "Criterion"


def _wants(path: Path, data: Any) -> bool:
    return data is None and bool(_folders(path))


def _folders(path: Path) -> list[Path]:
    """The folders of the last runs of all benchmarks."""
    found = {file.parent for name in ("sample.json", "raw.csv") for file in path.rglob(f"new/{name}")}
    return sorted(found)


def _read(path: Path, data: Any) -> Sequence[Entry]:
    del data
    points, began, all_times = [], 0.0, []
    for folder in _folders(path):
        name, times = _samples(folder)
        # the folder of a benchmark is that above
        name = name or str(folder.parent.relative_to(path))
        # a group has several, and the program is what is in front of its first /
        point = point_of(times, name.partition("/")[0], name)
        if point is not None:
            points.append(point)
            all_times.append([name, times])
            began = max(began, *(file.stat().st_mtime for file in folder.iterdir()))
    return [Entry(key_of(_TOOL, all_times), "results", began, tuple(points), tool=_TOOL)] if points else []


def _samples(folder: Path) -> tuple[str, list[float]]:
    """The name of a benchmark (empty where nothing says it), and the seconds of one iteration in each sample."""
    name = ""
    if (folder / "benchmark.json").is_file():
        name = str(mapping(parse_json(read_bounded(folder / "benchmark.json")), "benchmark.json").get("full_id", ""))
    if (folder / "sample.json").is_file():
        sample = mapping(parse_json(read_bounded(folder / "sample.json")), "sample.json")
        counts, nanos = numbers(sample["iters"], "iters"), numbers(sample["times"], "times")
        return name, [t / n * 1e-9 for t, n in zip(nanos, counts, strict=True) if n > 0]
    text = read_bounded(folder / "raw.csv").decode()
    times = []
    for row in csv.DictReader(text.splitlines()):
        # in early versions it was sample_time_nanos, and all values had that unit
        spent = float(row.get("sample_measured_value") or row["sample_time_nanos"])
        if (unit := row.get("unit") or "ns") != "ns":
            raise ValueError(f"raw.csv is in {unit}, and times are read")
        times.append(spent / float(row["iteration_count"]) * 1e-9)
        name = name or "/".join(filter(None, (row["group"], row["function"], row["value"])))
    return name, times


IMPORTER = Importer("criterion", "Criterion (target/criterion)", _wants, _read)
