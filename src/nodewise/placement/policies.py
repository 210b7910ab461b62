# SPDX-License-Identifier: BSD-3-Clause
"""The placements that people ask for by name, on any machine, for any number of threads.

They mean what Intel's OpenMP runtime makes of KMP_AFFINITY=granularity=fine,NAME (tests hold recorded cases of it). Beware
that other tools use the same words otherwise: likwid's `balanced` fills hardware threads, HPX's counts per socket.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine, Node
from nodewise.placement.placement import Placement

#: What each policy does, in words.
POLICIES = {
    "os": "nothing is bound: the operating system moves threads as it likes",
    "compact": "as near to each other as possible: all hardware threads of a core, then the next core",
    "scatter": "as far from each other as possible: round robin over packages, then cores, then hardware threads",
    "balanced": "evenly over all cores, with consecutive threads on the same core",
}


def place(machine: Machine, policy: str, threads: int) -> Placement | None:
    """Place `threads` threads on the allowed processors, each on one hardware thread; None for `os`, which binds nothing.

    More threads than processors wrap around. Raises InputError for an unknown policy, fewer than one thread, or a
    machine on which nothing is allowed.
    """
    if policy not in POLICIES:
        raise InputError(f"unknown placement: {policy!r}", f"the placements are: {', '.join(POLICIES)}")
    if threads < 1:
        raise InputError(f"{threads} threads cannot be placed", "give one thread or more")
    if not machine.allowed:
        raise InputError("this process may use none of the machine's processors", "look at its affinity and cpuset")
    if policy == "os":
        return None
    rules: dict[str, Callable[[Machine, int], list[int]]] = {
        "compact": _compact,
        "scatter": _scatter,
        "balanced": _balanced,
    }
    return Placement(policy, tuple((p,) for p in rules[policy](machine, threads)))


def _wrap(order: Sequence[int], threads: int) -> list[int]:
    return list(itertools.islice(itertools.cycle(order), threads))


def _compact(machine: Machine, threads: int) -> list[int]:
    return _wrap(machine.allowed, threads)


def _scatter(machine: Machine, threads: int) -> list[int]:
    return _wrap(_spread(machine.tree, set(machine.allowed)), threads)


def _spread(node: Node, allowed: set[int]) -> list[int]:
    """The processors below a node such that any first n of them are spread over its children."""
    if not node.children:
        return [p for p in node.pus if p in allowed]
    below = [_spread(child, allowed) for child in node.children]
    rounds = itertools.zip_longest(*below)
    return [p for turn in rounds for p in turn if p is not None]


def _balanced(machine: Machine, threads: int) -> list[int]:
    cores = machine.allowed_cores
    each, more = divmod(threads, len(cores))
    return [p for i, core in enumerate(cores) for p in _wrap(core.pus, each + (i < more))]
