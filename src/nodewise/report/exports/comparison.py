# SPDX-License-Identifier: BSD-3-Clause
"""A comparison in the shapes of other tools, so that their plotters read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from nodewise.records.experiment import Experiment
from nodewise.report.exports.csv_cells import csv_of
from nodewise.report.text.comparison import table_rows
from nodewise.verdicts.compare import CompareVerdict
from nodewise.verdicts.question import machine_of, question_of


def _good(experiment: Experiment, key: str) -> Any:
    """The places of a contender's good runs among the records."""
    records = experiment.records
    own = records.of(key, "compare")
    return own[records.ok[own]]


def _seconds(experiment: Experiment, key: str) -> Any:
    """The times of a contender's good runs, whatever metric was compared: other tools know nothing else."""
    return experiment.records.plain("seconds")[_good(experiment, key)]


def _series(experiment: Experiment, key: str, name: str) -> Any:
    """What the kernel counted in a contender's good runs; zeros where it did not."""
    records, own = experiment.records, _good(experiment, key)
    return np.nan_to_num(records.column("usage", name)[own]) if ("usage", name) in records.named else np.zeros(own.size)


def _compared(experiment: Experiment, key: str) -> dict[str, Any]:
    """The metric that was compared, by its name, where it is not the time."""
    if experiment.objective.metric in ("seconds", "wall_s"):
        return {}
    costs = experiment.costs[_good(experiment, key)]
    return {experiment.objective.metric: [experiment.objective.value(float(c)) for c in costs]}


def _statistics(times: Any) -> dict[str, Any]:
    spread = float(np.std(times, ddof=1)) if len(times) > 1 else None
    return {"mean": float(np.mean(times)), "stddev": spread, "median": float(np.median(times))}


def hyperfine_json(experiment: Experiment, verdict: CompareVerdict) -> str:
    """The shape of `hyperfine --export-json`, in seconds; a metric that was compared instead stands beside the times."""
    results = []
    for r in verdict.contenders:
        if not r.runs:
            continue
        key = r.name
        times = _seconds(experiment, key)
        result: dict[str, Any] = {"command": key, **_statistics(times)}
        result |= {n: float(np.mean(_series(experiment, key, f"{n}_s"))) for n in ("user", "system")}
        result |= {"min": float(np.min(times)), "max": float(np.max(times)), "times": times.tolist()}
        result["memory_usage_byte"] = [int(v) for v in _series(experiment, key, "peak_bytes")]
        result["exit_codes"] = [int(v) for v in _series(experiment, key, "exit_code")]
        if r.values:
            result["parameters"] = {k: str(v) for k, v in r.values.items()}
        results.append(result | _compared(experiment, key))
    return json.dumps({"results": results}, indent=2) + "\n"


def google_json(experiment: Experiment, verdict: CompareVerdict) -> str:
    """The shape of `--benchmark_out_format=json`: each run an iteration, and mean, median, stddev and cv of them."""
    machine, question = machine_of(experiment), question_of(experiment)
    context = {
        "date": question.started_at,
        "host_name": machine.hostname,
        "executable": "nodewise",
        "num_cpus": len(machine.pus),
        "mhz_per_cpu": round((machine.processor.frequency_hz or 0) / 1e6),
        "cpu_scaling_enabled": machine.processor.governor not in (None, "performance"),
        "caches": [
            {"type": kind.capitalize(), "level": level, "size": size, "num_sharing": sharing}
            for level, kind, size, sharing in sorted(
                {(c.level, c.content, c.size_bytes, len(c.pus)) for c in machine.caches}
            )
        ],
        "load_avg": [],
        "library_version": f"nodewise {question.version}",
        "library_build_type": "release",
        "json_schema_version": 1,
    }
    benchmarks: list[dict[str, Any]] = []
    for family, r in enumerate(verdict.contenders):
        shared = {"family_index": family, "per_family_instance_index": 0, "run_name": r.name}
        shared |= {"repetitions": r.runs, "threads": 1}
        if r.error:
            failed = {"run_type": "iteration", "repetition_index": r.runs, "iterations": 0, "real_time": 0.0}
            failed |= {"cpu_time": 0.0, "time_unit": "ms", "error_occurred": True, "error_message": r.error}
            benchmarks.append({"name": r.name, **shared, **failed})
        if not r.runs:
            continue
        real = _seconds(experiment, r.name)
        processor = _series(experiment, r.name, "user_s") + _series(experiment, r.name, "system_s")
        counters = _compared(experiment, r.name)
        benchmarks += [
            {"name": r.name, **shared, "run_type": "iteration", "repetition_index": i, "iterations": 1}
            | {"real_time": float(t) * 1e3, "cpu_time": float(c) * 1e3, "time_unit": "ms"}
            | {n: values[i] for n, values in counters.items()}
            for i, (t, c) in enumerate(zip(real, processor, strict=True))
        ]
        for name, function in _AGGREGATES.items():
            share = name == "cv"
            made = {"name": f"{r.name}_{name}", **shared, "run_type": "aggregate", "aggregate_name": name}
            made |= {"aggregate_unit": "percentage" if share else "time", "iterations": r.runs}
            scale = 1.0 if share else 1e3
            made |= {"real_time": function(real) * scale, "cpu_time": function(processor) * scale, "time_unit": "ms"}
            benchmarks.append(made | {n: function(np.array(values)) for n, values in counters.items()})
    return json.dumps({"context": context, "benchmarks": benchmarks}, indent=2) + "\n"


