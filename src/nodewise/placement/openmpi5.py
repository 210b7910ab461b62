# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5's mpirun: --map-by, --rank-by and --bind-to as PRRTE 3 takes them, and its rank files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.placement import pe_list
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import job_from, options_and_notes, whole
from nodewise.placement.objects import objects
from nodewise.placement.open_mpi_options import BESIDE, FROM_ELSEWHERE, HOSTS, on_hosts, on_one_node
from nodewise.placement.placement import Placement
from nodewise.placement.prrte import DEPTHS, Plan, called, seat
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
    **HOSTS,
}
_BARE = ("hwthreads", "oversubscribe", "nooversubscribe")
_MODEL = "modelled is Open MPI 5.0, whose mpirun was asked, with the whole node allocated"
#: In the order in which PRRTE tries them; of a word and a name one may be the beginning of the other.
_KINDS = {
    **{name: name for name in ("core", "l1cache", "l2cache", "l3cache", "numa", "package")},
    "hwthread": "pu",
}
_QUALIFIERS = ("if-supported", "overload-allowed", "no-overload")
_RANKS = ("slot", "node", "fill", "span")
_MODIFIERS = ("span", "oversubscribe", "nooversubscribe", "nolocal", "hwtcpus", "corecpus", "inherit", "noinherit")
#: What a list of cores begins with.
_LIST = "pe-list="
_APART = (("oversubscribe", "nooversubscribe"), ("hwtcpus", "corecpus"), ("inherit", "noinherit"))


