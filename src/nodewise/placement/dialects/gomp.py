# SPDX-License-Identifier: BSD-3-Clause
"""gomp: GOMP_CPU_AFFINITY, of GNU's OpenMP runtime, which alone binds outside of what a process may use.

Intel's and LLVM's read it, too, where KMP_AFFINITY names no type, and before OpenMP's own variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Places, Silence, Text, Trap
from nodewise.placement.openmp.gnu_text import read_gomp
from nodewise.placement.openmp.runtimes import KMP, OPENMP, RUNTIMES
from nodewise.placement.placement import Placement
from nodewise.placement.rendering import Rendering, single

if TYPE_CHECKING:
    from nodewise.placement.resolve import Request


def write_gomp(machine: Machine, places: Places) -> Rendering:
    """`GOMP_CPU_AFFINITY` with a processor for each thread; raises NotExpressibleError where a thread may use several."""
    numbers = single("GOMP_CPU_AFFINITY", places)
    return Rendering({"OMP_NUM_THREADS": str(len(places)), "GOMP_CPU_AFFINITY": ",".join(map(str, numbers))})


def _traps(machine: Machine, placement: Placement, request: Request, environment: Mapping[str, str]) -> list[Trap]:
    """Threads outside of what a process may use, where it is not known whether that is by a mask or by a cpuset."""
    outside = set(placement.mask) - set(machine.allowed)
    if "gomp" not in request.texts or request.runtime != "gnu" or not outside or machine.limits.cpuset:
        return []
    return [
        Trap(
            "program ends",
            f"processors {format_processors(outside)} are outside of what this process may use: where its cpuset, not only "
            "its mask, lacks one of them, GNU's runtime ends the program as it starts that thread",
            f"keep GOMP_CPU_AFFINITY to {format_processors(machine.allowed)}",
        )
    ]


DIALECT = Dialect(
    name="gomp",
    texts=(
        Text(
            "gomp",
            "GOMP_CPU_AFFINITY, such as '0 3 1-2 4-15:2'.",
            variable="GOMP_CPU_AFFINITY",
            read=read_gomp,
            runtimes=tuple(RUNTIMES),
        ),
    ),
    threads=OPENMP,
    write_process=write_gomp,
    outside=True,
    traps=_traps,
    silences=(Silence("gomp", ("bind", "places"), KMP),),
)
