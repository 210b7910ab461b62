# SPDX-License-Identifier: BSD-3-Clause
"""Python programs whose time goes into a library."""

from __future__ import annotations

import sys

from benchmarks._real.catalogue import INPUTS, OPENBLAS, Case, Room, handicapped, program, with_parameter

#: Debian's own Python, for which its packages are.
_SYSTEM_PYTHON = "/usr/bin/python3"


@program("NumPy", modules=["numpy"])
def _numpy(room: Room) -> list[Case]:
    del room
    script = [sys.executable, str(INPUTS / "numpy_work.py")]
    return [
        Case("temporaries", (*script, "temporaries")),
        handicapped("product, old core type", [*script, "product"], "OPENBLAS_CORETYPE", "Nehalem"),
        handicapped("product, one thread", [*script, "product"], "OPENBLAS_NUM_THREADS", "1"),
        Case("eigenvalues", (*script, "eigenvalues")),
    ]


@program("polars", modules=["polars"])
def _polars(room: Room) -> list[Case]:
    script = [sys.executable, str(INPUTS / "polars_query.py")]
    room.do(*script, "make", "trips.parquet")
    return [
        Case("group", (*script, "group", "trips.parquet")),
        handicapped("join, one thread", [*script, "join", "trips.parquet"], "POLARS_MAX_THREADS", "1"),
        Case("sort", (*script, "sort", "trips.parquet")),
    ]


@program("scikit-learn", modules=["scikit-learn"])
def _scikit_learn(room: Room) -> list[Case]:
    del room
    script = [sys.executable, str(INPUTS / "sklearn_fit.py")]
    return [
        Case("k-means", (*script, "kmeans")),
        handicapped("boosting, one thread", [*script, "boosting"], "OMP_NUM_THREADS", "1"),
        with_parameter("forest, jobs", [*script, "forest", "{jobs}"], "jobs", ["1", "2"], "2"),
        handicapped("components, old core type", [*script, "components"], "OPENBLAS_CORETYPE", "Nehalem"),
    ]


@program(
    "PyTorch",
    {_SYSTEM_PYTHON: "python3", "/usr/lib/python3/dist-packages/torch/__init__.py": "python3-torch", **OPENBLAS},
)
def _torch(room: Room) -> list[Case]:
    del room
    script = [_SYSTEM_PYTHON, str(INPUTS / "torch_train.py")]
    return [
        Case("convolutions", (*script, "convolutions")),
        handicapped("layers, old core type", [*script, "layers"], "OPENBLAS_CORETYPE", "Nehalem"),
        Case("layers", (*script, "layers")),
    ]
