# SPDX-License-Identifier: BSD-3-Clause
"""Bandwidth of memory and caches: the limit of everything that moves data."""

from collections.abc import Mapping
from typing import Any

from nodewise.studies.contract import Knob, Study


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The triad; b is -2 c, so a copy gives the same."""
    return {"a": inputs["b"] + 3.0 * inputs["c"]}


STUDY = Study(
    name="bandwidth",
    title="bandwidth of memory and caches: read, write, copy and triad",
    knobs=(
        Knob(
            "kib", "KiB of each of three arrays, all threads together (default: four times all caches)", "", unit=2**10
        ),
        Knob("elements", "number of elements of each array, in place of its size", ""),
        Knob(
            "passes", "how often 48 bytes an element are moved (default: a few hundredths of a second)", "", quick="1"
        ),
    ),
    default_variant="triad",
    plain_variant="plain",
    rate_unit="GB/s",
    rate_scale=1e-9,
    test_points=(
        {"elements": "1", "passes": "1"},
        {"elements": "7", "passes": "3"},
        {"elements": "63", "passes": "2"},
        {"elements": "65", "passes": "1"},
        {"elements": "129", "passes": "1"},
        {"elements": "1003", "passes": "2"},
        {"kib": "3", "passes": "5"},
        {"elements": "100003", "passes": "2"},
    ),
    reference=reference,
    bench=({}, {"kib": "24"}, {"kib": "340"}, {"kib": "5333"}),
)
