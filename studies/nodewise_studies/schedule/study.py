# SPDX-License-Identifier: BSD-3-Clause
"""Loop schedules: a row-parallel matrix product under each of OpenMP's schedules, with rows of equal and unequal cost."""

from collections.abc import Mapping
from typing import Any

from nodewise.base.units import format_percent
from nodewise.studies.contract import Knob, Limit, Published, Study

#: A smaller difference than this is not spoken of, nor a smaller imbalance.
_MATTERS = 1.03
_WAITS = 1.05


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The product; elements of A past a row's length are zero."""
    n = int(point["n"])
    return {"c": (inputs["a"].reshape(n, n) @ inputs["b"].reshape(n, n)).ravel()}


def advise(result: Mapping[str, Any]) -> list[str]:
    """Which schedule won by how much over static, and the imbalance that explains it."""
    rows = {r["contender"]: r for r in result["rows"] if r["kind"] == "variant" and r.get("seconds")}
    plain = rows.get("static")
    if plain is None or len(rows) < 2:
        return []
    lines = [
        "imbalance: the longest time that a thread worked over the mean; 1 is even, and what is above is waited for"
    ]
    lines += [
        f"  {name:<10} {_imbalance(row):5.2f}   {plain['seconds'] / row['seconds']:.2f} x static"
        for name, row in sorted(rows.items(), key=lambda item: item[1]["seconds"])
    ]
    if result["threads"] == 1:
        return [*lines, "one thread does all rows: schedules differ by what they cost to administer, no more"]
    load = result["point"].get("load", "square")
    best = min(rows, key=lambda name: rows[name]["seconds"])
    gain = plain["seconds"] / rows[best]["seconds"]
    uneven = _imbalance(plain)
    if gain < _MATTERS:
        return [*lines, f"load={load}: no schedule is more than {format_percent(_MATTERS - 1)} faster than static"]
    lines.append(f"load={load}: {best} is {gain:.2f} times as fast as static")
    if uneven > _WAITS:
        waiting = format_percent(1 - 1 / uneven)
        lines.append(
            f"under static the longest thread works {uneven:.2f} times the mean, so {waiting} of the threads' time "
            f"is waiting; under {best} it is {_imbalance(rows[best]):.2f}"
        )
    else:
        lines.append("and static is even, so it is not the balance: look at caches, and at what else runs here")
    return lines


def _imbalance(row: Mapping[str, Any]) -> float:
    return float((row.get("metrics") or {}).get("imbalance") or float("nan"))


STUDY = Study(
    name="schedule",
    title="loop schedules: a matrix product by rows, with rows of equal and unequal cost",
    knobs=(
        Knob("n", "rows and columns", "501", quick="251", most=2**15),
        Knob(
            "load",
            "cost of row i: all equal, i + 1, or random with few long rows",
            "square",
            ("square", "triangular", "random"),
        ),
        Knob(
            "chunk",
            "rows handed out at a time; 0: as the schedule does by itself",
            "0",
            least=0,
            most=2**15,
            tries=("1", "8", "64"),
        ),
        Knob("order", "of the three loops", "ijk", ("ijk", "ikj")),
    ),
    default_variant="static",
    plain_variant="static",
    rate_unit="Gmultiply-add/s",
    rate_scale=1e-9,
    test_points=(
        {"n": "1"},
        {"n": "2", "load": "triangular"},
        {"n": "17", "chunk": "3"},
        {"n": "63", "load": "triangular", "chunk": "64"},
        {"n": "65", "order": "ikj", "chunk": "1"},
        {"n": "129", "load": "triangular", "order": "ikj"},
        {"n": "101", "load": "random", "chunk": "7"},
        {"n": "131", "load": "random", "order": "ikj"},
    ),
    reference=reference,
    # of up to 131 terms below 1
    tolerance={"c": (1e-12, 1e-13)},
    for_scale=("numpy_product",),
    limits=(Limit("flops", "f64", per="flops"),),
    published=(
        Published(
            "",
            "the row loop's schedule (static, dynamic, guided, auto, runtime) and chunk were swept, as threads were",
            "no figure",
            "the published parallel matrix product",
        ),
    ),
    bench=({"load": "square"}, {"load": "triangular"}, {"load": "random"}),
    advise=advise,
)
