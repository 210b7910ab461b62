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
from nodewise.placement.rank_file import host_words, rank_file
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
#: Options that it still takes, though it calls them deprecated, with what they are today.
_OLDER = {
    **{f"{dash}by{name}": (f"by {name}", "map", name) for name in ("core", "slot", "node") for dash in ("-", "--")},
    **{f"{dash}pernode": ("pernode", "per_node", "1") for dash in ("-", "--")},
    **{f"{dash}npersocket": ("npersocket", "map", "ppr:{}:socket") for dash in ("-", "--")},
    **{f"{dash}cpus-per-{of}": ("cpus", "map", "numa:pe={}") for of in ("proc", "rank") for dash in ("-", "--")},
    **{f"{dash}bind-to-{to}": (f"to {to}", "bind", to) for to in ("core", "socket") for dash in ("-", "--")},
}
_OPTIONS |= {spelt: name for spelt, (name, _, _) in _OLDER.items()}
_BARE = (
    "hwthreads",
    "oversubscribe",
    "nooversubscribe",
    *dict.fromkeys(name for name, _, value in _OLDER.values() if "{}" not in value),
)
_MODEL = "modelled is Open MPI 4.1, whose mpirun was asked, with the whole node allocated"
#: In the order in which it tries them: all but --bind-to take the beginning of a word for it.
_OBJECTS = ("slot", "node", "core", "l1cache", "l2cache", "l3cache", "socket", "numa", "hwthread")
_MODIFIERS = ("span", "oversubscribe", "nooversubscribe")
_BINDINGS = {"none": "", "board": "machine", **{name: WORDS[name] for name in _OBJECTS[2:]}}


def _begun(option: str, text: str, words: Sequence[str]) -> str:
    """The first of the words that this is the beginning of; raises InputError where none is."""
    found = next((one for one in words if text and one.startswith(text)), None)
    if found is None:
        unknown = "" if " " in option else " is not known"
        raise InputError(f"mpirun: {option} {text!r}{unknown}", f"known are: {', '.join(words)}")
    return found


class _Mapping:
    """A --map-by as read: what to map by, how many ranks each, processing elements a rank, and modifiers.

    `implied` is whether only modifiers are given.
    """

    def __init__(self, text: str):
        head, _, rest = text.lower().partition(":")
        self.each = 0
        self.elements = 0
        self.modifiers: set[str] = set()
        self.implied = not head
        if head == "ppr":
            number, _, rest = rest.partition(":")
            head, _, rest = rest.partition(":")
            if not head:
                raise InputError(
                    f"mpirun: --map-by {text!r} is not complete", "write ppr:N:object, such as ppr:2:socket"
                )
            self.each = whole("mpirun", "--map-by ppr", number)
        self.object = _begun("--map-by", head or "socket", _OBJECTS[bool(self.each) :])
        self.kind = WORDS.get(self.object, "")
        for part in rest.split(",") if rest else ():
            if part.startswith("pe="):
                # what follows a number after another colon is not read
                self.elements = whole("mpirun", "--map-by …:PE", part[len("pe=") :].partition(":")[0])
            else:
                self.modifiers.add(_begun("--map-by has no modifier", part, _MODIFIERS))


