# SPDX-License-Identifier: BSD-3-Clause
"""Large sparse systems solved by Krylov's methods: GMRES and Orthomin, preconditioned, over threads and ranks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Library, Published, Study, Table


def reference(inputs: Mapping[str, Any], _point: Mapping[str, str]) -> dict[str, Any]:
    """By elimination."""
    counts = inputs["counts"]
    whole = np.zeros((counts.size, counts.size))
    np.add.at(whole, (np.repeat(np.arange(counts.size), counts), inputs["columns"]), inputs["values"])
    return {"x": np.linalg.solve(whole, inputs["b"])}


def joined(parts: Sequence[Mapping[str, Any]], _point: Mapping[str, str]) -> dict[str, Any]:
    """Each rank has its rows of everything."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def report(result: Mapping[str, Any]) -> Sequence[str]:
    """How many iterations each took, and how long before them."""
    told = []
    for row in result["rows"]:
        metrics = row.get("metrics", {})
        if row["kind"] != "limit" and metrics.get("iterations") is not None:
            told.append(
                f"{row['contender']} {metrics['iterations']:.0f}, {1e3 * metrics.get('setup_s', 0):.4g} ms to set up"
            )
    return [f"iterations: {'; '.join(told)}"] if told else []


def result(outputs: Mapping[str, Any], _point: Mapping[str, str]) -> dict[str, Table]:
    """The solution."""
    return {"x": Table(("x",), outputs["x"][:, None])}


CASES = "matrices of 2 479 544 and 4 385 381 unknowns"

STUDY = Study(
    name="krylov",
    title="a large sparse system solved by GMRES and Orthomin with block Jacobi and ILU(0)",
    knobs=(
        Knob(
            "n",
            "points along a side of the cube on which diffusion and convection are solved: n³ unknowns",
            "135",
            quick="48",
            unless="file",
        ),
        Knob("flow", "Péclet number of a cell of it", "0.5", real=True, unless="file"),
        Knob("file", "a matrix to solve in place of it, of the Matrix Market", "", text=True),
        Knob("restart", "directions that are kept before all are forgotten", "30", most=1000),
        Knob("precondition", "by what", "ilu0", ("ilu0", "jacobi", "none")),
        Knob(
            "blocks",
            "of rows that are preconditioned by themselves, on each rank; 0: one for each thread",
            "0",
            least=0,
        ),
        Knob("tolerance", "of the residual, against the right side", "1e-8", real=True),
        Knob("most", "iterations after which it is given up", "10000"),
        Knob(
            "chunk",
            "elements that a blocked pass takes at a time",
            "16384",
            least=16,
            tries=("512", "2048", "4096", "8192", "16384", "32768"),
        ),
    ),
    default_variant="gmres",
    plain_variant="orthomin-modified",
    rate_unit="Munknowns/s",
    rate_scale=1e-6,
    test_points=(
        {"n": "1", "tolerance": "1e-12"},
        {"n": "2", "tolerance": "1e-12", "blocks": "5"},
        {"n": "3", "tolerance": "1e-12", "restart": "2", "precondition": "none"},
        {"n": "5", "tolerance": "1e-12", "precondition": "jacobi", "chunk": "16"},
        {"n": "7", "tolerance": "1e-12", "flow": "5", "restart": "7"},
        {"n": "9", "tolerance": "1e-12", "flow": "0", "blocks": "3", "chunk": "33"},
    ),
    reference=reference,
    joined=joined,
    fixed=("counts", "columns", "values"),
    tolerance={"x": (1e-9, 1e-10)},
    libraries={
        "petsc": Library(
            ("libpetsc_real.so.3.18", "libpetsc_real.so", "libpetsc.so"),
            "apt-get install libpetsc-real3.18",
            # the faults of a run are nodewise's to report
            env={"PETSC_OPTIONS": "-no_signal_handler"},
        )
    },
    published=(
        Published("orthomin", "against orthomin-modified, orthogonalisation alone", "1.5 to 2.5 times", CASES),
        Published("orthomin", "against orthomin-modified, whole solve", "1.1 to 1.5 times", CASES),
    ),
    bench=({}, {"n": "64"}, {"precondition": "jacobi", "n": "64"}, {"flow": "0", "n": "64"}),
    report=report,
    result=result,
)