def _stddev(values: Any) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


_AGGREGATES: dict[str, Callable[[Any], float]] = {
    "mean": lambda v: float(np.mean(v)),
    "median": lambda v: float(np.median(v)),
    "stddev": _stddev,
    "cv": lambda v: _stddev(v) / float(np.mean(v)) if np.mean(v) else 0.0,
}


def table_csv(experiment: Experiment, verdict: CompareVerdict) -> str:
    """The columns of `hyperfine --export-csv`; a metric that was compared instead of the time has one of its own."""
    metric = next((n for r in verdict.contenders if r.runs for n in _compared(experiment, r.name)), None)
    names = list(dict.fromkeys(n for r in verdict.contenders for n in r.values))
    plain = ["command", "mean", "stddev", "median", "user", "system", "min", "max"]
    rows = []
    for r in verdict.contenders:
        if r.runs:
            times = _seconds(experiment, r.name)
            used = [float(np.mean(_series(experiment, r.name, n))) for n in ("user_s", "system_s")]
            told = ["" if v is None else v for v in _statistics(times).values()]
            numbers = [*told, *used, float(np.min(times)), float(np.max(times))]
            more = [r.median] if metric else []
            rows.append([r.name, *numbers, *(r.values.get(n, "") for n in names), *more])
    return csv_of([*plain, *(f"parameter_{n}" for n in names), *([metric] if metric else [])], rows)


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def _code(text: str) -> str:
    """A command as Markdown and AsciiDoc show code, whatever backticks are in it."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def _markdown(heads: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(_one_line(c).replace("|", "\\|") for c in cells) + " |"

    return [line(heads), line([":---", *["---:"] * (len(heads) - 1)]), *(line([_code(r[0]), *r[1:]]) for r in rows)]


def _asciidoc(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f'[cols="<{",>" * (len(heads) - 1)}"]', "|===", "".join(f"| {h} " for h in heads).rstrip(), ""]
    for row in rows:
        lines += [*(f"| {_one_line(c).replace('|', chr(92) + '|')}" for c in [f"`+{row[0]}+`", *row[1:]]), ""]
    return [*lines, "|==="]


def _orgmode(heads: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(_one_line(c).replace("|", "\\vert{}") for c in cells) + " |"

    return [line(heads), "|" + "+".join(["--"] * len(heads)) + "|", *(line([f"={r[0]}=", *r[1:]]) for r in rows)]


def export_text(kind: str, experiment: Experiment, verdict: CompareVerdict) -> str:
    """A comparison as `json`, `csv`, `markdown`, `asciidoc`, `orgmode` or `google-benchmark`."""
    shapes = {"json": hyperfine_json, "google-benchmark": google_json, "csv": table_csv}
    tables = {"markdown": _markdown, "asciidoc": _asciidoc, "orgmode": _orgmode}
    return shapes[kind](experiment, verdict) if kind in shapes else "\n".join(tables[kind](*table_rows(verdict))) + "\n"
