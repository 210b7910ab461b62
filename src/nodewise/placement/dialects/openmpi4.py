# SPDX-License-Identifier: BSD-3-Clause
"""The mpirun of Open MPI 4, whose rules are loaded when they are asked for: all commands that place threads load all dialects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodewise.placement.dialect import Dialect, Text

if TYPE_CHECKING:
    from nodewise.machine.model import Machine
    from nodewise.placement.job import Job
    from nodewise.placement.placement import Placement
    from nodewise.placement.rendering import Rendering


def _read(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    from nodewise.placement.openmpi4 import read_openmpi4

    return read_openmpi4(machine, text, job)


def _write(machine: Machine, placement: Placement, hosts: Sequence[str]) -> Rendering:
    from nodewise.placement.openmpi4 import write_openmpi4

    return write_openmpi4(machine, placement, hosts)


DIALECT = Dialect(
    name="openmpi4",
    texts=(Text("openmpi4", "Options of the mpirun of Open MPI 4, such as '--map-by socket:PE=4'."),),
    launch=_read,
    write_job=_write,
)
