# SPDX-License-Identifier: BSD-3-Clause
"""Gram-Schmidt as Krylov solvers do it: a vector made orthogonal to all before it, and a second basis combined alike."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Library, Limit, Published, Study

LIMIT = "bandwidth read"


def _vectors(point: Mapping[str, str]) -> int:
    return int(point.get("vectors", "32"))


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """By Householder's reflections; of all such bases the one whose R has a positive diagonal."""
    count = _vectors(point)
    given = np.asarray(inputs["V"]).reshape(count, -1)
    q, r = np.linalg.qr(given.T)
    signs = np.where(np.diag(r) < 0, -1.0, 1.0)
    r = signs[:, None] * r
    second = np.asarray(inputs["D0"])
    # D R = D0, a vector a row
    d = np.linalg.solve(r.T, second.reshape(count, -1)) if second.size else second
    return {"Q": (q * signs).T.ravel(), "R": r.ravel(), "D": np.ravel(d)}


def joined(parts: Sequence[Mapping[str, Any]], point: Mapping[str, str]) -> dict[str, Any]:
    """Each rank has its part of every vector, and all of R."""
    count = _vectors(point)
    shared = ("V", "D0", "Q", "D")
    whole = {name: np.hstack([part[name].reshape(count, -1) for part in parts]).ravel() for name in shared}
    return {**whole, "R": parts[0]["R"]}


def report(result: Mapping[str, Any]) -> Sequence[str]:
    """What the traffic that each counts takes at the rate of the limit, beside what it took."""
    limit = next((row for row in result["rows"] if row["contender"] == LIMIT and row.get("seconds")), None)
    moved = result["work"].get("bytes")
    if limit is None or not moved:
        return []
    rate = moved / limit["seconds"]
    told = []
    for row in result["rows"]:
        if row["kind"] != "limit" and row.get("seconds") and row.get("bytes"):
            predicted = row["bytes"] / rate
            told.append(f"{row['contender']} {1e3 * predicted:.4g} ms of {1e3 * row['seconds']:.4g} ms")
    if not told:
        return []
    return [
        "what each moves between memory and the last cache, by its passes, at the rate of the limit, and what it took: "
        f"{'; '.join(told)}"
    ]


WHERE = "MPI on 1 to 16 processes, 32 vectors"

STUDY = Study(
    name="gramschmidt",
    title="vectors made orthonormal one after the other, as in a Krylov solver, with a second basis that follows",
    knobs=(
        Knob("n", "elements of a vector, over all ranks", "2097152", quick="262144"),
        Knob("vectors", "how many", "32", most=1024),
        Knob("update", "whether a second basis gets the same combinations", "yes", ("yes", "no")),
        Knob(
            "chunk",
            "elements that a blocked pass takes at a time",
            "16384",
            least=16,
            tries=("512", "2048", "4096", "8192", "16384", "32768"),
        ),
        Knob(
            "panel",
            "vectors that `panels` takes together; 0: as many as stay in the cache",
            "0",
            least=0,
            tries=("0", "1", "2", "4", "8", "16", "1024"),
        ),
        Knob(
            "condition",
            "of the vectors that are given, 1: random ones; 1e8 shows what loses orthogonality",
            "1",
            real=True,
        ),
    ),
    default_variant="panels",
    plain_variant="modified",
    rate_unit="GFLOP/s",
    rate_scale=1e-9,
    test_points=(
        {"n": "1", "vectors": "1"},
        {"n": "16", "vectors": "1", "update": "no"},
        {"n": "5", "vectors": "2"},
        {"n": "33", "vectors": "9", "chunk": "16", "panel": "4"},
        {"n": "100", "vectors": "33", "chunk": "33", "update": "no"},
        {"n": "4097", "vectors": "7", "condition": "1000"},
        {"n": "2049", "vectors": "12", "panel": "1"},
        {"n": "10007", "vectors": "13", "chunk": "999"},
    ),
    reference=reference,
    joined=joined,
    # a condition of at most 1000, sums of up to 10 007 products
    tolerance={"Q": (1e-9, 1e-10), "R": (1e-9, 1e-9), "D": (1e-8, 1e-8)},
    limits=(Limit("bandwidth", "read", per="bytes"),),
    libraries={
        "petsc": Library(
            ("libpetsc_real.so.3.18", "libpetsc_real.so", "libpetsc.so"),
            "apt-get install libpetsc-real3.18",
            # the faults of a run are nodewise's to report
            env={"PETSC_OPTIONS": "-no_signal_handler"},
        )
    },
    published=(
        Published("classic", "chunk of a sweep that was best", "2048 elements", WHERE),
        Published("classic", "against modified, largest sizes", "more than 2 times as fast", WHERE),
        Published("classic", "against modified, sizes between, 8 processes or more", "slower", WHERE),
        Published("classic", "share of the time in communication", "1.7% (modified: 15.3%)", "16 processes"),
        Published("classic", "time in sums over the ranks", "6.28 s (modified: 36 s)", "16 processes"),
    ),
    bench=({}, {"n": "262144"}, {"n": "4096"}, {"update": "no"}, {"condition": "1e8"}),
    report=report,
)