def read_openmpi4(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where mpirun puts ranks for its options; threads may use all of their rank's zone.

    Raises InputError for an option that is not known, and where mpirun would refuse to share processors.
    """
    options, passed = options_and_notes("mpirun", text, _OPTIONS, _BARE, BESIDE)
    notes = [_MODEL, *passed, *_renewed(options)]
    job = job_from("mpirun", options, job)
    # as many as two ranks are mapped by core, more by NUMA node
    few = "hwthread" if "hwthreads" in options else "core"
    mapping = _Mapping(options.get("map", few if job.ranks <= 2 else "numa"))
    by_thread = "hwthreads" in options
    element = "pu" if by_thread or mapping.object == "hwthread" else "core"
    if mapping.elements and not by_thread and options.get("bind", "").lower().startswith("hwthread"):
        element = "pu"
    bind, overload = _binding(options.get("bind"), mapping, job, element)
    upward = mapping.each and mapping.object == "hwthread" and not by_thread and "bind" not in options
    if upward and job.ranks <= 2:
        bind = "core"
    oversubscribing = "oversubscribe" in {*mapping.modifiers, *options}
    slot = "pu" if by_thread or (bind == "pu" and "bind" in options) else "core"
    elements = objects(machine, "pu" if bind == "pu" or (mapping.object == "hwthread" and not upward) else slot)
    slots = len(objects(machine, slot))
    if job.per_node * max(1, mapping.elements) > slots and not oversubscribing:
        raise InputError(
            f"mpirun refuses {job.per_node} ranks a node: there are {slots} slots, a slot for each {NAMES.get(slot, slot)}",
            "add :OVERSUBSCRIBE to --map-by, or ask for fewer",
        )
    if job.per_node > slots and not ("bind" in options or mapping.elements):
        bind = None
        notes.append("there are more ranks than slots: without --bind-to mpirun then binds none")
    mapped = _mapped_objects(machine, mapping, element)
    seats = _seats(mapping, len(mapped), job.per_node)
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
    if order.startswith("plane") and job.nodes == 1:
        order = "block"
    if order.startswith("plane") and job.per_node % len(mapped):
        raise InputError("mpirun: :SPAN needs ranks that fill the objects of every node evenly here")
    return job.floating("openmpi4", zones, order), notes


def _binding(text: str | None, mapping: _Mapping, job: Job, element: str) -> tuple[str | None, bool]:
    if text is None:
        if mapping.elements:
            return element, False
        implied = mapping.implied and "span" not in mapping.modifiers
        if mapping.each or implied or mapping.object in ("slot", "node"):
            return (element if job.ranks <= 2 else "numa"), False
        return mapping.kind, False
    name, _, rest = text.lower().partition(":")
    modifiers = rest.split(",") if rest else []
    unknown = next((one for one in modifiers if one not in ("overload-allowed", "if-supported")), None)
    if unknown is not None:
        raise InputError(f"mpirun: --bind-to has no modifier {unknown!r}", "known are: overload-allowed, if-supported")
    overload = "overload-allowed" in modifiers
    kind = word("mpirun", "--bind-to", name, _BINDINGS)
    if mapping.elements and kind and kind != element:
        raise InputError(
            f"mpirun: PE={mapping.elements} binds to {NAMES.get(element, element)}s, and --bind-to {name} was given",
            f"leave --bind-to out, or give --bind-to {'hwthread' if element == 'pu' else 'core'}",
        )
    return kind or None, overload


def _renewed(options: dict[str, str]) -> list[str]:
    """Put deprecated options in today's words; gives the notes. Raises InputError where both are given."""
    notes = []
    for spelt, (name, target, value) in _OLDER.items():
        if name in options and spelt.startswith("--"):
            if target in options:
                raise InputError(f"mpirun: {spelt} is given, and what contradicts it", "give one of them")
            options[target] = value.format(options.pop(name))
            today = {"map": "--map-by", "bind": "--bind-to", "per_node": "-N"}[target]
            notes.append(f"mpirun calls {spelt} deprecated: it is {today} {options[target]}")
    return notes


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


def _seats(mapping: _Mapping, there: int, ranks: int) -> list[int]:
    """Which mapped object each rank of a node goes to."""
    if mapping.each:
        if ranks > mapping.each * there:
            raise InputError(
                f"mpirun: {mapping.each} ranks on each {mapping.object} are {mapping.each * there} a node, not {ranks}",
                "ask for fewer ranks, or more nodes",
            )
        return [r // mapping.each for r in range(ranks)]
    return [r % there for r in range(ranks)]


def _ranked(
    machine: Machine,
    rank_by: str | None,
    mapped: list[tuple[int, ...]],
    seats: list[int],
    zones: tuple[tuple[int, ...], ...],
) -> tuple[tuple[int, ...], ...]:
    """With --rank-by and an object ranks are numbered round those objects, each taking the next rank mapped on it.

    With :fill each takes all of them.
    """
    name, modifiers = _ranking(rank_by)
    kind = _RANKED[name]
    if kind is None:
        return zones
    groups = [set(pus) for pus in _there(machine, kind)]
    waiting = [(set(mapped[seat]), zone) for seat, zone in zip(seats, zones, strict=True)]
    found: list[tuple[int, ...]] = []
    while waiting:
        before = len(found)
        for group in groups:
            for at in [i for i, (where, _) in enumerate(waiting) if where & group][
                : None if "fill" in modifiers else 1
            ]:
                found.append(waiting[at][1])
                waiting[at] = (set(), ())
        waiting = [one for one in waiting if one[1]]
        if len(found) == before:
            return zones
    return tuple(found)


#: What ranks are numbered by; None is the order that they were mapped in.
_RANKED = {"slot": None, "node": None, **{name: WORDS[name] for name in _OBJECTS[2:]}, "board": None}


def _ranking(text: str | None) -> tuple[str, set[str]]:
    """The object of --rank-by, and its modifiers, span or fill."""
    name, _, rest = (text or "slot").lower().partition(":")
    modifiers = (
        {_begun("--rank-by has no modifier", part, ("span", "fill")) for part in rest.split(",")} if rest else set()
    )
    return _begun("--rank-by", name, tuple(_RANKED)), modifiers


def _order(mapping: _Mapping, rank_by: str | None, there: int) -> str:
    name, modifiers = _ranking(rank_by)
    if mapping.object == "node" or name == "node":
        return "cyclic"
    if "span" in mapping.modifiers or "span" in modifiers:
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
            return Rendering(words=("mpirun", *count, *host_words(machine, hosts), *text.split()), notes=(_MODEL,))
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
