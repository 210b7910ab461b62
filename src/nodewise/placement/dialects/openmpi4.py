# SPDX-License-Identifier: BSD-3-Clause
"""The mpirun of Open MPI 4: --map-by, --rank-by and --bind-to as version 4.1 takes them, and its rank files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Text
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import job_from, options_and_notes, whole
from nodewise.placement.mapping import WORDS, deal, word
from nodewise.placement.objects import NAMES, objects
from nodewise.placement.open_mpi_options import BESIDE
from nodewise.placement.placement import Placement
from nodewise.placement.rank_file import rank_file
from nodewise.placement.rendering import Rendering

_OPTIONS = {
    **dict.fromkeys(("--map-by", "-map-by"), "map"),
    **dict.fromkeys(("--bind-to", "-bind-to"), "bind"),
    **dict.fromkeys(("--rank-by", "-rank-by"), "rank"),
    **dict.fromkeys(("-n", "-np", "--np", "-c"), "ranks"),
    **dict.fromkeys(("-N", "--npernode", "-npernode"), "per_node"),
    "--use-hwthread-cpus": "hwthreads",
    **dict.fromkeys(("--oversubscribe", "-oversubscribe"), "oversubscribe"),
    **dict.fromkeys(("--nooversubscribe", "-nooversubscribe"), "nooversubscribe"),
}
_BARE = ("hwthreads", "oversubscribe", "nooversubscribe")
_MODEL = "modelled is Open MPI 4.1, whose mpirun was asked, with the whole node allocated"
_MODIFIERS = ("span", "nooversubscribe", "oversubscribe", "nolocal", "hwtcpus", "corecpus", "inherit", "noinherit")


class _Mapping:
    """A --map-by as read: what to map by, how many ranks each, processing elements a rank, and modifiers."""

    def __init__(self, text: str):
        parts = text.lower().split(":")
        self.each = 0
        self.elements = 0
        self.modifiers: set[str] = set()
        if parts[0] == "ppr":
            if len(parts) < 3:
                raise InputError(
                    f"mpirun: --map-by {text!r} is not complete", "write ppr:N:object, such as ppr:2:socket"
                )
            self.each = whole("mpirun", "--map-by ppr", parts[1])
            parts = parts[2:]
        self.object = parts[0]
        if self.object not in ("slot", "node"):
            self.kind = word("mpirun", "--map-by", self.object, {"slot": "", "node": "", **WORDS})
        for part in parts[1:]:
            name, _, value = part.partition("=")
            if name == "pe":
                self.elements = whole("mpirun", "--map-by …:PE", value)
            elif name in _MODIFIERS:
                self.modifiers.add(name)
            else:
                raise InputError(
                    f"mpirun: --map-by has no modifier {part!r}", f"known are: PE=N, {', '.join(_MODIFIERS)}"
                )


def read_openmpi4(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where mpirun puts ranks for its options; threads may use all of their rank's zone.

    Raises InputError for an option that is not known, and where mpirun would refuse to share processors.
    """
    options, passed = options_and_notes("mpirun", text, _OPTIONS, _BARE, "mpiexec", BESIDE)
    job = job_from("mpirun", options, job)
    # as many as two ranks are mapped by core, more by NUMA node
    few = "hwthread" if "hwthreads" in options else "core"
    default = few if job.ranks <= 2 else "numa"
    asked = options.get("map", "")
    # whether ranks may share slots leaves the default as it is
    mapping = _Mapping(f"{default}{asked}" if asked.lower() in ("", ":oversubscribe", ":nooversubscribe") else asked)
    by_thread = "hwthreads" in options or "hwtcpus" in mapping.modifiers
    element = "pu" if by_thread or mapping.object == "hwthread" else "core"
    bind, overload = _binding(options.get("bind"), mapping, job, element)
    oversubscribed = "oversubscribe" in {*mapping.modifiers, *options}
    notes = [_MODEL, *passed]
    slot = "pu" if by_thread or (bind == "pu" and "bind" in options) else "core"
    elements = objects(machine, "pu" if bind == "pu" or mapping.object == "hwthread" else slot)
    slots = len(objects(machine, slot))
    if job.per_node * max(1, mapping.elements) > slots and not (overload or oversubscribed):
        raise InputError(
            f"mpirun refuses {job.per_node} ranks a node: there are {slots} slots, a slot for each {NAMES.get(slot, slot)}",
            "add :OVERSUBSCRIBE to --map-by, or ask for fewer",
        )
    mapped = _mapped_objects(machine, mapping, element)
    seats = _seats(mapping, len(mapped), job.per_node, options.get("rank"))
    if bind is None:
        zones = (tuple(sorted(machine.allowed)),) * job.per_node
    else:
        width = mapping.elements if mapping.elements and bind == element else 1
        bound = deal(seats, mapped, _there(machine, bind), elements, width)
        zones = bound.zones
        if bound.crowd > 1 and not overload and not ("bind" in options or mapping.elements):
            notes.append("there are more ranks than room where they go: without --bind-to mpirun then binds none")
            zones = (tuple(sorted(machine.allowed)),) * job.per_node
        elif bound.crowd > 1 and not overload:
            raise InputError(
                f"mpirun refuses {job.per_node} ranks a node: more of them go to a {NAMES.get(bind, bind)} than it has cores",
                "add :overload-allowed to --bind-to, or ask for fewer",
            )
    zones = _ranked(machine, options.get("rank"), mapped, seats, zones)
    order = _order(mapping, options.get("rank"), len(mapped))
    if order.startswith("plane") and job.per_node % len(mapped):
        raise InputError("mpirun: :SPAN needs ranks that fill the objects of every node evenly here")
    return job.floating("openmpi4", zones, order), notes


