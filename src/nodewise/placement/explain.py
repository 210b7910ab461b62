# SPDX-License-Identifier: BSD-3-Clause
"""Explain: what a placement's setting does, and what came of it, in words."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialects.gnu_text import read_gnu_places
from nodewise.placement.dialects.kmp_affinity import Affinity, first_place, float_levels, read_affinity
from nodewise.placement.dialects.openmp import read_bind, read_places
from nodewise.placement.facts import Facts, placement_facts
from nodewise.placement.job import Job
from nodewise.placement.layers import layers_of
from nodewise.placement.placement import Placement
from nodewise.placement.policies import describe_policy
from nodewise.placement.resolve import Request, resolve

_TYPES = {
    "none": "does not bind threads",
    "disabled": "switches the runtime's binding off altogether",
    "compact": "puts each thread as near as possible to the one before it, filling a core before the next",
    "scatter": "puts each thread as far as possible from the ones before it, going round sockets and cores",
    "balanced": "spreads threads over all cores, with consecutive numbers on the same core",
    "explicit": "binds threads to the entries of the proclist, in turn",
    "logical": "goes through the hardware threads in the machine's order",
    "physical": "goes through the cores, taking the first hardware thread of each before the second of any",
}
_BINDS = {
    "false": "threads are not bound",
    "true": "threads are bound; how they are dealt out is the runtime's choice (Intel: spread, GNU: close)",
    "primary": "all threads share the first thread's place",
    "close": "threads take neighbouring places in order",
    "spread": "threads are dealt out evenly over the places",
}


def explain(machine: Machine, placement: Placement, request: Request) -> list[str]:
    """Sentences: what was asked for, what it does on this machine, and what is worth knowing of the result."""
    facts = placement_facts(machine, placement)
    return [*_asked(machine, placement, request), *_result(machine, placement, facts), *_numbering(machine)]


def _asked(machine: Machine, placement: Placement, request: Request) -> list[str]:
    words = []
    if request.policy is not None:
        words.append(f"{request.policy}: {describe_policy(request.policy)}.")
    if request.affinity is not None:
        words += _affinity(machine, read_affinity(request.affinity))
    words += _openmp(request)
    if (request.places is not None or request.bind is not None) and request.affinity is None and request.gomp is None:
        words.append(_other_runtime(machine, placement, request))
    subset = request.subset or request.place_threads
    if subset is not None:
        words.append(f"The subset {subset} takes a part of the machine; what it leaves out is not used at all.")
    mask = next((n for n in ("taskset", "numactl", "hwloc") if n in request.given()), None)
    if mask is not None:
        words.append(f"{mask} holds the whole process to a set; within it the system moves threads as it likes.")
    if placement.ranks:
        words.append(
            f"{placement.size} ranks, {placement.per_node} on a node of {placement.nodes}, numbered {_order(placement)}."
        )
        words += [f"Rank {r} of a node uses {format_processors(zone)}." for r, zone in enumerate(placement.zones[:8])]
        if placement.per_node > 8:
            words.append(f"… and {placement.per_node - 8} more.")
    return words


def _openmp(request: Request) -> list[str]:
    """What OMP_PLACES and OMP_PROC_BIND say; of what GNU's runtime refuses, what it does instead."""
    gnu = request.runtime == "gnu" or request.gomp is not None
    words = []
    with suppress(InputError) if gnu else nullcontext():
        if request.places is not None:
            places = read_gnu_places(request.places) if gnu else read_places(request.places)
            kind = f"each of the {places.kind.replace('_', ' ')}s" if places.kind else "each entry of the list"
            limit = f", the first {places.limit}" if places.limit else ""
            words.append(f"OMP_PLACES={request.places}: {kind} is a place{limit}.")
    with suppress(InputError) if gnu else nullcontext():
        if request.bind is not None:
            words.append(f"OMP_PROC_BIND={request.bind}: {_BINDS[read_bind(request.bind)]}.")
    return words


def _other_runtime(machine: Machine, placement: Placement, request: Request) -> str:
    """Whether the runtime that is not modelled would place threads the same."""
    gnu = request.runtime == "gnu"
    mine, other = ("GNU's", "Intel's and LLVM's") if gnu else ("Intel's and LLVM's", "GNU's")
    job = Job(len(placement.by_rank[0]), placement.size if placement.ranks else 0, placement.nodes)
    try:
        there = resolve(
            machine, job, replace(request, runtime="intel" if gnu else "gnu", subset=None, place_threads=None)
        )
    except InputError as problem:
        return f"Modelled is {mine} runtime; {other} does not take it: {problem.what}."
    differ = [
        t for t, (a, b) in enumerate(zip(placement.places, there.placement.places, strict=False)) if set(a) != set(b)
    ]
    if not differ:
        return f"Modelled is {mine} runtime; {other} puts every thread in the same place."
    first = differ[0]
    return (
        f"Modelled is {mine} runtime; {other} puts {_count(len(differ), 'thread')} elsewhere: thread {first} on "
        f"{format_processors(there.placement.places[first])}, not on {format_processors(placement.places[first])}."
    )


