# SPDX-License-Identifier: BSD-3-Clause
"""Results of studies and rooflines as they are stored, without a clock."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.experiments.roofline import bound_of
from nodewise.records.result_store import ROOFLINE, STUDY, keep_result
from nodewise.report.stored import redraw_page
from tests.surfaces import machine


def row(name: str, kind: str, seconds: float | None, **more: Any) -> dict[str, Any]:
    """A row of 1e9 items in so many seconds; None did not run."""
    rate = 1.0 / seconds if seconds else None
    made: dict[str, Any] = {"contender": name, "kind": kind, "threads": 2, "point": {"n": "1024"}, "seconds": seconds}
    made |= {"rate": rate, "unit": "Gitems/s", "ratio_to_best_peer": 0.04 / seconds if seconds else None}
    made |= {"low": 0.039 / seconds if seconds else None, "high": 0.041 / seconds if seconds else None}
    made |= {"ratio_to_plain": [0.1 / seconds, None, None] if seconds else None}
    made |= {"share_of_limit": 0.02 / seconds if seconds else None, "verified": kind != "limit" or None}
    made |= {"best_peer": "library" if seconds and kind == "variant" else None, "reason": "", "disturbed": 0}
    made |= {"verdict": None if not seconds else "faster" if seconds < 0.04 else "slower"}
    made |= {"for_scale": False, "not_run": None if seconds else "scikit-learn is not installed"}
    return {**made, **more}


def study_result(point: dict[str, str] | None = None, seconds: float = 0.025) -> dict[str, Any]:
    """A study with two variants, two peers of which one is missing, and two limits."""
    best = row("blocked", "variant", seconds, flops=4e9, bytes=2e9, metrics={"error_ulp": 1.5})
    best |= {"rate_low": 0.98 / seconds, "rate_high": 1.03 / seconds}
    rows = [best, row("plain", "variant", 0.1), row("library", "peer", 0.04), row("absent", "peer", None)]
    rows += [row("flops f64", "limit", 0.02), row("bandwidth triad", "limit", 0.01)]
    published = {"contender": "plain", "what": "rate with **60** threads", "value": "12", "where": "61 cores"}
    result: dict[str, Any] = {
        "study": "pretend",
        "title": "a study that is none",
        "threads": 2,
        "point": point or {"n": "1024"},
    }
    return {
        **result,
        "blocks": 25,
        "disturbed": 0,
        "conditions": [],
        "seconds_spent": 61.0,
        "plain_variant": "plain",
        "published": [published],
        "rows": rows,
    }


def roofline_result(kernels: int = 8) -> dict[str, Any]:
    """A roofline with kernels on the slope, below the peak and without bytes."""
    rates = {"f64 peak": 238.0, "f32 peak": 476.0, "L1": 938.0, "L2": 420.0, "L3": 214.0, "memory": 81.0}
    roofs: list[dict[str, Any]] = [
        {"name": name, "kind": "flops" if "peak" in name else "bandwidth", "rate": rate * 1e9, "median": rate * 0.9e9}
        | {
            "low": rate * 0.8e9,
            "way": "f64" if "peak" in name else "read",
            "point": {"kib": "24"} if rate > 500 else {},
        }
        for name, rate in rates.items()
    ]
    shapes = [(85.0, 215.0, 1.9), (3.1, 190.0, 31.0), (16.0, 160.0, 9.0), (0.9, 61.0, 14.0)]
    shapes += [(0.25, 18.0, 6.0), (0.5, 33.0, 21.0), (None, 60.0, 1.2), (20.9, 14.0, 12.0)]
    placed = []
    for number, (intensity, best, plain) in enumerate(shapes[:kernels]):
        for role, rate in (("best", best * 1e9), ("plain", plain * 1e9)):
            moved = 1e9 / intensity if intensity else None
            kernel = {"study": f"study{number}", "contender": f"way-{role}", "role": role, "point": {"n": "64"}}
            kernel |= {"flops": 1e9, "bytes": moved, "seconds": 1e9 / rate, "intensity": intensity, "rate": rate}
            placed.append({**kernel, "low": rate, "high": rate, **bound_of(intensity, rate, "f64 peak", roofs)})
    left_out = [{"study": "is", "why": "its work is not counted in floating-point operations"}]
    return {"threads": 2, "roofs": roofs, "kernels": placed, "left_out": left_out, "blocks": 5, "seconds_spent": 88.0}


def study_page_of(results: Mapping[str, Any] | Sequence[Mapping[str, Any]], readme: str, folder: Path) -> Path:
    """The page of stored results, of one run or several."""
    several = [results] if isinstance(results, Mapping) else list(results)
    keep_result(folder, STUDY, {"readme": readme, "results": several}, machine(2, 1), {}, ("nodewise",))
    return redraw_page(folder)


def roofline_page_of(result: Mapping[str, Any], folder: Path) -> Path:
    """The page of a stored roofline."""
    keep_result(folder, ROOFLINE, {"result": dict(result)}, machine(2, 1), {}, ("nodewise",))
    return redraw_page(folder)