def read_openmpi5(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where the mpirun of Open MPI 5 puts ranks for its options; threads may use all of their rank's zone.

    Raises InputError for an option that is not known, and where mpirun would refuse.
    """
    options, passed = options_and_notes("mpirun", text, _OPTIONS, _BARE, BESIDE)
    mapping = _mapping(options)
    each = mapping.each * (1 if mapping.by in (None, "slot", "node") else len(objects(machine, mapping.by)))
    by_node = (mapping.by == "node" and not mapping.each) or "span" in mapping.modifiers
    crowded = "oversubscribe" in mapping.modifiers
    cpus = len(machine.allowed if "hwthreads" in options else machine.allowed_cores)
    job, slots, more = on_hosts("mpirun", options, job, cpus, each, by_node, crowded)
    on_one_node("mpirun", options, job)
    job = job_from("mpirun", options, job)
    if "hwthreads" in options and "corecpus" in mapping.modifiers:
        raise InputError("mpirun: --use-hwthread-cpus and :CORECPUS contradict each other", "name one")
    if "nolocal" in mapping.modifiers and job.nodes == 1 and not {"hosts", "hostfile"} & options.keys():
        raise InputError(
            "mpirun refuses :NOLOCAL on one node: it takes no rank itself, and there is no other",
            "leave :NOLOCAL out, or say how many nodes there are by --nodes",
        )
    notes = [_MODEL, *passed, *more]
    if mapping.listed is not None:
        return job.floating(
            "openmpi5", _by_list(machine, mapping, options, job, cpus if slots is None else slots)
        ), notes
    plan = _plan(machine, mapping, options, job.ranks)
    plan = plan if slots is None else replace(plan, slots=slots)
    zones = seat(machine, plan, job.per_node)
    if "socket" in text.lower():
        notes.append("Open MPI 5 calls sockets packages, and warns of the other name")
    if len(zones) > job.per_node:
        notes.append(f"mpirun fills every {called(plan.by)} that it begins: it starts {len(zones)} ranks a node")
    order = {"node": "cyclic"}.get(plan.rank, "block")
    if plan.rank == "span" and job.nodes > 1:
        there = len(objects(machine, plan.by))
        if job.per_node % there:
            raise InputError(
                "mpirun: ranks that are numbered by span must fill the objects of every node evenly here",
                "leave SPAN out, or start so many ranks that each object gets as many",
            )
        order = f"plane={there}" if there > 1 else "cyclic"
    return job.floating("openmpi5", zones[: job.per_node], order), notes


@dataclass(frozen=True)
class _Mapping:
    """A --map-by as read: `by` is `slot`, `node` or a kind of object, None where only modifiers are given, or `listed` of pe-list."""

    by: str | None
    each: int
    elements: int | None
    modifiers: frozenset[str]
    listed: str | None = None


def _mapping(options: Mapping[str, str]) -> _Mapping:
    text = options.get("map", "")
    if "per_node" in options:
        if text and not text.startswith(":"):
            raise InputError(
                f"mpirun: -N {options['per_node']} is --map-by ppr:{options['per_node']}:node, and --map-by {text} is given",
                "leave one out",
            )
        text = f"ppr:{options['per_node']}:node{text}"
    parts = text.lower().split(":")
    each = 0
    if parts[0] == "ppr":
        if len(parts) < 3:
            raise InputError(f"mpirun: --map-by {text!r} is not complete", "write ppr:N:object, such as ppr:2:package")
        each = whole("mpirun", "--map-by ppr", parts[1])
        parts = parts[2:]
    by = listed = None
    known: tuple[str, ...] = _MODIFIERS
    if parts[0].startswith(_LIST) and not each:
        listed = parts[0].removeprefix(_LIST)
        known = (*_MODIFIERS, "ordered")
    elif parts[0]:
        places = {"node": "node"} if each else {"slot": "slot", "node": "node"}
        by = _meant("--map-by", parts[0], {**places, **_KINDS}, longer=not each)
    elements = None
    modifiers = set()
    for part in parts[1:]:
        name, _, value = part.partition("=")
        if name == "pe":
            elements = whole("mpirun", "--map-by …:PE", value)
        else:
            modifiers.add(_meant("--map-by has no modifier", part, {one: one for one in known}))
    modifiers |= {name for name in _APART[0] if name in options}
    for pair in _APART:
        if modifiers.issuperset(pair):
            raise InputError(f"mpirun: --map-by {text}: {pair[0]} and {pair[1]} contradict each other", "name one")
    return _Mapping(by, each, elements, frozenset(modifiers), listed)


def _by_list(
    machine: Machine, mapping: _Mapping, options: Mapping[str, str], job: Job, slots: int
) -> list[tuple[int, ...]]:
    """The processors of each rank by pe-list. Raises InputError where mpirun refuses."""
    crowded, ordered = ("oversubscribe" in mapping.modifiers, "ordered" in mapping.modifiers)
    apart = [name for name in ("span", "inherit", "noinherit") if name in mapping.modifiers]
    if job.nodes > 1 or mapping.elements or apart or (crowded and ordered):
        raise InputError(
            "mpirun: --map-by pe-list is modelled on one node, with no modifier but :ORDERED, :OVERSUBSCRIBE or :HWTCPUS",
            "leave the others out",
        )
    bind = _binding(options["bind"])[0] if "bind" in options else "core"
    if bind not in ("core", "pu"):
        raise InputError(
            f"mpirun refuses --bind-to {options['bind']} and pe-list, which says itself what ranks are bound to",
            "leave --bind-to out",
        )
    if options.get("rank", "slot").lower() not in ("slot", "node"):
        raise InputError(
            f"mpirun refuses --rank-by {options['rank']} where ranks are mapped by a list", "leave --rank-by out"
        )
    if job.per_node > slots and not crowded:
        raise InputError(f"mpirun refuses {job.per_node} ranks a node: there are {slots} slots", "ask for fewer")
    threads = "hwthreads" in options or "hwtcpus" in mapping.modifiers or (ordered and bind == "pu")
    return pe_list.zones(
        machine,
        mapping.listed or "",
        job.per_node,
        threads=threads,
        ordered=ordered,
        crowded=crowded,
        named="bind" in options,
    )


def _binding(text: str) -> tuple[str | None, str]:
    """The kind that --bind-to names, None for none, and its modifier."""
    name, _, modifier = text.lower().partition(":")
    if modifier:
        modifier = _meant("--bind-to has no modifier", modifier, {one: one for one in _QUALIFIERS})
    return _meant("--bind-to", name, {"none": "", "hwthread": "pu", **_KINDS}) or None, modifier


def _meant(option: str, text: str, words: Mapping[str, str], longer: bool = True) -> str:
    """What the first of the words stands for that begins with the text, or, if `longer`, is its beginning; `socket` is a package.

    Raises InputError where none is.
    """
    if text == "socket" and "package" in words:
        return words["package"]
    found = next((one for one in words if text and (one.startswith(text) or (longer and text.startswith(one)))), None)
    if found is None:
        if option == "--map-by" and text in FROM_ELSEWHERE:
            raise InputError(
                f"mpirun: --map-by {text} bears on placement, and what it does is not modelled",
                "leave it out to see the placement of the other options",
            )
        unknown = "" if " " in option else " is not known"
        raise InputError(f"mpirun: {option} {text!r}{unknown}", f"known are: {', '.join(words)}")
    return words[found]


def _plan(machine: Machine, mapping: _Mapping, options: Mapping[str, str], ranks: int) -> Plan:
    """What the options come to, with PRRTE's defaults for what they leave open."""
    width = mapping.elements or 1
    asked = "bind" in options
    bind, modifier = _binding(options["bind"]) if asked else (None, "")
    if mapping.elements and asked and bind not in ("core", "pu"):
        raise InputError(
            f"mpirun: PE={mapping.elements} binds to processors, and --bind-to {options['bind']} was given",
            "leave --bind-to out, or give --bind-to core or hwthread",
        )
    threads = "hwthreads" in options or "hwtcpus" in mapping.modifiers or mapping.by == "pu"
    # where the first core has one hardware thread only, all cores are taken for hardware threads
    core = "pu" if machine.allowed_cores and len(machine.allowed_cores[0].pus) == 1 else "core"
    bind = core if bind == "core" else bind
    mapped = core if mapping.by == "core" and not mapping.each else mapping.by
    by = mapped or _default_object(width, bind if asked else "", threads)
    if width > 1 and (by == "pu" or (by == "core" and not threads)):
        raise InputError(
            f"mpirun refuses PE={width} where ranks are mapped by {called(by)}, which has one processor",
            "map by a larger object, such as package",
        )
    rank = _ranking(options.get("rank"), by, mapping)
    crowded = "oversubscribe" in mapping.modifiers
    if not asked and not crowded:
        bind = _default_binding(by, mapping, ranks, "pu" if threads else core)
    depth = "node" if by == "slot" else by
    if bind is not None and DEPTHS.index(depth) > DEPTHS.index(bind):
        raise InputError(
            f"mpirun refuses to bind to {called(bind)} what it maps by {called(by)}, which is smaller",
            "bind to the same or a smaller object, or map by a larger one",
        )
    if width > 1:
        threads = bind == "pu" if asked else threads
        bind = bind or ("pu" if threads else "core")
    return Plan(
        by=depth,
        bind=bind,
        rank=rank,
        slots=len(machine.allowed if "hwthreads" in options else machine.allowed_cores),
        each=mapping.each,
        width=width,
        threads=threads,
        asked=asked and modifier != "if-supported",
        overload=modifier == "overload-allowed",
        oversubscribe=crowded,
    )


def _default_object(width: int, bind: str | None, threads: bool) -> str:
    """What is mapped by where --map-by names nothing; `bind` is empty where --bind-to names nothing either.

    That it is the core for any number of ranks is what mpirun does: it counts them later.
    """
    if width > 1 or bind is None:
        return "slot"
    return bind or ("pu" if threads else "core")


def _default_binding(by: str, mapping: _Mapping, ranks: int, few: str) -> str:
    if mapping.elements:
        return few
    if by in ("slot", "node"):
        return few if ranks <= 2 else "numa"
    return by


def _ranking(text: str | None, by: str, mapping: _Mapping) -> str:
    if text is not None:
        name = _meant("Open MPI 5 has no --rank-by", text.lower(), {one: one for one in _RANKS})
        if name in ("fill", "span") and by in ("slot", "node"):
            raise InputError(f"mpirun refuses --rank-by {text} where ranks are mapped by {by}", "map by an object")
        return name
    if by == "node" and not mapping.each:
        return "node"
    if mapping.each and "span" in mapping.modifiers and by == "node":
        raise InputError("mpirun refuses :SPAN where ranks are mapped by node", "map by an object")
    if by == "slot" or (mapping.each and "span" not in mapping.modifiers):
        return "slot"
    return "span" if "span" in mapping.modifiers else "fill"


#: Mappings that are tried before a rank file is written: {width} is how many cores a rank has, {ranks} how many ranks a node.
_ON_ONE_NODE = tuple(
    f"--map-by {by}:PE={{width}} --bind-to core{more}"
    for by in ("slot", "package", "numa", "l3cache")
    for more in ("", " --rank-by slot")
)
_ON_SEVERAL = ("--map-by ppr:{ranks}:node:PE={width} --bind-to core",)


def write_openmpi5(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Rendering:
    """mpirun's options where they express it, else a rank file. Raises NotExpressibleError where a processor is not on the machine."""
    cores = [c.pus for c in machine.allowed_cores]
    of = {p: i for i, core in enumerate(cores) for p in core}
    widths = {len({of[p] for p in zone if p in of}) for zone in placement.zones}
    job = Job(max(placement.ranks or (placement.threads,)), max(1, placement.per_node))
    if len(widths) == 1 and placement.order == "block":
        for candidate in _ON_SEVERAL if placement.nodes > 1 else _ON_ONE_NODE:
            text = candidate.format(width=next(iter(widths)), ranks=placement.per_node)
            try:
                found, _ = read_openmpi5(machine, text, job)
            except InputError:
                continue
            if found.zones == placement.zones:
                words = ("mpirun", "-n", str(placement.size), *host_words(machine, hosts), *text.split())
                return Rendering(words=words, notes=(_MODEL,))
    return _rank_file(machine, placement, hosts)


def _rank_file(machine: Machine, placement: Placement, hosts: Sequence[str]) -> Rendering:
    """Slots are cores, or hardware threads where zones have parts of cores. Ranks that share some must be allowed to.

    Where the first core has one hardware thread and others more, PRRTE takes all slots for hardware threads.
    """
    widths = [len(core.pus) for core in machine.cores]
    text, by_core = rank_file(machine, placement, hosts, widths[0] == 1 < max(widths))
    words = ["mpirun", "-n", str(placement.size), *(() if by_core else ("--use-hwthread-cpus",))]
    room = len(machine.allowed_cores if by_core else machine.allowed)
    crowded = placement.per_node > room
    words += ["--map-by", f"rankfile:file=rankfile{':oversubscribe' if crowded else ''}"]
    shared = sum(map(len, placement.zones)) > len(set().union(*placement.zones))
    if shared or crowded:
        words += ["--bind-to", f"{'core' if by_core else 'hwthread'}:overload-allowed"]
    return Rendering(
        words=tuple(words),
        files={"rankfile": text},
        notes=("its slots are hwloc's logical indexes, in the words of Open MPI 5",),
    )
