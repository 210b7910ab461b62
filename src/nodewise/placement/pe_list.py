# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5's --map-by pe-list=…: ranks on the cores or hardware threads that a list names.

The rules are what the mpirun of Open MPI 5.0 answers: ranks share all that the list names, or with :ORDERED have one each.
"""

from __future__ import annotations

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.launcher_options import whole
from nodewise.placement.objects import objects
from nodewise.placement.processor_sets import read_ranges
from nodewise.placement.scan import Scanner


def zones(
    machine: Machine, text: str, ranks: int, *, threads: bool, ordered: bool, crowded: bool
) -> list[tuple[int, ...]]:
    """The processors of each of a node's ranks. The list has logical numbers of cores, or with `threads` of hardware threads.

    `crowded` ranks may be more than the list has entries. Raises InputError where mpirun refuses.
    """
    cpus = objects(machine, "pu" if threads else "core")
    entries = text.split(",")
    numbers = [whole("mpirun", "--map-by pe-list", entry, 0) for entry in entries] if ordered else _numbers(text)
    there = [n for n in numbers if n < len(cpus)]
    if not there:
        raise InputError(
            f"mpirun: --map-by pe-list={text} names none of this machine's {len(cpus)} "
            f"{'hardware threads' if threads else 'cores'}",
            f"write numbers from 0 to {len(cpus) - 1}",
        )
    # a range is counted as one
    room = min(len(there), len(cpus)) if ordered else len(entries)
    if ranks > room and (ordered or not crowded):
        raise InputError(
            f"mpirun refuses {ranks} ranks by pe-list={text}: it has {room} to give",
            "name as many as there are ranks, parted by commas",
        )
    if ordered:
        return [cpus[n] for n in there[:ranks]]
    union = tuple(sorted({p for n in there for p in cpus[n]}))
    if not any(set(union) <= set(socket) for socket in objects(machine, "package")):
        raise InputError(
            f"mpirun refuses pe-list={text}: it would bind each rank to processors of several sockets",
            "name those of one socket, or add :ORDERED, by which each rank has one of the list",
        )
    return [union] * ranks


def _numbers(text: str) -> list[int]:
    return sorted(read_ranges(Scanner("--map-by pe-list", text), strides=False))
