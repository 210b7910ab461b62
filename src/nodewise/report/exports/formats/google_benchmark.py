# SPDX-License-Identifier: BSD-3-Clause
"""The JSON of Google Benchmark, as `--benchmark_out_format=json` writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nodewise.report.exports.exporter import Exporter

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored


def _aggregates() -> dict[str, Callable[[Any], float]]:
    import numpy as np

    def stddev(values: Any) -> float:
        return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0

    return {
        "mean": lambda v: float(np.mean(v)),
        "median": lambda v: float(np.median(v)),
        "stddev": stddev,
        "cv": lambda v: stddev(v) / float(np.mean(v)) if np.mean(v) else 0.0,
    }


def export(stored: Stored[Comparison]) -> str:
    """The shape of `--benchmark_out_format=json`: each run an iteration, and mean, median, stddev and cv of them."""
    import numpy as np

    from nodewise.report.exports.comparison import compared_of, series_of, times_of
    from nodewise.verdicts.confirm import comparison_of

    experiment, verdict = stored.experiment, comparison_of(stored)
    machine, question = stored.machine, stored.question
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
        real = times_of(experiment, r.name)
        processor = series_of(experiment, r.name, "user_s") + series_of(experiment, r.name, "system_s")
        counters = compared_of(experiment, r.name)
        benchmarks += [
            {"name": r.name, **shared, "run_type": "iteration", "repetition_index": i, "iterations": 1}
            | {"real_time": float(t) * 1e3, "cpu_time": float(c) * 1e3, "time_unit": "ms"}
            | {n: values[i] for n, values in counters.items()}
            for i, (t, c) in enumerate(zip(real, processor, strict=True))
        ]
        for name, function in _aggregates().items():
            share = name == "cv"
            made = {"name": f"{r.name}_{name}", **shared, "run_type": "aggregate", "aggregate_name": name}
            made |= {"aggregate_unit": "percentage" if share else "time", "iterations": r.runs}
            scale = 1.0 if share else 1e3
            made |= {"real_time": function(real) * scale, "cpu_time": function(processor) * scale, "time_unit": "ms"}
            benchmarks.append(made | {n: function(np.array(values)) for n, values in counters.items()})
    return json.dumps({"context": context, "benchmarks": benchmarks}, indent=2) + "\n"


EXPORTER = Exporter("google-benchmark", "Every run as JSON, in the shape of Google Benchmark", export)
