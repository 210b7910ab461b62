# SPDX-License-Identifier: BSD-3-Clause
"""The axis memory: on which NUMA nodes pages lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.machine.model import Machine
from nodewise.placement.memory import fast_nodes, read_memory
from nodewise.search.space import Axis
from nodewise.tuning.known import KnownAxis, Surroundings
from nodewise.tuning.option import Draft, Option


def _make(around: Surroundings) -> Option:
    """Policies, on a machine with more than one NUMA node; without, there is nothing to choose."""
    machine = around.machine
    values = ["default"]
    nodes = [n for n in machine.numa_nodes if not machine.limits.nodes or n.os_index in machine.limits.nodes]
    if len(nodes) > 1:
        values += ["local", "interleave:all"]
        fast, _ = fast_nodes(machine)
        if fast and len(fast) < len(nodes):
            values += ["preferred:fast", "bind:fast", "interleave:fast"][: 3 if len(fast) > 1 else 2]

    def set_policy(draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
        del point
        draft.memory = None if value == "default" else read_memory(machine, value)

    return Option(Axis("memory", tuple(values), tuple(values), "default"), set_policy)


def _worth_trying(machine: Machine, rank_counts: bool) -> bool:
    del rank_counts
    return len(machine.numa_nodes) > 1


AXIS = KnownAxis("memory", _make, order=60, by_default=True, worth_trying=_worth_trying)
