# SPDX-License-Identifier: BSD-3-Clause
"""Explain: what a placement's setting does, and what came of it, in words."""

from __future__ import annotations

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.facts import Facts, placement_facts
from nodewise.placement.job import Job
from nodewise.placement.openmp.runtimes import RUNTIMES, whose
from nodewise.placement.placement import Placement
from nodewise.placement.policies import describe_policy
from nodewise.placement.registry import all_texts
from nodewise.placement.resolve import Request, resolve


def explain(machine: Machine, placement: Placement, request: Request) -> list[str]:
    """Sentences: what was asked for, what it does on this machine, and what is worth knowing of the result."""
    facts = placement_facts(machine, placement)
    return [*_asked(machine, placement, request), *_result(machine, placement, facts), *_numbering(machine)]


def _asked(machine: Machine, placement: Placement, request: Request) -> list[str]:
    sentences = []
    if request.policy is not None:
        sentences.append(f"{request.policy}: {describe_policy(request.policy)}.")
    for dialect in request.dialects():
        if dialect.explain is not None:
            sentences += dialect.explain(machine, request)
        if dialect.mask is not None:
            sentences.append(
                f"{dialect.name} holds the whole process to a set; within it the system moves threads as it likes."
            )
    if placement.levels:
        shape = " × ".join(map(str, placement.levels))
        sentences.append(
            f"Teams within teams, {shape} threads by level: shown are those of the innermost teams, team after team."
        )
    sentences += _other_runtime(machine, placement, request)
    if placement.ranks:
        sentences.append(_shape(placement))
        sentences += [
            f"Rank {r} of a node uses {format_processors(zone)}." for r, zone in enumerate(placement.zones[:8])
        ]
        if placement.per_node > 8:
            sentences.append(f"… and {placement.per_node - 8} more.")
    return sentences


def _other_runtime(machine: Machine, placement: Placement, request: Request) -> list[str]:
    """Where the same texts bind by the rules of a runtime that is not modelled: whether that would place threads the same."""
    texts = [all_texts()[name] for name in request.texts]
    binding = [text for text in texts if text.binds and text.runtimes]
    gnu = request.runtime == "gnu"
    if not binding or any({"intel", "gnu"} - set(text.runtimes) for text in binding):
        return []
    intel = [name for name in RUNTIMES if name != "gnu"]
    mine, other = (whose(["gnu"]), whose(intel)) if gnu else (whose(intel), whose(["gnu"]))
    job = Job(len(placement.by_rank[0]), placement.size if placement.ranks else 0, placement.nodes)
    runtime = "intel" if gnu else "gnu"
    kept = {text.name: request.texts[text.name] for text in texts if not text.runtimes or runtime in text.runtimes}
    try:
        asked = Request(zones=request.zones, runtime=runtime, near=request.near, **kept)
        there = resolve(machine, job, asked.nested(request.levels))
    except InputError as problem:
        return [f"Modelled is {mine} runtime; {other} does not take it: {problem.what}."]
    differ = [
        t for t, (a, b) in enumerate(zip(placement.places, there.placement.places, strict=False)) if set(a) != set(b)
    ]
    if not differ:
        return [f"Modelled is {mine} runtime; {other} places every thread as it does."]
    first = differ[0]
    return [
        f"Modelled is {mine} runtime; {other} puts {_count(len(differ), 'thread')} elsewhere: thread {first} on "
        f"{format_processors(there.placement.places[first])}, not on {format_processors(placement.places[first])}."
    ]


def _shape(placement: Placement) -> str:
    if placement.nodes == 1:
        return f"{_count(placement.size, 'rank')} on one node."
    each = "" if placement.size % placement.nodes == 0 else "up to "
    return f"{_count(placement.size, 'rank')} on {placement.nodes} nodes, {each}{placement.per_node} on each, numbered {_order(placement)}."


def _order(placement: Placement) -> str:
    if placement.order in ("block", "even"):
        return "node after node"
    return "round the nodes" + (
        "" if placement.order == "cyclic" else f", {placement.order.partition('=')[2]} at a time"
    )


def _result(machine: Machine, placement: Placement, facts: Facts) -> list[str]:
    cores = len(machine.allowed_cores)
    processors = len(machine.allowed)
    sentences = [
        f"{_count(facts.threads, 'thread')} on {facts.cores} of {cores} cores, {facts.processors} of {processors} processors."
    ]
    for kind, name in (("package", "socket"), ("numa", "NUMA node"), ("cache", "last-level cache")):
        counts = facts.by_kind[kind]
        if len(counts) > 1 and any(counts):
            sentences.append(f"Threads on each {name}: {_folded(counts)}.")
    if facts.threads > processors:
        sentences.append(
            f"There are more threads than the {processors} processors: some share one, and each of those waits for the other."
        )
    elif facts.most_on_a_processor > 1:
        sentences.append(
            f"Up to {facts.most_on_a_processor} threads are bound to one processor, where they take turns."
        )
    if facts.crowded:
        sentences.append(
            f"{_count(facts.idle_cores, 'core')} {'has' if facts.idle_cores == 1 else 'have'} no thread at the same time."
        )
    per_core = facts.by_kind["core"]
    loads = sorted({n for n in per_core if n})
    if len(loads) > 1:
        sentences.append(
            f"Cores have {loads[0]} to {loads[-1]} threads: where all threads have the same work, those on full cores finish last."
        )
    if facts.bound.get("wider"):
        sentences.append(f"{_count(facts.bound['wider'], 'thread')} may move between cores.")
    pairs = sum(facts.neighbours.values())
    if pairs:
        names = {
            "core": ("shares a core", "share a core"),
            "cache": ("shares only a last-level cache", "share only a last-level cache"),
            "numa": ("shares only a NUMA node", "share only a NUMA node"),
            "package": ("shares only a socket", "share only a socket"),
            "far": ("lies on different sockets", "lie on different sockets"),
        }
        shared = ", ".join(f"{n} {names[k][n != 1]}" for k, n in facts.neighbours.items())
        sentences.append(f"Of {_count(pairs, 'pair')} of neighbouring threads, {shared}.")
    return sentences


def _numbering(machine: Machine) -> list[str]:
    """Where the system's numbers do not run as the cores do."""
    sentences = []
    cores = machine.cores
    zero = next((core for core in cores if 0 in core.pus), None)
    others = sorted(machine.pus)
    if zero is not None and 1 < len(zero.pus) < len(others) and sorted(zero.pus)[1:] == others[1 - len(zero.pus) :]:
        first = next(core for core in cores if 1 in core.pus)
        sentences.append(
            f"Processor 0 belongs to the last core, with {format_processors(zero.pus[1:])}: the system's numbers start there, "
            f"and go on with {format_processors(first.pus)} on the next. Placements here go by cores, not by numbers."
        )
    several = next((core for core in cores if len(core.pus) > 1), None)
    if several is not None and several.pus[1] - several.pus[0] != 1:
        sentences.append(
            f"The hardware threads of a core are not numbered together: core {several.logical} has {', '.join(map(str, several.pus))}."
        )
    return sentences


def _folded(counts: tuple[int, ...]) -> str:
    """`8, 8, 0, 0`, or `64 × 4` where all are alike."""
    if len(set(counts)) == 1 and len(counts) > 2:
        return f"{counts[0]} on all {len(counts)}"
    return ", ".join(map(str, counts[:16])) + (", …" if len(counts) > 16 else "")


def _count(number: int, name: str) -> str:
    return f"{number} {name}" + "s" * (number != 1)
