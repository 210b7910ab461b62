# SPDX-License-Identifier: BSD-3-Clause
"""The JSON of `hyperfine --export-json`, so that its plotters read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nodewise.report.exports.exporter import Exporter

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored


def export(stored: Stored[Comparison]) -> str:
    """The shape of `hyperfine --export-json`, in seconds; a metric that was compared instead is there along with the times."""
    import numpy as np

    from nodewise.report.exports.comparison import compared_of, series_of, statistics_of, times_of
    from nodewise.verdicts.confirm import comparison_of

    experiment, verdict = stored.experiment, comparison_of(stored)
    results = []
    for r in verdict.contenders:
        if not r.runs:
            continue
        key = r.name
        times = times_of(experiment, key)
        result: dict[str, Any] = {"command": key, **statistics_of(times)}
        result |= {n: float(np.mean(series_of(experiment, key, f"{n}_s"))) for n in ("user", "system")}
        result |= {"min": float(np.min(times)), "max": float(np.max(times)), "times": times.tolist()}
        result["memory_usage_byte"] = [int(v) for v in series_of(experiment, key, "peak_bytes")]
        result["exit_codes"] = [int(v) for v in series_of(experiment, key, "exit_code")]
        if r.values:
            result["parameters"] = {k: str(v) for k, v in r.values.items()}
        results.append(result | compared_of(experiment, key))
    return json.dumps({"results": results}, indent=2) + "\n"


EXPORTER = Exporter("json", "Every run as JSON, in the shape of hyperfine", export)
