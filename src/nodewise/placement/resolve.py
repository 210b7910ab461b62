# SPDX-License-Identifier: BSD-3-Clause
"""Resolve: what a user asked for, in whatever dialects, as one Placement.

Ranks first get their zones (from a launcher's options, or a share each), a mask then narrows each zone, and the texts that
place threads, or a policy, place them within what is left, as a process held to it sees the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import combinations

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Mask, Outcome, ThreadReader
from nodewise.placement.job import Job, share_zones, within
from nodewise.placement.layers import layers_of
from nodewise.placement.near import near_notes, near_zones
from nodewise.placement.openmp.subset import apply_subset, rank_subset, read_subset
from nodewise.placement.placement import PlaceList, Placement
from nodewise.placement.policies import place
from nodewise.placement.registry import all_dialects, all_texts
from nodewise.placement.seating import even

#: How ranks get zones where no launcher is named: a share of the cores each, as many whole cores as their threads fill,
#: one rank after the other, or nothing of their own.
ZONES = ("share", "packed", "none")


@dataclass(frozen=True, init=False)
class Request:
    """What was asked for: a policy's name, and texts by name in the registry's order.

    `zones` is one of `ZONES`, `near` names devices whose processors are to be kept to. `runtime` is one of the OpenMP runtimes,
    and `runtime_named` whether it was asked for: where not, it is GNU's for GOMP_CPU_AFFINITY, else Intel's.
    `levels` is how many threads an OpenMP team of each level has, where there are inner teams.
    """

    policy: str | None
    texts: Mapping[str, str]
    zones: str
    runtime: str
    runtime_named: bool
    near: tuple[str, ...]
    levels: tuple[int, ...]

    def __init__(
        self,
        policy: str | None = None,
        zones: str = "share",
        runtime: str | None = None,
        near: Sequence[str] = (),
        **texts: str | None,
    ) -> None:
        """Each text by its name; None is as good as none. Raises InputError where no dialect reads one of that name."""
        known = all_texts()
        unknown = [name for name in texts if name not in known]
        if unknown:
            raise InputError(f"no dialect reads {unknown[0]!r}", f"known are: {', '.join(known)}")
        given = {name: text for name in known if (text := texts.get(name)) is not None}
        for name, value in (("policy", policy), ("texts", given), ("zones", zones)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "runtime", runtime or ("gnu" if "gomp" in given else "intel"))
        object.__setattr__(self, "runtime_named", runtime is not None)
        object.__setattr__(self, "near", tuple(near))
        object.__setattr__(self, "levels", ())

    def nested(self, levels: Sequence[int]) -> Request:
        """The same for teams within teams, of so many threads by level; one level is none."""
        found = copy(self)
        object.__setattr__(found, "levels", tuple(levels) if len(levels) > 1 else ())
        return found

    def given(self) -> dict[str, str]:
        """The policy, where there is one, and the texts."""
        return {**({"policy": self.policy} if self.policy is not None else {}), **self.texts}

    def dialects(self) -> list[Dialect]:
        """The dialects that its texts are of."""
        return [dialect for dialect in all_dialects() if dialect.given(self)]


@dataclass(frozen=True)
class Resolved:
    """A Placement; what to know of how it came about; and the options on memory given with a mask."""

    placement: Placement
    notes: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()


def resolve(machine: Machine, job: Job, request: Request) -> Resolved:
    """The Placement that a request means for a job on a machine. Raises InputError where it cannot be read, or cannot be."""
    _check(request)
    launched, notes, order = _zones(machine, job, request)
    notes += near_notes(machine, request.near)
    job = Job(job.threads if launched is None else len(launched.by_rank[0]), *_shape(job, launched))
    bound_by_launcher = launched is not None and any(len(set(rank)) > 1 for rank in launched.by_rank)
    zones = launched.zones if launched is not None else _own_zones(machine, job, request)
    memory: tuple[str, ...] = ()
    by_rank: list[Sequence[tuple[int, ...]]] = []
    held: list[tuple[int, ...]] = []
    inner: list[PlaceList | None] = []
    seen: dict[tuple[int, ...], tuple[Outcome, tuple[int, ...]]] = {}
    for r, zone in enumerate(zones):
        if zone not in seen or bound_by_launcher:
            part = within(machine, zone) if job.ranks or request.near else machine
            mask = _mask(machine, part, request)
            if mask is not None:
                part, memory = within(machine, mask.processors), mask.memory
                notes += mask.notes
            outcome = _threads(part, job, request)
            if outcome is None and launched is not None and bound_by_launcher:
                outcome = Outcome(launched.by_rank[r])
            own = tuple(sorted(part.allowed))
            seen[zone] = (outcome or Outcome((own,) * job.threads), own)
        outcome, own = seen[zone]
        by_rank.append(outcome.places)
        inner.append(outcome.inner)
        held.append(tuple(sorted({*own, *(p for place in outcome.places for p in place)})))
        notes += outcome.notes
    policy = request.policy or " ".join(f"{name} {text}" for name, text in request.texts.items()) or "os"
    placement = job.placement(policy, by_rank, order, held)
    if request.levels:
        placement = replace(placement, levels=request.levels)
    elif any(inner):
        placement = replace(placement, inner=tuple(inner))
    return Resolved(placement, tuple(dict.fromkeys(notes)), memory)


def _check(request: Request) -> None:
    given = request.dialects()
    launchers = [d.name for d in given if d.launch is not None]
    if request.near and launchers:
        raise InputError(
            f"--near and {launchers[0]}'s options both say which processors a rank gets", "leave one of them out"
        )
    masks = [d.name for d in given if d.mask is not None]
    for kind, names in (("launchers", launchers), ("masks", masks)):
        if len(names) > 1:
            raise InputError(f"two {kind} are named: {names[0]} and {names[1]}", "name one")
    binders = [d for d in given if any(text.binds for text in d.given(request)) and d.threads is not None]
    names = [" and ".join(text.name for text in d.given(request) if text.binds) for d in binders]
    apart = [
        (names[i], names[j])
        for i, j in combinations(range(len(binders)), 2)
        if binders[i].name not in binders[j].compatible and binders[j].name not in binders[i].compatible
    ]
    if request.policy is not None and names:
        apart.append((names[0], "policy"))
    if apart:
        raise InputError(f"threads are bound twice: by {apart[0][0]} and by {apart[0][1]}", "name one")
    for dialect in given:
        if dialect.check is not None:
            dialect.check(request)


def _shape(job: Job, launched: Placement | None) -> tuple[int, int]:
    return (job.ranks, job.nodes) if launched is None else (launched.size, launched.nodes)


def _zones(machine: Machine, job: Job, request: Request) -> tuple[Placement | None, list[str], str]:
    for dialect in request.dialects():
        if dialect.launch is not None:
            launched, notes = dialect.launch(machine, request.texts[dialect.texts[0].name], job)
            return launched, notes, launched.order
    if job.nodes > 1 and not job.ranks:
        raise InputError(
            f"no ranks are given, and 0 do not fill {job.nodes} nodes", "give as many --ranks as nodes, or more"
        )
    return None, [], even(job.ranks, job.nodes)


def _own_zones(machine: Machine, job: Job, request: Request) -> list[tuple[int, ...]]:
    everything = tuple(sorted(machine.allowed))
    if request.near:
        return near_zones(machine, request.near, job.per_node)
    if not job.ranks or request.zones == "none":
        return [everything] * job.per_node
    if request.zones == "share":
        return share_zones(machine, job.per_node)
    per_core = max(len(c.pus) for c in machine.allowed_cores)
    layers = layers_of(machine)
    found = []
    for rank in range(job.per_node):
        subset = rank_subset(job.threads, rank, per_core)
        narrowed, notes = apply_subset(layers, read_subset(":" + subset))
        if notes:
            raise InputError(
                f"rank {rank} has no zone {subset} on this machine: {notes[0]}", "ask for fewer ranks or threads"
            )
        found.append(tuple(sorted(row.processor for row in narrowed.rows)))
    return found


def _mask(machine: Machine, part: Machine, request: Request) -> Mask | None:
    """What a process that may use a part of the machine is held to; None where no mask is given."""
    for dialect in request.dialects():
        if dialect.mask is not None:
            return dialect.mask(machine if dialect.replaces else part, request.texts[dialect.texts[0].name])
    return None


def _reader(request: Request) -> ThreadReader | None:
    """What places threads by the texts: of those that bind, where there are such."""
    given = [d for d in request.dialects() if d.threads is not None]
    binding = [d for d in given if any(text.binds for text in d.given(request))]
    return next((d.threads for d in (*binding, *given)), None)


def _threads(machine: Machine, job: Job, request: Request) -> Outcome | None:
    """Where the threads of one rank go on what it may use; None where nothing was given."""
    if request.policy is not None:
        placed = place(machine, request.policy, job.threads)
        return None if placed is None else Outcome(placed.places)
    reader = _reader(request)
    return None if reader is None else reader.place(machine, job.threads, request)


def fitting_threads(machine: Machine, job: Job, request: Request) -> int:
    """How many threads a rank gets where nobody says: as many as its list or its zone has processors, or as fit a quota."""
    reader = _reader(request)
    listed = None if reader is None else reader.listed(machine, request)
    if listed is not None:
        return listed
    if job.ranks or request.near or any(d.launch is not None for d in request.dialects()):
        kept = Request(zones=request.zones, runtime=request.runtime, near=request.near, **request.texts)
        try:
            placed = resolve(machine, job, kept)
        except InputError:
            return 1
        return max(1, min(len(zone) for zone in placed.placement.zones))
    mask = _mask(machine, machine, request)
    narrowed = machine if mask is None else within(machine, mask.processors)
    # a runtime counts the processors that its subset leaves
    usable = None if reader is None else reader.usable(narrowed, request)
    return narrowed.parallelism if usable is None else min(usable, narrowed.parallelism)
