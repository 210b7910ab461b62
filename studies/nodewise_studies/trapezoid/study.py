# SPDX-License-Identifier: BSD-3-Clause
"""Trapezoid rule: four ways to compute the same integral, which show that a higher rate is not a shorter time."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Limit, Published, Study

_WHERE = "the published table, its machine not named"


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The rule by its definition, one integral after the other."""
    count = int(point["intervals"])
    values = []
    for a, b in zip(inputs["from"], inputs["to"], strict=True):
        y = 4 / (1 + np.linspace(a, b, count + 1) ** 2)
        values.append((y.sum() - (y[0] + y[-1]) / 2) * (b - a) / count)
    return {"integral": np.array(values)}


def tell(result: Mapping[str, Any]) -> list[str]:
    """Speedup, rate and redundancy against the first implementation, and what they mean together."""
    # a peer's own flops are not known
    rows = {r["contender"]: r for r in result["rows"] if r["kind"] == "variant" and r.get("seconds") and r.get("flops")}
    first = rows.pop("original", None)
    if first is None:
        return []
    seen = {name: _against(first, row) for name, row in rows.items()}
    lines = ["against original, counted by each contender's own flops:"]
    for name, (speed, rate, redundancy) in seen.items():
        lines.append(f"  {name:<10} speed x{speed:7.2f}   rate x{rate:7.2f}   redundancy {redundancy:5.2f}")
    if "third" in seen:
        speed, rate, redundancy = seen["third"]
        lines.append(
            f"third's rate is {rate:.3g} times the first's but it is only {speed:.3g} times as fast: it spends "
            f"{redundancy:.3g} flops where the first spends one (published: rate 67, speed 32, redundancy 2.1)"
        )
    if "third" in rows and "fourth" in rows:
        speed, rate, redundancy = _against(rows["third"], rows["fourth"])
        word = "lower" if rate < 0.97 else "higher" if rate > 1.03 else "the same"
        lines.append(
            f"fourth's rate is {word} (x{rate:.2f} of third's){' and yet it' if rate <= 1.03 and speed > 1 else '; it'} is "
            f"{speed:.2f} times as fast, with {redundancy:.2f} of the flops (published: rate 0.9, speed 1.9): algebra came "
            "before the vectors"
        )
    best = min(rows, key=lambda name: rows[name]["seconds"], default=None)
    if best is not None and seen[best][1] < max(rate for _, rate, _ in seen.values()):
        fastest = max(seen, key=lambda name: seen[name][1])
        lines.append(f"{best} is done first; the highest rate is {fastest}'s, which takes longer")
    return lines


def _against(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, float, float]:
    """Speedup, ratio of rates and redundancy of the other against one; the second is the product of the others."""
    speed = one["seconds"] / other["seconds"]
    redundancy = other["flops"] / one["flops"]
    return speed, speed * redundancy, redundancy


STUDY = Study(
    name="trapezoid",
    title="trapezoid rule, four published implementations and two more: performance is not execution rate",
    knobs=(
        Knob("intervals", "intervals of an integral", "50000000", quick="5000000", most=2**30),
        Knob("integrals", "number of integrals, one after the other", "1", most=2**20),
        Knob(
            "division",
            "how third, fourth and threaded divide: by the instruction, or by an estimate that is refined",
            "refined",
            ("refined", "instruction"),
            tries=("refined", "instruction"),
        ),
    ),
    default_variant="threaded",
    plain_variant="original",
    rate_unit="Mintervals/s",
    rate_scale=1e-6,
    test_points=(
        {"intervals": "1", "integrals": "1"},
        {"intervals": "2", "integrals": "17"},
        {"intervals": "7", "integrals": "3", "division": "instruction"},
        {"intervals": "34", "integrals": "1"},
        {"intervals": "1023", "integrals": "5", "division": "instruction"},
        # where the check goes over from the plain sum to the expansion
        {"intervals": "65536", "integrals": "2"},
        {"intervals": "65537", "integrals": "2"},
        {"intervals": "1000003", "integrals": "1", "division": "instruction"},
        {"intervals": "4099", "integrals": "17"},
    ),
    reference=reference,
    tolerance={"integral": (1e-9, 0.0)},
    limits=(Limit("flops", "f64", per="flops"),),
    published=(
        Published("original", "CPU seconds; rate; flops", "20.90579 s; 23.92 Mflop/s; 500,000,946", _WHERE),
        Published("second", "CPU seconds; rate; flops", "8.02257 s; 74.79 Mflop/s; 600,000,945", _WHERE),
        Published("third", "CPU seconds; rate; flops", "0.65617 s; 1600.20 Mflop/s; 1,050,001,011", _WHERE),
        Published("fourth", "CPU seconds; rate; flops", "0.34496 s; 1449.45 Mflop/s; 500,001,019", _WHERE),
        Published("third", "against the first", "rate x67, speed x32, redundancy 2.1", _WHERE),
        Published("fourth", "against the first; against the third", "rate x61, speed x61; x0.9, x1.9", _WHERE),
    ),
    bench=({}, {"division": "instruction"}),
    tell=tell,
)