def _binding(text: str | None, mapping: _Mapping, job: Job, element: str) -> tuple[str | None, bool]:
    if text is None:
        if mapping.elements:
            return element, False
        if mapping.each or mapping.object in ("slot", "node"):
            return (element if job.ranks <= 2 else "numa"), False
        return mapping.kind, False
    name, _, modifier = text.lower().partition(":")
    if modifier not in ("", "overload-allowed", "no-overload", "if-supported"):
        raise InputError(f"mpirun: --bind-to has no modifier {modifier!r}", "known are: overload-allowed, if-supported")
    overload = modifier == "overload-allowed"
    if name == "none":
        return None, overload
    kind = word("mpirun", "--bind-to", name, {"none": "", **WORDS})
    if mapping.elements > 1 and kind != element:
        raise InputError(
            f"mpirun: PE={mapping.elements} binds to {NAMES.get(element, element)}s, and --bind-to {name} was given",
            f"leave --bind-to out, or give --bind-to {'hwthread' if element == 'pu' else 'core'}",
        )
    return kind, overload


def _there(machine: Machine, kind: str) -> list[tuple[int, ...]]:
    found = objects(machine, kind)
    if not found:
        raise InputError(f"mpirun refuses: this machine has no {NAMES.get(kind, kind)}", "name objects that it has")
    return found


def _mapped_objects(machine: Machine, mapping: _Mapping, element: str) -> list[tuple[int, ...]]:
    # a slot is anywhere on the node: binding looks for a free place on all of it
    # and an object that the machine lacks stands for all of it, but where ranks are counted by it
    if mapping.object in ("node", "slot"):
        return [machine.allowed]
    return _there(machine, mapping.kind) if mapping.each else objects(machine, mapping.kind) or [machine.allowed]


