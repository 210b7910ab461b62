# SPDX-License-Identifier: BSD-3-Clause
"""A comparison in the shapes of other tools, so that their plotters read it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nodewise.api.experiment import Experiment
from nodewise.machine.model import machine_from_json
from nodewise.report.comparison import table_rows


def _series(experiment: Experiment, key: str, name: str = "") -> list[float]:
    """The values of the metric of a contender's good runs, or of what was counted in them."""
    records = experiment.records
    own = records.of(key, "compare")
    own = own[records.ok[own]]
    if name == "wall_s":
        return [float(v) for v in records.plain("wall_s")[own]]
    if name:
        column = records.column("usage", name)[own] if ("usage", name) in records.named else np.full(own.size, np.nan)
        return [float(v) for v in column]
    return [experiment.objective.value(float(c)) for c in experiment.costs[own]]


def hyperfine_json(experiment: Experiment, verdict: Mapping[str, Any]) -> str:
    """The shape of `hyperfine --export-json`; times are those that were compared, in seconds."""
    results = []
    for r in verdict["contenders"]:
        if not r["runs"]:
            continue
        times = _series(experiment, r["name"])
        result: dict[str, Any] = {"command": r["name"]}
        result |= {"mean": r["mean"], "stddev": r["stddev"], "median": r["median"]}
        result |= {"user": float(np.nanmean(_series(experiment, r["name"], "user_s")))}
        result |= {"system": float(np.nanmean(_series(experiment, r["name"], "system_s")))}
        result |= {"min": r["min"], "max": r["max"], "times": times}
        result["memory_usage_byte"] = [int(v) for v in _series(experiment, r["name"], "peak_bytes")]
        result["exit_codes"] = [0] * len(times)
        if r["values"]:
            result["parameters"] = {k: str(v) for k, v in r["values"].items()}
        results.append(result)
    return json.dumps({"results": results}, indent=2) + "\n"


def google_json(experiment: Experiment, verdict: Mapping[str, Any]) -> str:
    """The shape of `--benchmark_out_format=json`: each run an iteration, and mean, median, stddev and cv of them."""
    machine = machine_from_json(experiment.question["machine"])
    context = {
        "date": experiment.question["started_at"],
        "host_name": machine.hostname,
        "executable": "nodewise",
        "num_cpus": len(machine.pus),
        "mhz_per_cpu": round((machine.processor.frequency_hz or 0) / 1e6),
        "cpu_scaling_enabled": machine.processor.governor not in (None, "performance"),
        "caches": [
            {"type": "Unified", "level": c.level, "size": c.size_bytes, "num_sharing": len(c.pus)}
            for c in machine.caches
        ],
        "load_avg": [],
        "library_build_type": "release",
    }
    benchmarks: list[dict[str, Any]] = []
    for family, r in enumerate(verdict["contenders"]):
        if not r["runs"]:
            continue
        real = np.array(_series(experiment, r["name"]))
        users, systems = (np.array(_series(experiment, r["name"], n)) for n in ("user_s", "system_s"))
        processor = users + systems
        shared = {"family_index": family, "per_family_instance_index": 0, "run_name": r["name"]}
        shared |= {"repetitions": r["runs"], "threads": 1, "time_unit": "ms"}
        benchmarks += [
            {"name": r["name"], **shared, "run_type": "iteration", "repetition_index": i, "iterations": 1}
            | {"real_time": float(t) * 1e3, "cpu_time": float(c) * 1e3}
            for i, (t, c) in enumerate(zip(real, processor, strict=True))
        ]
        for name, function in _AGGREGATES.items():
            share = name == "cv"
            made = {"name": f"{r['name']}_{name}", **shared, "run_type": "aggregate", "aggregate_name": name}
            made |= {"aggregate_unit": "percentage" if share else "time", "iterations": r["runs"]}
            scale = 1.0 if share else 1e3
            made |= {"real_time": function(real) * scale, "cpu_time": function(processor) * scale}
            benchmarks.append(made)
    return json.dumps({"context": context, "benchmarks": benchmarks}, indent=2) + "\n"


def _stddev(values: Any) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


_AGGREGATES: dict[str, Callable[[Any], float]] = {
    "mean": lambda v: float(np.mean(v)),
    "median": lambda v: float(np.median(v)),
    "stddev": _stddev,
    "cv": lambda v: _stddev(v) / float(np.mean(v)) if np.mean(v) else 0.0,
}


def table_csv(experiment: Experiment, verdict: Mapping[str, Any]) -> str:
    """The columns of `hyperfine --export-csv`."""
    del experiment
    names = list(dict.fromkeys(n for r in verdict["contenders"] for n in r["values"]))
    plain = ["command", "mean", "stddev", "median", "user", "system", "min", "max"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*plain, *(f"parameter_{n}" for n in names)])
    for r in verdict["contenders"]:
        if r["runs"]:
            used = [r["medians"].get("user_s", ""), r["medians"].get("system_s", "")]
            numbers = [r["mean"], "" if r["stddev"] is None else r["stddev"], r["median"], *used, r["min"], r["max"]]
            writer.writerow([r["name"], *numbers, *(r["values"].get(n, "") for n in names)])
    return out.getvalue()


def _markdown(heads: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"

    return [line(heads), line([":---", *["---:"] * (len(heads) - 1)]), *(line([f"`{r[0]}`", *r[1:]]) for r in rows)]


def _asciidoc(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f'[cols="<{",>" * (len(heads) - 1)}"]', "|===", "".join(f"| {h} " for h in heads).rstrip(), ""]
    for row in rows:
        lines += [*(f"| {c.replace('|', chr(92) + '|')}" for c in [f"`{row[0]}`", *row[1:]]), ""]
    return [*lines, "|==="]


def _orgmode(heads: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\vert{}") for c in cells) + " |"

    return [line(heads), "|" + "+".join(["--"] * len(heads)) + "|", *(line([f"={r[0]}=", *r[1:]]) for r in rows)]


def export_text(kind: str, experiment: Experiment, verdict: Mapping[str, Any]) -> str:
    """A comparison as `json`, `csv`, `markdown`, `asciidoc`, `orgmode` or `google-benchmark`."""
    shapes = {"json": hyperfine_json, "google-benchmark": google_json, "csv": table_csv}
    tables = {"markdown": _markdown, "asciidoc": _asciidoc, "orgmode": _orgmode}
    return shapes[kind](experiment, verdict) if kind in shapes else "\n".join(tables[kind](*table_rows(verdict))) + "\n"
