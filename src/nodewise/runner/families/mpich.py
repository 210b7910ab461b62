# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's mpiexec, which is Hydra (github.com/pmodels/mpich, doc/wiki/how_to/Using_the_Hydra_Process_Manager.md)."""

from nodewise.runner.family import Family

FAMILY = Family(
    "mpich",
    "MPICH",
    programs=("mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra", "mpiexec", "mpirun"),
    says="HYDRA build",
    each=("-ppn", "{n}"),
    libraries=("MPICH", "Intel MPI"),
    package="mpich",
    file="libmpich.so.12",
    own=r"libmpich\.so|libmpi_cray",
)
