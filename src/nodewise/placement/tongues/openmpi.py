# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI's mpirun: --map-by, --rank-by and --bind-to (version 5, with the older names), and rank files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.tongues.mapping import WORDS, deal, objects_or_larger, word
from nodewise.placement.tongues.options import job_from, read_options, whole
from nodewise.placement.tongues.said import CannotSayError, Said

_OPTIONS = {
    **dict.fromkeys(("--map-by", "-map-by"), "map"),
    **dict.fromkeys(("--bind-to", "-bind-to"), "bind"),
    **dict.fromkeys(("--rank-by", "-rank-by"), "rank"),
    **dict.fromkeys(("-n", "-np", "--np", "-c"), "ranks"),
    **dict.fromkeys(("-N", "--npernode", "-npernode"), "per_node"),
    "--use-hwthread-cpus": "hwthreads",
}
_BARE = ("hwthreads",)
_MODEL = "modelled from mpirun's manual, Open MPI 5, with the whole node allocated"
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


def read_openmpi(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where mpirun puts ranks for its options; threads may use all of their rank's zone.

    Raises InputError for an option that is not known, and where mpirun would refuse to share processors.
    """
    options = read_options("mpirun", text, _OPTIONS, _BARE)
    job = job_from("mpirun", options, job)
    mapping = _Mapping(options.get("map", "slot"))
    by_thread = "hwthreads" in options or "hwtcpus" in mapping.modifiers
    element = "pu" if by_thread else "core"
    bind, overload = _binding(options.get("bind"), mapping, job, element)
    notes = [_MODEL]
    if bind == "numa" and "bind" not in options and mapping.object in ("slot", "node"):
        notes.append("more than two ranks without --bind-to are bound to NUMA nodes (sockets in Open MPI 4)")
    mapped = _mapped_objects(machine, mapping, element)
    seats = _seats(mapping, len(mapped), job.per_node, options.get("rank"), mapping.elements)
    width = mapping.elements if mapping.elements and bind == element else 1
    if mapping.object in ("slot", "node") and not mapping.each:
        mapped, seats = [machine.allowed], [0] * job.per_node
        if bind is not None and bind != element:
            # a rank's processing elements decide which larger object holds it
            own = deal(machine, seats, mapped, element, max(1, mapping.elements))
            mapped, seats = list(own.zones), list(range(job.per_node))
    bound = deal(machine, seats, mapped, bind, width)
    if bound.shared and not (overload or "oversubscribe" in mapping.modifiers):
        raise InputError(
            f"mpirun refuses {job.per_node} ranks a node: there are not as many free {bind} objects where they go",
            "add :OVERSUBSCRIBE to --map-by or :overload-allowed to --bind-to, or ask for fewer",
        )
    order = _order(mapping, options.get("rank"), len(mapped))
    if order.startswith("plane") and job.per_node % len(mapped):
        raise InputError("mpirun: :SPAN needs ranks that fill the objects of every node evenly here")
    return job.floating("openmpi", bound.zones, order), notes


def _binding(text: str | None, mapping: _Mapping, job: Job, element: str) -> tuple[str | None, bool]:
    if text is None:
        if mapping.elements or mapping.object == element:
            return element, False
        if mapping.object in ("slot", "node"):
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
            f"mpirun: PE={mapping.elements} binds to {element}s, and --bind-to {name} was given",
            f"leave --bind-to out, or give --bind-to {'hwthread' if element == 'pu' else 'core'}",
        )
    return kind, overload


def _mapped_objects(machine: Machine, mapping: _Mapping, element: str) -> list[tuple[int, ...]]:
    if mapping.object == "node":
        return [machine.allowed]
    return objects_or_larger(machine, element if mapping.object == "slot" else mapping.kind)


def _seats(mapping: _Mapping, objects_there: int, ranks: int, rank_by: str | None, elements: int) -> list[int]:
    """Which mapped object each rank of a node goes to."""
    if mapping.each:
        if ranks > mapping.each * objects_there:
            raise InputError(
                f"mpirun: {mapping.each} ranks on each {mapping.object} are {mapping.each * objects_there} a node, not {ranks}",
                "ask for fewer ranks, or more nodes",
            )
        return [r // mapping.each for r in range(ranks)]
    if elements and mapping.object in ("core", "hwthread"):
        # a rank's elements are neighbours, and the next rank starts after them
        return [r * elements % objects_there for r in range(ranks)]
    dealt = [r % objects_there for r in range(ranks)]
    return sorted(dealt) if rank_by == "fill" else dealt


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
    "--map-by package:PE={} --bind-to core",
    "--map-by numa:PE={} --bind-to core",
    "--map-by l3cache:PE={} --bind-to core",
)


def write_openmpi(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Said:
    """mpirun's options where they say it, else a rank file. Raises CannotSayError where a rank's zone is empty or unknown."""
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
            said, _ = read_openmpi(machine, text, replace(job, nodes=1))
        except InputError:
            continue
        if said.zones == zones:
            return Said(words=("mpirun", *count, *text.split()), notes=(_MODEL,))
    return _rank_file(machine, placement, hosts, count)


def _rank_file(machine: Machine, placement: Placement, hosts: Sequence[str], count: list[str]) -> Said:
    cores = [c.pus for c in machine.cores]
    core_of = {p: i for i, core in enumerate(cores) for p in core}
    logical = {p: i for i, p in enumerate(machine.pus)}
    if any(p not in logical for zone in placement.zones for p in zone):
        raise CannotSayError("mpirun", "processors are not on this machine")
    allowed = set(machine.allowed)
    by_core = all(
        set(zone) == {p for i in {core_of[p] for p in zone} for p in cores[i] if p in allowed}
        for zone in placement.zones
    )
    numbering = core_of if by_core else logical
    slots = [format_processors(numbering[p] for p in zone) for zone in placement.zones]
    names = hosts or [f"+n{i}" for i in range(placement.nodes)]
    lines = (f"rank {r}={names[node]} slot={slots[seat]}\n" for r, (node, seat) in enumerate(placement.seats()))
    words = ("mpirun", *count[:2], *(() if by_core else ("--use-hwthread-cpus",)), "--rankfile", "rankfile")
    return Said(
        words=words, files={"rankfile": "".join(chain(lines))}, notes=("its slots are hwloc's logical indexes",)
    )
