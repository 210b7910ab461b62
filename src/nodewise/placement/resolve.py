# SPDX-License-Identifier: BSD-3-Clause
"""Resolve: what a user asked for, in whatever dialects, as one Placement.

Ranks first get their zones (from a launcher's options, or a share each), a mask then narrows each zone, and an OpenMP
setting or a policy places the threads within what is left, as a process held to it sees the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.dialects.aprun import read_aprun
from nodewise.placement.dialects.gnu import apply_gnu
from nodewise.placement.dialects.gnu_text import read_gomp
from nodewise.placement.dialects.hwloc import read_hwloc
from nodewise.placement.dialects.kmp_affinity import Outcome, apply_affinity, read_affinity
from nodewise.placement.dialects.kmp_subset import Subset, apply_subset, rank_subset, read_subset
from nodewise.placement.dialects.likwid import read_likwid
from nodewise.placement.dialects.masks import read_mask_or_list, read_numactl
from nodewise.placement.dialects.mpich import read_mpich
from nodewise.placement.dialects.openmp import apply_places, read_bind, read_places
from nodewise.placement.dialects.openmpi import read_openmpi
from nodewise.placement.dialects.slurm import read_slurm
from nodewise.placement.job import Job, share_zones, within
from nodewise.placement.layers import Layers, layers_of
from nodewise.placement.placement import Placement
from nodewise.placement.policies import place

#: How ranks get zones where no launcher is named: a share of the cores each, as many whole cores as their threads fill,
#: one rank after the other, or nothing of their own.
ZONES = ("share", "packed", "none")
_PLACE_THREADS = (
    "today's runtimes ignore KMP_PLACE_THREADS: modelled is what it meant; to have it so, set KMP_HW_SUBSET={}"
)
_LEVELS = "OMP_PROC_BIND names nested levels: shown are the threads of the outermost region"
RUNTIMES = ("intel", "llvm", "gnu")
LAUNCHERS: dict[str, Callable[[Machine, str, Job], tuple[Placement, list[str]]]] = {
    "slurm": read_slurm,
    "openmpi": read_openmpi,
    "mpich": read_mpich,
    "aprun": read_aprun,
}


@dataclass(frozen=True)
class Request:
    """What was asked for: a policy's name, and texts by dialect; None where none was given."""

    policy: str | None = None
    affinity: str | None = None
    subset: str | None = None
    place_threads: str | None = None
    places: str | None = None
    bind: str | None = None
    gomp: str | None = None
    likwid: str | None = None
    taskset: str | None = None
    numactl: str | None = None
    hwloc: str | None = None
    slurm: str | None = None
    openmpi: str | None = None
    mpich: str | None = None
    aprun: str | None = None
    zones: str = "share"
    runtime: str = "intel"

    def given(self) -> dict[str, str]:
        """The texts that were given, by dialect."""
        given = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name not in ("zones", "runtime"))
        return {name: text for name, text in given if text is not None}


@dataclass(frozen=True)
class Resolved:
    """A Placement; what to know of how it came about; and the options on memory given to numactl."""

    placement: Placement
    notes: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()


def resolve(machine: Machine, job: Job, request: Request) -> Resolved:
    """The Placement that a request means for a job on a machine. Raises InputError where it cannot be read, or cannot be."""
    _check(request)
    launched, notes, order = _zones(machine, job, request)
    job = Job(job.threads if launched is None else len(launched.by_rank[0]), *_shape(job, launched))
    bound_by_launcher = launched is not None and any(len(set(rank)) > 1 for rank in launched.by_rank)
    zones = launched.zones if launched is not None else _own_zones(machine, job, request)
    memory: tuple[str, ...] = ()
    by_rank: list[Sequence[tuple[int, ...]]] = []
    held: list[tuple[int, ...]] = []
    seen: dict[tuple[int, ...], tuple[Outcome, tuple[int, ...]]] = {}
    for r, zone in enumerate(zones):
        if zone not in seen or bound_by_launcher:
            part = within(machine, zone) if job.ranks else machine
            # taskset and hwloc-bind set the mask anew, numactl keeps to the one it finds
            part, more, memory = _masked(part if request.numactl is not None else machine, part, request)
            notes += more
            outcome = _threads(part, job, request)
            if outcome is None and launched is not None and bound_by_launcher:
                outcome = Outcome(launched.by_rank[r])
            own = tuple(sorted(part.allowed))
            seen[zone] = (outcome or Outcome((own,) * job.threads), own)
        outcome, own = seen[zone]
        by_rank.append(outcome.places)
        held.append(tuple(sorted({*own, *(p for place in outcome.places for p in place)})))
        notes += outcome.notes
    policy = request.policy or " ".join(f"{name} {text}" for name, text in request.given().items()) or "os"
    return Resolved(job.placement(policy, by_rank, order, held), tuple(dict.fromkeys(notes)), memory)


def _check(request: Request) -> None:
    given = request.given()
    launchers = [name for name in LAUNCHERS if name in given]
    binders: list[str] = [n for n in ("affinity", "gomp", "likwid", "policy") if n in given]
    # GNU's runtime reads them beside each other
    if "gomp" not in given and ("places" in given or "bind" in given):
        binders.append("places and bind")
    masks = [n for n in ("taskset", "numactl", "hwloc") if n in given]
    for kind, names in (("launchers", launchers), ("masks", masks)):
        if len(names) > 1:
            raise InputError(f"two {kind} are named: {' and '.join(names)}", "name one")
    both = set(binders) == {"affinity", "places and bind"}
    if len(binders) > 1 and not both:
        raise InputError(f"threads are bound twice: by {' and by '.join(binders)}", "name one")
    if "subset" in given and "place_threads" in given:
        raise InputError("KMP_HW_SUBSET and KMP_PLACE_THREADS are both given", "they are one setting: name one")
    if request.runtime == "gnu" and {"affinity", "subset", "place_threads"} & set(given):
        raise InputError(
            "GNU's OpenMP runtime reads no KMP_ variable", "leave out --runtime gnu, or use --places and --bind"
        )


