# SPDX-License-Identifier: BSD-3-Clause
"""The placement policies, each a rule that gives every thread one hardware thread, as Intel's OpenMP runtime does.

All keep to the processors allowed. Where there are more threads than those, the rule starts over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice

from nodewise.base.errors import InputError
from nodewise.base.meant import meant
from nodewise.machine.model import Machine, Node
from nodewise.placement.placement import Placement

#: As many threads as the largest machine that nodewise takes has processors; more are a slip.
MOST_THREADS = 1 << 16

#: The machine that was scattered over last, with its order: a tune asks for hundreds of numbers of threads on one.
_scattered: list[tuple[Machine, list[int]]] = []


def _compact(machine: Machine, threads: int) -> Iterator[int]:
    return islice(cycle(machine.allowed), threads)


def _interleave(parts: list[list[int]]) -> list[int]:
    """One from each part in turn, until all are used up."""
    longest = max(map(len, parts), default=0)
    return [part[i] for i in range(longest) for part in parts if i < len(part)]


def _scattered_cores(node: Node, core_of: dict[int, int]) -> list[int]:
    """The cores below a node, by their number, so that neighbours in the list are as far apart in the tree as can be."""
    below = dict.fromkeys(core_of[p] for p in node.pus if p in core_of)
    if len(below) <= 1:
        return list(below)
    return _interleave([_scattered_cores(child, core_of) for child in node.children])


def _scatter(machine: Machine, threads: int) -> Iterator[int]:
    # by a name of its own, as another thread may ask for another machine meanwhile
    of, order = next(iter(_scattered), (None, []))
    if of is not machine:
        cores = machine.allowed_cores
        spread = _scattered_cores(machine.tree, {p: i for i, core in enumerate(cores) for p in core.pus})
        # The first hardware thread of every core before the second of any.
        order = _interleave([list(cores[i].pus) for i in spread])
        _scattered[:] = [(machine, order)]
    return islice(cycle(order), threads)


def _shares(sizes: list[int], threads: int) -> list[int]:
    """How many threads each core gets: one more round over the cores at a time, a full core waiting for the others."""
    laps, rest = divmod(threads, sum(sizes))
    shares = [laps * size for size in sizes]
    taken = 0
    while rest:
        for i, size in enumerate(sizes):
            if rest and taken < size:
                shares[i] += 1
                rest -= 1
        taken += 1
    return shares


def _balanced(machine: Machine, threads: int) -> Iterator[int]:
    cores = machine.allowed_cores
    for core, share in zip(cores, _shares([len(c.pus) for c in cores], threads), strict=True):
        yield from islice(cycle(core.pus), share)


_RULES: dict[str, Callable[[Machine, int], Iterator[int]] | None] = {
    "compact": _compact,
    "scatter": _scatter,
    "balanced": _balanced,
    "os": None,
}

_DESCRIPTIONS = {
    "compact": "each thread as near as possible to the one before it",
    "scatter": "each thread as far as possible from the one before it",
    "balanced": "threads spread over all cores, those with neighbouring numbers on the same core",
    "os": "the operating system's own choice; nothing is bound",
}

#: The names of the policies.
POLICIES = tuple(_RULES)


def _check_policy(policy: str) -> None:
    if policy not in _RULES:
        raise InputError(
            f"unknown placement: {policy!r}{meant(policy, _RULES)}", f"the placements are {', '.join(POLICIES)}"
        )


def describe_policy(policy: str) -> str:
    """What a policy does, in one line. Raises InputError where none has that name."""
    _check_policy(policy)
    return _DESCRIPTIONS[policy]


def place(machine: Machine, policy: str, threads: int) -> Placement | None:
    """Place `threads` threads on the processors allowed; None for `os`, which binds nothing.

    Raises InputError where the policy is unknown, the number of threads is not from 1 to 2^16, or nothing is allowed.
    """
    _check_policy(policy)
    if not 1 <= threads <= MOST_THREADS:
        raise InputError(f"not a number of threads: {threads}", f"give a number from 1 to {MOST_THREADS}")
    if not machine.allowed:
        raise InputError(f"no processor of {machine.source} may be used")
    rule = _RULES[policy]
    return None if rule is None else Placement(policy, tuple((p,) for p in rule(machine, threads)))
