# SPDX-License-Identifier: BSD-3-Clause
"""Integer sort (NAS IS): the ranks of random keys, ten times."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Published, Study


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """ranks[k] = how many keys are k or less."""
    return {"ranks": np.cumsum(np.bincount(inputs["keys"], minlength=int(point["max_key"])))}


STUDY = Study(
    name="is",
    title="integer sort of the NAS Parallel Benchmarks: ranks of random keys, ten iterations",
    knobs=(
        Knob("class", "size of the benchmark", "B", ("S", "W", "A", "B", "C", "D"), quick="A"),
        Knob("counter", "bits of a counter in the variant narrow", "8", ("8", "16"), tries=("8", "16")),
        Knob("keys", "number of keys, in place of the class's", "", most=2**31),
        Knob("max_key", "number of key values, in place of the class's", "", most=2**30),
    ),
    default_variant="bucketed",
    plain_variant="bucketed",
    rate_unit="Mkeys/s",
    rate_scale=1e-6,
    test_points=(
        {"keys": "1", "max_key": "1"},
        {"keys": "1", "max_key": "100"},
        {"keys": "3", "max_key": "2"},
        {"keys": "7", "max_key": "17"},
        {"keys": "1023", "max_key": "1025"},
        # so few values that narrow counters run over many times
        {"keys": "1000003", "max_key": "5"},
        {"keys": "70001", "max_key": "1"},
        {"keys": "300007", "max_key": "300", "counter": "16"},
        {"keys": "100001", "max_key": "999983"},
    ),
    reference=reference,
    published=(
        Published("bucketed", "placements compared", "`balanced` with 183 threads best", "61 cores × 4 threads"),
        Published("bucketed", "placement compact", "grew linearly with the threads", "61 cores × 4 threads"),
    ),
)