def _seats(mapping: _Mapping, there: int, ranks: int, rank_by: str | None) -> list[int]:
    """Which mapped object each rank of a node goes to."""
    if mapping.each:
        if ranks > mapping.each * there:
            raise InputError(
                f"mpirun: {mapping.each} ranks on each {mapping.object} are {mapping.each * there} a node, not {ranks}",
                "ask for fewer ranks, or more nodes",
            )
        return [r // mapping.each for r in range(ranks)]
    dealt = [r % there for r in range(ranks)]
    return sorted(dealt) if rank_by == "fill" else dealt


def _ranked(
    machine: Machine,
    rank_by: str | None,
    mapped: list[tuple[int, ...]],
    seats: list[int],
    zones: tuple[tuple[int, ...], ...],
) -> tuple[tuple[int, ...], ...]:
    """With --rank-by and an object ranks are numbered round those objects, each taking the next rank mapped on it."""
    kind = WORDS.get((rank_by or "").lower())
    if kind is None:
        return zones
    groups = [set(pus) for pus in _there(machine, kind)]
    waiting = [(set(mapped[seat]), zone) for seat, zone in zip(seats, zones, strict=True)]
    found: list[tuple[int, ...]] = []
    while waiting:
        before = len(found)
        for group in groups:
            at = next((i for i, (where, _) in enumerate(waiting) if where & group), None)
            if at is not None:
                found.append(waiting.pop(at)[1])
        if len(found) == before:
            return zones
    return tuple(found)


_RANK_BY = ("slot", "node", "fill", "span", *WORDS)


def _order(mapping: _Mapping, rank_by: str | None, there: int) -> str:
    if rank_by is not None and rank_by.partition(":")[0].lower() not in _RANK_BY:
        raise InputError(f"mpirun: --rank-by {rank_by!r} is not known", f"known are: {', '.join(_RANK_BY)}")
    if mapping.object == "node" or rank_by == "node":
        return "cyclic"
    if "span" in mapping.modifiers or rank_by == "span":
        return f"plane={there}" if there > 1 else "cyclic"
    return "block"


#: Mappings that are tried before a rank file is written; {} is how many cores a rank has.
_CANDIDATES = (
    "--map-by slot:PE={} --bind-to core",
    "--map-by socket:PE={} --bind-to core",
    "--map-by numa:PE={} --bind-to core",
    "--map-by l3cache:PE={} --bind-to core",
)


def write_openmpi4(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Rendering:
    """mpirun's options where they express it, else a rank file. Raises NotExpressibleError where a rank's zone is empty or unknown."""
    zones = placement.zones
    count = ["-n", str(placement.size)]
    if placement.nodes > 1:
        count += ["-N", str(placement.per_node)]
    cores = [c.pus for c in machine.allowed_cores]
    of = {p: i for i, core in enumerate(cores) for p in core}
    widths = {len({of[p] for p in zone if p in of}) for zone in zones}
    job = Job(max(placement.ranks or (placement.threads,)), max(1, placement.per_node))
    for candidate in _CANDIDATES if len(widths) == 1 and placement.order == "block" else ():
        text = candidate.format(next(iter(widths)))
        try:
            found, _ = read_openmpi4(machine, text, replace(job, nodes=1))
        except InputError:
            continue
        if found.zones == zones:
            return Rendering(words=("mpirun", *count, *text.split()), notes=(_MODEL,))
    return _rank_file(machine, placement, hosts, count)


def _rank_file(machine: Machine, placement: Placement, hosts: Sequence[str], count: list[str]) -> Rendering:
    text, by_core = rank_file(machine, placement, hosts)
    words = ("mpirun", *count[:2], *(() if by_core else ("--use-hwthread-cpus",)), "--rankfile", "rankfile")
    return Rendering(words=words, files={"rankfile": text}, notes=("its slots are hwloc's logical indexes",))


DIALECT = Dialect(
    name="openmpi4",
    texts=(Text("openmpi4", "Options of the mpirun of Open MPI 4, such as '--map-by socket:PE=4'."),),
    launch=read_openmpi4,
    write_job=write_openmpi4,
)
