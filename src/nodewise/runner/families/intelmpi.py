# SPDX-License-Identifier: BSD-3-Clause
"""Intel MPI's mpirun, which is Hydra, too."""

from nodewise.runner.family import Family

FAMILY = Family(
    "intelmpi",
    "Intel MPI",
    programs=("mpiexec.hydra", "mpirun", "mpiexec"),
    says=r"Intel\(R\) MPI",
    each=("-ppn", "{n}"),
    libraries=("Intel MPI", "MPICH"),
    package="impi-rt, from PyPI",
    file="libmpi.so.12",
    # MPICH and all that keep to its binary interface call theirs so where nobody renames it
    own=r"libmpi\.so\.12",
    unbound=("-genv", "I_MPI_PIN", "0"),
)
