# SPDX-License-Identifier: BSD-3-Clause
"""Programs of physics and chemistry, with the systems that they compute."""

from __future__ import annotations

import os
import shlex

from benchmarks._real.catalogue import INPUTS, OPENBLAS, Case, Room, handicapped, program, with_parameter

#: Open MPI's mpirun starts nothing as root, unless told twice; and here it may have fewer cores than ranks.
_MPI = {
    **({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.getuid() == 0 else {}),
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


@program("GROMACS", {"gmx": "gromacs"})
def _gromacs(room: Room) -> list[Case]:
    """Boxes of water; steps are counted so that all settings do the same."""
    parameters = (INPUTS / "water.mdp").read_text()
    for name, edge in (("small", "3.2"), ("large", "4.5")):
        room.write("water.mdp", parameters)
        room.write(
            "topol.top",
            '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spc.itp"\n[ system ]\nwater\n[ molecules ]\n',
        )
        room.do(
            "gmx", "-quiet", "solvate", "-cs", "spc216", "-box", edge, edge, edge, "-o", "water.gro", "-p", "topol.top"
        )
        room.do("gmx", "-quiet", "grompp", "-f", "water.mdp", "-c", "water.gro", "-p", "topol.top", "-o", f"{name}.tpr")

    def run(name: str, steps: int, *more: str) -> tuple[str, ...]:
        return (
            "gmx",
            "-quiet",
            "-nobackup",
            "mdrun",
            "-s",
            f"{name}.tpr",
            "-deffnm",
            "out",
            "-nsteps",
            str(steps),
            "-noconfout",
            *more,
        )

    return [
        Case("small box", run("small", 400)),
        handicapped("small box, one thread", run("small", 400, "-ntmpi", "1"), "OMP_NUM_THREADS", "1"),
        with_parameter(
            "list of neighbours", run("large", 30, "-nstlist", "{nstlist}"), "nstlist", ["5", "10", "20", "40"]
        ),
        with_parameter("ranks", run("large", 30, "-ntmpi", "{ntmpi}"), "ntmpi", ["1", "2"]),
    ]


@program("LAMMPS", {"lmp": "lammps", "mpirun": "openmpi-bin"})
def _lammps(room: Room) -> list[Case]:
    melt = (INPUTS / "melt.lammps").read_text()
    room.write("melt.in", melt.replace("EDGE", "12").replace("STEPS", "120"))
    room.write("large.in", melt.replace("EDGE", "24").replace("STEPS", "15"))

    def run(name: str, *more: str) -> list[str]:
        return ["lmp", "-in", name, "-log", "none", "-screen", "none", *more]

    ranks = ["mpirun", "-n", "1", *run("large.in")]
    cure = shlex.join(["mpirun", "-n", "2", *run("large.in")])
    return [
        Case("melt", tuple(run("melt.in"))),
        Case("melt, ranks", tuple(ranks), ("--axes", "ranks,placement"), _MPI, "one rank on more cores", cure),
        with_parameter(
            "pair style", run("melt.in", "-var", "pair", "{pair}"), "pair", ["lj/cut", "lj/cut/opt"], "lj/cut/opt"
        ),
        with_parameter("skin", run("melt.in", "-var", "skin", "{skin}"), "skin", ["0.05", "0.2", "0.4", "0.8"]),
    ]


@program("CP2K", {"cp2k.psmp": "cp2k"})
def _cp2k(room: Room) -> list[Case]:
    water = (INPUTS / "water.cp2k").read_text()
    room.write("water.inp", water.replace("CUTOFF_RY", "200"))
    room.write("fine.inp", water.replace("CUTOFF_RY", "400"))
    return [
        Case("water", ("cp2k.psmp", "-i", "water.inp", "-o", "out.txt"), environment=_MPI),
        handicapped(
            "fine grid, one thread",
            ["cp2k.psmp", "-i", "fine.inp", "-o", "out.txt"],
            "OMP_NUM_THREADS",
            "1",
            environment=_MPI,
        ),
    ]


@program("HPCC", {"hpcc": "hpcc", **OPENBLAS})
def _hpcc(room: Room) -> list[Case]:
    room.write("hpccinf.txt", (INPUTS / "hpccinf.txt").read_text())
    return [
        Case("one rank", ("hpcc",), environment=_MPI),
        handicapped("old core type", ["hpcc"], "OPENBLAS_CORETYPE", "Prescott", environment=_MPI),
    ]
