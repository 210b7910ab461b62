# SPDX-License-Identifier: BSD-3-Clause
"""Peak of fused multiply-adds: the limit of everything that computes."""

from collections.abc import Mapping
from typing import Any

from nodewise.studies.contract import Knob, Study


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """Every chain counts up by one in each step, which both types hold exactly."""
    return {"end": inputs["start"] + float(point["steps"])}


STUDY = Study(
    name="flops",
    title="peak of fused multiply-adds, with everything in registers",
    knobs=(
        Knob("chains", "how many chains are counted up, shared out among the threads", "262144", most=2**32),
        # beyond, a chain of 32-bit floats would no longer be exact
        Knob("steps", "multiply-adds of each chain", "16384", quick="8192", most=2**21),
    ),
    default_variant="f64",
    plain_variant="plain",
    rate_unit="GFLOP/s",
    rate_scale=1e-9,
    test_points=(
        {"chains": "1", "steps": "1"},
        {"chains": "1", "steps": "2097152"},
        {"chains": "7", "steps": "3"},
        {"chains": "129", "steps": "1000"},
        {"chains": "255", "steps": "1"},
        {"chains": "1025", "steps": "4097"},
        {"chains": "100003", "steps": "17"},
    ),
    reference=reference,
)
