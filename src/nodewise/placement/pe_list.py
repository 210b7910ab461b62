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
    machine: Machine, text: str, ranks: int, *, threads: bool, ordered: bool, crowded: bool, named: bool = False
) -> list[tuple[int, ...]]:
    """The processors of each of a node's ranks. The list has logical numbers of cores, or with `threads` of hardware threads.

    `crowded` ranks may be more than the list has entries, if nothing else is `named` to bind them to: twice as many are bound
    then, the others to nothing. Raises InputError where mpirun refuses.
    """
    cpus = objects(machine, "pu" if threads else "core")
    entries = text.split(",")
    # in order, a range is read as its first number
    first = (entry.partition("-")[0] for entry in entries)
    numbers = [whole("mpirun", "--map-by pe-list", entry, 0) for entry in first] if ordered else _numbers(text)
    there = [n for n in numbers if n < len(cpus)]
    if not there:
        raise InputError(
            f"mpirun: --map-by pe-list={text} names none of this machine's {len(cpus)} "
            f"{'hardware threads' if threads else 'cores'}",
            f"write numbers from 0 to {len(cpus) - 1}",
        )
    # a range is counted as one
    room = min(len(there), len(cpus)) if ordered else len(entries)
    sockets = objects(machine, "package")
    if ranks > room and (ordered or not crowded or named):
        raise InputError(
            f"mpirun refuses {ranks} ranks by pe-list={text}: it has {room} to give",
            "name as many as there are ranks, parted by commas",
        )
    if not sockets:
        raise InputError(
            "mpirun refuses a pe-list where no processors belong to a socket: it asks that each rank's lie in one",
            "leave --map-by pe-list out",
        )
    if ordered:
        return [cpus[n] for n in there[:ranks]]
    union = tuple(sorted({p for n in there for p in cpus[n]}))
    if not any(set(union) <= set(socket) for socket in sockets):
        raise InputError(
            f"mpirun refuses pe-list={text}: it would bind each rank to processors of several sockets",
            "name those of one socket, or add :ORDERED, by which each rank has one of the list",
        )
    bound = min(ranks, 2 * len(entries))
    return [union] * bound + [tuple(sorted(machine.allowed))] * (ranks - bound)


def _numbers(text: str) -> list[int]:
    return sorted(read_ranges(Scanner("--map-by pe-list", text), strides=False))
