# SPDX-License-Identifier: BSD-3-Clause
"""Rank files, as the versions of Open MPI have them: for each rank its node and its slots, by hwloc's logical indexes."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.placement import Placement
from nodewise.placement.rendering import NotExpressibleError


def rank_file(machine: Machine, placement: Placement, hosts: Sequence[str], threads: bool = False) -> tuple[str, bool]:
    """The file's text, and whether its slots are cores; they are hardware threads where zones have parts of cores, or with `threads`.

    Raises NotExpressibleError where a processor is not on the machine.
    """
    cores = [c.pus for c in machine.cores]
    core_of = {p: i for i, core in enumerate(cores) for p in core}
    logical = {p: i for i, p in enumerate(machine.pus)}
    if any(p not in logical for zone in placement.zones for p in zone):
        raise NotExpressibleError("mpirun", "processors are not on this machine")
    allowed = set(machine.allowed)
    by_core = not threads and all(
        set(zone) == {p for i in {core_of[p] for p in zone} for p in cores[i] if p in allowed}
        for zone in placement.zones
    )
    numbering = core_of if by_core else logical
    slots = [format_processors(numbering[p] for p in zone) for zone in placement.zones]
    # nodes of an allocation by their number; without one there is only this machine
    names = hosts or (["localhost"] if placement.nodes == 1 else [f"+n{i}" for i in range(placement.nodes)])
    lines = [f"rank {r}={names[node]} slot={slots[seat]}\n" for r, (node, seat) in enumerate(placement.seats())]
    return "".join(lines), by_core


def host_words(machine: Machine, hosts: Sequence[str]) -> tuple[str, ...]:
    """mpirun's --host for mappings that are written as options: each host with as many slots as it has cores."""
    slots = len(machine.allowed_cores)
    return ("--host", ",".join(f"{host}:{slots}" for host in hosts)) if hosts else ()
