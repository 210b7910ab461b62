# SPDX-License-Identifier: BSD-3-Clause
"""gomp: GOMP_CPU_AFFINITY, of GNU's OpenMP runtime, which alone binds outside of what a process may use."""

from __future__ import annotations

from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Places, Text
from nodewise.placement.openmp.gnu_text import read_gomp
from nodewise.placement.openmp.runtimes import OPENMP
from nodewise.placement.rendering import Rendering, single


def write_gomp(machine: Machine, places: Places) -> Rendering:
    """`GOMP_CPU_AFFINITY` with a processor for each thread; raises NotExpressibleError where a thread may use several."""
    numbers = single("GOMP_CPU_AFFINITY", places)
    return Rendering({"OMP_NUM_THREADS": str(len(places)), "GOMP_CPU_AFFINITY": ",".join(map(str, numbers))})


DIALECT = Dialect(
    name="gomp",
    texts=(
        Text(
            "gomp",
            "GOMP_CPU_AFFINITY, such as '0 3 1-2 4-15:2'.",
            variable="GOMP_CPU_AFFINITY",
            read=read_gomp,
            runtimes=("gnu",),
        ),
    ),
    threads=OPENMP,
    write_process=write_gomp,
    outside=True,
)
