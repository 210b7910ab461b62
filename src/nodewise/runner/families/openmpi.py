# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI's mpirun (docs.open-mpi.org, man-openmpi/man1/mpirun.1.html)."""

from nodewise.runner.family import Family

FAMILY = Family(
    "openmpi",
    "Open MPI",
    programs=("mpirun.openmpi", "mpirun", "orterun", "prterun"),
    says=r"\((Open MPI|OpenRTE)\)",
    each=("--map-by", "ppr:{n}:node"),
    libraries=("Open MPI",),
    package="openmpi-bin",
    file="libmpi.so.40",
    own=r"libmpi\.so\.(20|40|80)",
    unbound=("--bind-to", "none"),
)
