# SPDX-License-Identifier: BSD-3-Clause
"""What starts ranks, by name: data alone, which the command line lists; `runner.mpi` finds and reads them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A launcher of ranks: `programs` are its names, `says` what `--version` of it prints.

    `each` are the words for the number of ranks on each node, `{n}`. `libraries` are the families of MPI
    libraries whose programs it can start, `package` is what brings it, empty for the system itself. `file` is the library
    of its own by the name that a program asks the loader for, `subcommand` stands before its options (`flux run`).
    """

    name: str
    title: str
    programs: tuple[str, ...]
    says: str
    each: tuple[str, ...]
    libraries: tuple[str, ...]
    package: str
    file: str = ""
    subcommand: tuple[str, ...] = ()

    def words(self, program: str, ranks: int, per_node: int) -> tuple[str, ...]:
        """The words that start that many ranks, `per_node` on each node (0: as it deals them)."""
        each = [word.replace("{n}", str(per_node)) for word in self.each] if per_node else []
        return (program, *self.subcommand, "-n", str(ranks), *each)


#: By the order in which they are looked for.
FAMILIES = {
    family.name: family
    for family in (
        Family(
            *("openmpi", "Open MPI", ("mpirun.openmpi", "mpirun", "orterun", "prterun"), r"\((Open MPI|OpenRTE)\)"),
            *(("--map-by", "ppr:{n}:node"), ("Open MPI",), "openmpi-bin", "libmpi.so.40"),
        ),
        Family(
            *("mpich", "MPICH", ("mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra", "mpiexec", "mpirun"), "HYDRA build"),
            *(("-ppn", "{n}"), ("MPICH", "Intel MPI"), "mpich", "libmpich.so.12"),
        ),
        Family(
            *("intelmpi", "Intel MPI", ("mpiexec.hydra", "mpirun", "mpiexec"), r"Intel\(R\) MPI"),
            *(("-ppn", "{n}"), ("Intel MPI", "MPICH"), "impi-rt, from PyPI", "libmpi.so.12"),
        ),
        Family("srun", "Slurm", ("srun",), "^slurm", ("--ntasks-per-node", "{n}"), (), "slurm-client"),
        Family("aprun", "ALPS", ("aprun",), "ALPS|aprun", ("-N", "{n}"), (), ""),
    )
}