def _order(placement: Placement) -> str:
    if placement.order == "block":
        return "node after node"
    return "round the nodes" + (
        "" if placement.order == "cyclic" else f", {placement.order.partition('=')[2]} at a time"
    )


def _affinity(machine: Machine, affinity: Affinity) -> list[str]:
    words = [f"KMP_AFFINITY of type {affinity.type} {_TYPES[affinity.type]}."]
    if affinity.type in ("none", "disabled"):
        return words
    layers = layers_of(machine, affinity.respect)
    levels, name, _ = float_levels(layers, affinity.granularity)
    if levels == 0:
        words.append("granularity=fine: a thread stays on its hardware thread.")
    else:
        size = max(len(g) for g in layers.groups(levels))
        default = "" if affinity.granularity is not None else ", which is what you get without a word"
        free = "is its only hardware thread" if size == 1 else f"has up to {size} hardware threads it may move among"
        words.append(
            f"granularity={name}{default}: a thread is held to its {name.replace('_', ' ')}, which {free}; fine usually wins."
        )
    if affinity.permute:
        words.append(
            f"permute {affinity.permute} takes the innermost {affinity.permute} levels of the machine as the outermost."
        )
    if affinity.offset:
        count = len(layers.rows)
        start = first_place(layers, affinity)
        words.append(f"Thread 0 starts at number {start} of {count} places.")
        if start >= count:
            words.append(
                f"The offset {start} is past the end of {count} places: counting starts over, at number {start % count}."
            )
    return words


def _result(machine: Machine, placement: Placement, facts: Facts) -> list[str]:
    cores = len(machine.allowed_cores)
    processors = len(machine.allowed)
    words = [
        f"{_count(facts.threads, 'thread')} on {facts.cores} of {cores} cores, {facts.processors} of {processors} processors."
    ]
    for kind, name in (("package", "socket"), ("numa", "NUMA node"), ("cache", "last-level cache")):
        counts = facts.by_kind[kind]
        if len(counts) > 1 and any(counts):
            words.append(f"Threads on each {name}: {_folded(counts)}.")
    if facts.threads > processors:
        words.append(
            f"There are more threads than the {processors} processors: some share one, and each of those waits for the other."
        )
    elif facts.most_on_a_processor > 1:
        words.append(f"Up to {facts.most_on_a_processor} threads are bound to one processor, where they take turns.")
    if facts.crowded:
        words.append(f"{facts.idle_cores} cores have no thread at the same time.")
    per_core = facts.by_kind["core"]
    loads = sorted({n for n in per_core if n})
    if len(loads) > 1:
        words.append(
            f"Cores have {loads[0]} to {loads[-1]} threads: where all threads have the same work, those on full cores finish last."
        )
    if facts.bound.get("wider"):
        words.append(f"{_count(facts.bound['wider'], 'thread')} may move between cores.")
    pairs = sum(facts.neighbours.values())
    if pairs:
        names = {
            "core": "a core",
            "cache": "a last-level cache",
            "numa": "a NUMA node",
            "package": "a socket",
            "far": "no socket",
        }
        shared = ", ".join(f"{n} first meet in {names[k]}" for k, n in facts.neighbours.items())
        words.append(f"Of {_count(pairs, 'pair')} of neighbouring threads, {shared}.")
    return words


def _numbering(machine: Machine) -> list[str]:
    """Where the system's numbers do not run as the cores do."""
    words = []
    cores = machine.cores
    zero = next((core for core in cores if 0 in core.pus), None)
    others = sorted(machine.pus)
    if zero is not None and 1 < len(zero.pus) < len(others) and sorted(zero.pus)[1:] == others[1 - len(zero.pus) :]:
        first = next(core for core in cores if 1 in core.pus)
        words.append(
            f"Processor 0 belongs to the last core, with {format_processors(zero.pus[1:])}: the system's numbers start there, "
            f"and go on with {format_processors(first.pus)} on the next. Placements here go by cores, not by numbers."
        )
    several = next((core for core in cores if len(core.pus) > 1), None)
    if several is not None and several.pus[1] - several.pus[0] != 1:
        words.append(
            f"The hardware threads of a core are not numbered together: core {several.logical} has {', '.join(map(str, several.pus))}."
        )
    return words


def _folded(counts: tuple[int, ...]) -> str:
    """`8, 8, 0, 0`, or `64 × 4` where all are alike."""
    if len(set(counts)) == 1 and len(counts) > 2:
        return f"{counts[0]} on all {len(counts)}"
    return ", ".join(map(str, counts[:16])) + (", …" if len(counts) > 16 else "")


def _count(number: int, name: str) -> str:
    return f"{number} {name}" + "s" * (number != 1)
