# SPDX-License-Identifier: BSD-3-Clause
"""The axis threads: how many the program, or each of its ranks, has."""

from __future__ import annotations

from dataclasses import replace

from nodewise.machine.model import Machine
from nodewise.search.space import Axis
from nodewise.tuning.known import KnownAxis, Surroundings
from nodewise.tuning.option import Option, held


def threads_axis(machine: Machine) -> Axis:
    """Every number of threads that the machine has processors for; natural ones first."""
    cores = len(machine.allowed_cores)
    processors = len(machine.allowed)
    smt = max(len(c.pus) for c in machine.allowed_cores)
    whole = [k * cores for k in range(smt, 0, -1)]
    sockets = len({c.socket for c in machine.allowed_cores})
    parts = [cores // sockets, cores // 2, cores // 4, 1, cores // 8, 3 * cores // 2]
    powers = [2**k for k in range(processors.bit_length(), 0, -1)]
    natural = [n for n in dict.fromkeys([*whole, processors, *parts, *powers]) if 1 <= n <= processors]
    return Axis(
        "threads", tuple(range(1, processors + 1)), tuple(natural), machine.parallelism, ordered=True, crossed=True
    )


def _make(around: Surroundings) -> Option:
    axis, holding = threads_axis(around.machine), around.holding
    ranks = 1 if holding.ranked is None else holding.on_node(holding.ranked.ranks)
    now = holding.threads_now or max(1, holding.parallelism // ranks)
    return held(replace(axis, values=tuple(sorted({*axis.values, now})), default=now))


AXIS = KnownAxis("threads", _make, order=20, by_default=True, of_libraries=True)