def _shape(job: Job, launched: Placement | None) -> tuple[int, int]:
    return (job.ranks, job.nodes) if launched is None else (launched.size, launched.nodes)


def _zones(machine: Machine, job: Job, request: Request) -> tuple[Placement | None, list[str], str]:
    for name, read in LAUNCHERS.items():
        text = request.given().get(name)
        if text is not None:
            launched, notes = read(machine, text, job)
            return launched, notes, launched.order
    return None, [], "block"


def _own_zones(machine: Machine, job: Job, request: Request) -> list[tuple[int, ...]]:
    everything = tuple(sorted(machine.allowed))
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


def _masked(machine: Machine, unmasked: Machine, request: Request) -> tuple[Machine, list[str], tuple[str, ...]]:
    memory: tuple[str, ...] = ()
    if request.taskset is not None:
        mask, notes = read_mask_or_list(machine, request.taskset)
    elif request.numactl is not None:
        mask, notes, memory = read_numactl(machine, request.numactl)
    elif request.hwloc is not None:
        mask, notes = read_hwloc(machine, request.hwloc)
    else:
        return unmasked, [], ()
    return within(machine, mask), notes, memory


def _subset(request: Request) -> Subset | None:
    if request.subset is not None:
        return read_subset(request.subset)
    if request.place_threads is not None:
        return read_subset(request.place_threads, "KMP_PLACE_THREADS")
    return None


def _threads(machine: Machine, job: Job, request: Request) -> Outcome | None:
    """Where the threads of one rank go on what it may use; None where nothing was given."""
    if request.policy is not None:
        placed = place(machine, request.policy, job.threads)
        return None if placed is None else Outcome(placed.places)
    if request.likwid is not None:
        processors, listed = read_likwid(machine, request.likwid)
        return Outcome(tuple((processors[t % len(processors)],) for t in range(job.threads)), tuple(listed))
    if request.bind is not None and "," in request.bind:
        found = _bound(machine, job, request)
        return None if found is None else Outcome(found.places, (*found.notes, _LEVELS))
    return _bound(machine, job, request)


def _bound(machine: Machine, job: Job, request: Request) -> Outcome | None:
    """Where an OpenMP runtime puts the threads of the outermost parallel region; None where nothing was given."""
    gnu = request.gomp is not None or request.runtime == "gnu"
    if gnu and not {"gomp", "places", "bind"}.isdisjoint(request.given()):
        return apply_gnu(machine, job.threads, request.places, request.gomp, request.bind)
    if {"affinity", "subset", "place_threads", "places", "bind"}.isdisjoint(request.given()):
        return None
    places = None if request.places is None else read_places(request.places)
    bind = None if request.bind is None else read_bind(request.bind)
    affinity = None if request.affinity is None else read_affinity(request.affinity)
    subset = _subset(request)
    if affinity is not None and affinity.type == "disabled":
        unread = (
            ("KMP_AFFINITY=disabled: the runtime does not read KMP_HW_SUBSET either",) if subset is not None else ()
        )
        return Outcome((tuple(sorted(machine.allowed)),) * job.threads, unread)
    layers, notes = _part(machine, request, subset, respect=affinity is None or affinity.respect)
    if request.place_threads is not None:
        notes = (_PLACE_THREADS.format(subset), *notes)
    # without a type it leaves the places to OpenMP's own variables, where those are set
    if affinity is not None and (affinity.typed or (places is None and bind is None)):
        outcome = apply_affinity(layers, affinity, job.threads)
    else:
        granularity = None if affinity is None else affinity.granularity
        outcome = apply_places(layers, places, bind, job.threads, granularity)
    return Outcome(outcome.places, (*notes, *outcome.notes))


def _part(machine: Machine, request: Request, subset: Subset | None, respect: bool) -> tuple[Layers, tuple[str, ...]]:
    """The layers as the runtime asked for sees them, of what its subset leaves."""
    llvm = request.runtime == "llvm"
    layers = layers_of(machine, respect, native=llvm)
    return (layers, ()) if subset is None else apply_subset(layers, subset, strict=llvm)


def fitting_threads(machine: Machine, job: Job, request: Request) -> int:
    """How many threads a rank gets where nobody says: as many as its list or its zone has processors, or as fit a quota."""
    if request.likwid is not None:
        return len(read_likwid(machine, request.likwid)[0])
    if request.gomp is not None:
        with suppress(InputError):
            return len(read_gomp(request.gomp))
    if job.ranks or any(name in request.given() for name in LAUNCHERS):
        try:
            placed = resolve(machine, job, replace(request, policy=None))
        except InputError:
            return 1
        return max(1, len(placed.placement.zones[0]))
    narrowed, _, _ = _masked(machine, machine, request)
    subset = _subset(request)
    if subset is not None:
        # a runtime counts the processors that its subset leaves
        left = len(_part(narrowed, request, subset, respect=True)[0].rows)
        return min(left, narrowed.parallelism)
    return narrowed.parallelism
