# SPDX-License-Identifier: BSD-3-Clause
"""Latency of memory and caches: the limit of everything that follows pointers."""

from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.studies.contract import Knob, Study


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """So many lines further on."""
    order = inputs["order"]
    return {"end": order[[int(point["steps"]) % order.size]]}


def report(result: Mapping[str, Any]) -> Sequence[str]:
    """How long a load takes."""
    for row in result["rows"]:
        if row["contender"] == "chase" and row["seconds"] is not None:
            nanoseconds = 1e9 * row["seconds"] / float(row["point"]["steps"])
            return [f"a load that waits for the one before it takes {nanoseconds:.3g} ns"]
    return []


STUDY = Study(
    name="latency",
    title="latency of memory and caches: loads that wait for each other",
    knobs=(
        Knob(
            "kib",
            "KiB that are walked over, all threads together",
            "524288",
            quick="65536",
            least=1,
            most=2**31,
            unit=2**10,
        ),
        Knob("steps", "loads of each thread", "2000000", quick="1000000", least=1, most=2**40),
    ),
    default_variant="chase",
    plain_variant="chase",
    rate_unit="Mloads/s",
    rate_scale=1e-6,
    test_points=(
        {"kib": "1", "steps": "1"},
        {"kib": "1", "steps": "1000"},
        {"kib": "3", "steps": "48"},
        {"kib": "7", "steps": "100003"},
        {"kib": "4097", "steps": "65537"},
    ),
    reference=reference,
    bench=({}, {"kib": "16"}, {"kib": "512"}),
    report=report,
)
