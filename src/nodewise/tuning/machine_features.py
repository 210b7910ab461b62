# SPDX-License-Identifier: BSD-3-Clause
"""What a point means to a machine, as numbers that a model can learn from.

Two settings behave alike where they keep as many cores busy, with as many threads on each, on as many NUMA nodes; the
number of threads or the name of a policy alone do not say that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from nodewise.machine.model import Machine
from nodewise.search.space import Point


def machine_features(
    machine: Machine, places: Callable[[Point], Sequence[int] | None]
) -> Callable[[Point], tuple[float, ...]]:
    """Features of where a point's threads sit; `places` gives the processor of each thread, None where none is bound.

    In order: log2 of the busy cores, of the most threads on one core, of the most on one processor, of the NUMA nodes
    with threads, of the most threads on one of them; the share of neighbouring threads that have a core in common; 1
    where threads are bound.
    """
    cores = machine.allowed_cores
    core_of = {p: i for i, core in enumerate(cores) for p in core.pus}
    node_of = {p: core.numa_node for core in cores for p in core.pus}
    # a scheduler that is let alone fills free cores first
    spread = [core.pus[i] for i in range(max(len(c.pus) for c in cores)) for core in cores if i < len(core.pus)]

    def features(point: Point) -> tuple[float, ...]:
        given = places(point)
        threads = int(point.get("threads", machine.parallelism))
        sit = [spread[i % len(spread)] for i in range(threads)] if given is None else list(given)
        on = [core_of.get(p, 0) for p in sit]
        nodes = Counter(node_of.get(p, 0) for p in sit)
        by_core, by_processor = Counter(on), Counter(sit)
        near = sum(a == b for a, b in pairwise(on)) / max(1, len(on) - 1) if given is not None else 0.0
        return (
            math.log2(len(by_core)),
            math.log2(max(by_core.values())),
            math.log2(max(by_processor.values())),
            math.log2(len(nodes)),
            math.log2(max(nodes.values())),
            near,
            float(given is not None),
        )

    return features
