# SPDX-License-Identifier: BSD-3-Clause
"""Products of logarithms: c[i] = log(a[i]) log(b[i])."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Library, Limit, Published, Study

WHERE = "272 threads, arrays of 100 Mi doubles, input=signed"
HYBRID = "512 Mi elements divided by the ranks, called from Python, input=unit"


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The logarithms in extended precision where NumPy has it, so that only the product is rounded to a double."""
    with np.errstate(all="ignore"):
        product = np.log(inputs["a"].astype(np.longdouble)) * np.log(inputs["b"].astype(np.longdouble))
        return {"c": product.astype(np.float64)}


def joined(parts: Sequence[Mapping[str, Any]], point: Mapping[str, str]) -> dict[str, Any]:
    """Each rank has its part of each array."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


STUDY = Study(
    name="veclog",
    title="products of logarithms of two arrays: what optimisation, vectors and the way of storing are worth",
    knobs=(
        Knob("n", "elements of an array", "104857600", quick="4194304"),
        Knob(
            "input",
            "arguments: in (1, 2), in (-1, 1), of all magnitudes, or of all kinds",
            "unit",
            ("unit", "signed", "wide", "special"),
        ),
        Knob(
            "store",
            "how `simd` stores: past the caches, through them, or by size",
            "auto",
            ("auto", "stream", "cached"),
            tries=("auto", "stream", "cached"),
        ),
    ),
    default_variant="simd",
    plain_variant="parallel-O3",
    rate_unit="M/s",
    rate_scale=1e-6,
    test_points=(
        {"n": "1", "input": "unit"},
        {"n": "7", "input": "wide"},
        {"n": "8", "input": "special", "store": "stream"},
        {"n": "1003", "input": "signed"},
        {"n": "65", "input": "special"},
        {"n": "100003", "input": "unit", "store": "cached"},
        {"n": "100001", "input": "wide", "store": "stream"},
        {"n": "100007", "input": "special", "store": "stream"},
    ),
    reference=reference,
    joined=joined,
    # 4 ulp in each logarithm, the widest promise of a contender, and the product's rounding
    tolerance={"c": (12 * 2.0**-52, 0.0)},
    limits=(Limit("bandwidth", "triad", per="bytes"),),
    libraries={
        "svml": Library(
            files=("libsvml.so",),
            install="pip install intel-cmplr-lib-rt",
            wheels=("lib/libsvml.so*",),
        ),
        "sleef": Library(files=("libsleef.so.3", "libsleef.so"), install="apt-get install libsleef3"),
    },
    published=(
        Published("serial-O0", "time of a call", "28.74 s (2874 s for 100)", WHERE.replace("272 threads", "1 thread")),
        Published("parallel-O0", "time of a call, GCC", "260 ms (26.0 s for 100)", WHERE),
        Published("parallel-O0", "time of a call, ICC", "239 ms (23.9 s for 100)", WHERE),
        Published("parallel-O3", "time of a call, with AVX-512", "210 ms (21.0 s for 100)", WHERE),
        Published("", "10 calls, 2 ranks of 136 threads", "14–15 s", HYBRID),
        Published("", "10 calls, 4 ranks of 68 threads", "15–16 s", HYBRID),
        Published("", "10 calls, 4 ranks of 34 threads", "17–18 s", HYBRID),
    ),
    bench=({}, {"n": "4194304"}, {"n": "16384"}, {"input": "signed"}, {"input": "wide"}),
)
