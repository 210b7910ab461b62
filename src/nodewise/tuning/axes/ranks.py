# SPDX-License-Identifier: BSD-3-Clause
"""The axis ranks: how many the command's launcher starts."""

from __future__ import annotations

from nodewise.base.errors import InputError
from nodewise.search.space import Axis
from nodewise.tuning.known import KnownAxis, Surroundings
from nodewise.tuning.option import Option, held


def _make(around: Surroundings) -> Option:
    machine, holding = around.machine, around.holding
    if holding.ranked is None:
        raise InputError(
            "the axis ranks needs a command that starts ranks",
            "write it such as: tune --axes ranks -- mpirun -n 4 ./app",
        )
    processors = holding.processors
    cores = min(processors, len(machine.allowed_cores))
    sockets = len({c.socket for c in machine.allowed_cores})
    nodes = max(1, len({c.numa_node for c in machine.allowed_cores}))
    parts = [cores, sockets, nodes, processors, 1, cores // 2, *(2**k for k in range(processors.bit_length()))]
    now = holding.ranked.ranks
    # over nodes each gets as many
    each = holding.on_node(now)
    times = now // each if now % each == 0 else 1
    natural = [n for n in dict.fromkeys([now, *(n * times for n in parts)]) if n == now or 1 <= n <= processors * times]
    values = tuple(sorted(natural))
    return held(Axis("ranks", values, tuple(natural), now, ordered=len(values) > 2, crossed=True))


# other numbers are tried unasked only where it would be seen that they do less
AXIS = KnownAxis(
    "ranks", _make, order=10, by_default=True, worth_trying=lambda _, rank_counts: rank_counts, of_libraries=True
)
