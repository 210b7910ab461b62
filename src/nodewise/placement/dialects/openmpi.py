# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI's mpirun of the version that is on PATH: 4 and 5 place ranks by rules of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Starter, Text
from nodewise.placement.job import Job
from nodewise.placement.mpi_version import open_mpi
from nodewise.placement.placement import Placement
from nodewise.placement.rendering import Rendering

Reader = Callable[[Machine, str, Job], tuple[Placement, list[str]]]


def read_openmpi(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where the mpirun on PATH puts ranks, and in the notes which it is and whether the other version does otherwise.

    Raises InputError as its version does.
    """
    from nodewise.placement.openmpi4 import read_openmpi4
    from nodewise.placement.openmpi5 import read_openmpi5

    found = open_mpi()
    read, other, name = (
        (read_openmpi5, read_openmpi4, "4.1") if found.major >= 5 else (read_openmpi4, read_openmpi5, "5.0")
    )
    try:
        placed, notes = read(machine, text, job)
    except InputError as problem:
        raise InputError(f"{problem.what} ({found.why})", problem.hint) from problem
    return placed, [found.why, *notes, *_differs(placed, other, name, (machine, text, job))]


def _differs(placed: Placement, other: Reader, name: str, asked: tuple[Machine, str, Job]) -> list[str]:
    """The note that another version places ranks otherwise, or refuses the options; none where it does the same."""
    option = f"--openmpi{name[0]} shows it"
    try:
        there, _ = other(*asked)
    except InputError as problem:
        return [f"Open MPI {name} does otherwise: {problem.what}"]
    if (there.zones, there.order) == (placed.zones, placed.order):
        return []
    return [f"Open MPI {name} does otherwise with these options: {option}"]


def write_openmpi(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Rendering:
    """mpirun's options or a rank file in the words of the mpirun on PATH, which a note names."""
    from nodewise.placement.openmpi4 import write_openmpi4
    from nodewise.placement.openmpi5 import write_openmpi5

    found = open_mpi()
    written = (write_openmpi5 if found.major >= 5 else write_openmpi4)(machine, placement, hosts)
    return replace(written, notes=(found.why, *written.notes))


#: Options that are followed by a word, besides the number of ranks.
_VALUES = (
    *(
        "-H",
        "-N",
        "-c",
        "-i",
        "-o",
        "-x",
        "--host",
        "-host",
        "--hostfile",
        "-hostfile",
        "--machinefile",
        "-machinefile",
    ),
    *(
        "--map-by",
        "-map-by",
        "--bind-to",
        "-bind-to",
        "--rank-by",
        "-rank-by",
        "--npernode",
        "-npernode",
        "--wdir",
        "-wdir",
    ),
)

DIALECT = Dialect(
    name="openmpi",
    texts=(Text("openmpi", "Options of Open MPI's mpirun, of the version on PATH, such as '--map-by numa:PE=4'."),),
    launch=read_openmpi,
    write_job=write_openmpi,
    pins={
        "OMPI_MCA_hwloc_base_binding_policy": "Open MPI binds ranks",
        "PRTE_MCA_hwloc_default_binding_policy": "Open MPI binds ranks",
    },
    rank=("OMPI_COMM_WORLD_RANK", "PMIX_RANK"),
    local_rank=("OMPI_COMM_WORLD_LOCAL_RANK",),
    starter=Starter(
        programs=("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun"),
        counts=("-n", "-np", "--np"),
        values={1: _VALUES, 2: ("--mca", "-mca", "--gmca", "-gmca", "--prtemca")},
        # Open MPI 4 and 5 have one each
        unbound={
            "orterun": {"OMPI_MCA_hwloc_base_binding_policy": "none"},
            "prterun": {"PRTE_MCA_hwloc_default_binding_policy": "none"},
        },
    ),
)
