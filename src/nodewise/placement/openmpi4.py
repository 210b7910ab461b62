# SPDX-License-Identifier: BSD-3-Clause
"""The mpirun of Open MPI 4: --map-by, --rank-by and --bind-to as version 4.1 takes them, and its rank files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import job_from, options_and_notes, whole
from nodewise.placement.mapping import WORDS, word
from nodewise.placement.objects import NAMES, objects
from nodewise.placement.open_mpi_options import BESIDE, FROM_ELSEWHERE, HOSTS, on_hosts, on_one_node
from nodewise.placement.orte import Plan, seat
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
_OPTIONS |= HOSTS | {spelt: name for spelt, (name, _, _) in _OLDER.items()}
_BARE = (
    "hwthreads",
    "oversubscribe",
    "nooversubscribe",
    *dict.fromkeys(name for name, _, value in _OLDER.values() if "{}" not in value),
)
_MODEL = "modelled is Open MPI 4.1, whose mpirun was asked, with the whole node allocated"
#: As many ranks are mapped and bound by core, more by NUMA node, where nothing says otherwise.
_FEW = 2
#: In the order in which it tries them: all but --bind-to take the beginning of a word for it.
_OBJECTS = ("slot", "node", "core", "l1cache", "l2cache", "l3cache", "socket", "numa", "hwthread")
_MODIFIERS = ("span", "oversubscribe", "nooversubscribe")
_BINDINGS = {"board": "", **{name: WORDS[name] for name in _OBJECTS[2:]}}
_QUALIFIERS = ("if-supported", "overload-allowed", "oversubscribe-allowed", "ordered")
#: What ranks are numbered by, and its kind; node, board and slot are the order that they were mapped in, on one node.
_RANKED = {
    "slot": "",
    "node": "",
    "board": "",
    "hwthread": "pu",
    "core": "core",
    **{name: WORDS[name] for name in _OBJECTS[3:8]},
}


def _begun(option: str, text: str, words: Sequence[str]) -> str:
    """The first of the words that this is the beginning of; raises InputError where none is."""
    found = next((one for one in words if text and one.startswith(text)), None)
    if found is None:
        if option == "--map-by" and text in FROM_ELSEWHERE:
            raise InputError(
                f"mpirun: --map-by {text} bears on placement, and what it does is not modelled",
                "leave it out to see the placement of the other options",
            )
        unknown = "" if " " in option else " is not known"
        raise InputError(f"mpirun: {option} {text!r}{unknown}", f"known are: {', '.join(words)}")
    return found


class _Mapping:
    """A --map-by as read: what to map by, how many ranks each, processing elements a rank, and modifiers.

    Where it has modifiers only, sockets are meant. `given` is whether it names an object, or :SPAN: ranks are then bound to that
    and numbered by it, too.
    """

    def __init__(self, text: str):
        head, _, rest = text.lower().partition(":")
        self.each = 0
        self.elements: int | None = None
        self.modifiers: list[str] = []
        if head == "ppr":
            number, _, rest = rest.partition(":")
            head, _, rest = rest.partition(":")
            if not head:
                raise InputError(
                    f"mpirun: --map-by {text!r} is not complete", "write ppr:N:object, such as ppr:2:socket"
                )
            self.each = whole("mpirun", "--map-by ppr", number)
        self.object = _begun("--map-by", head, _OBJECTS[bool(self.each) :]) if head else ""
        for part in rest.split(",") if rest else ():
            if part.startswith("pe="):
                # what follows a number after another colon is not read
                self.elements = whole("mpirun", "--map-by …:PE", part[len("pe=") :].partition(":")[0])
            else:
                self.modifiers.append(_begun("--map-by has no modifier", part, _MODIFIERS))
        self.given = bool(head) or "span" in self.modifiers
        if not head and text:
            self.object = "socket"

    def by(self, name: str, each: int = 0) -> None:
        """Map by another object."""
        self.object, self.each, self.given = name, each, True


def read_openmpi4(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where mpirun puts ranks for its options; threads may use all of their rank's zone.

    Raises InputError for an option that is not known, for options that contradict each other, and where mpirun would refuse.
    """
    options, passed = options_and_notes("mpirun", text, _OPTIONS, _BARE, replace(BESIDE, last=True))
    notes = [_MODEL, *passed]
    mapping = _Mapping(options.get("map", ""))
    _refuse_crowding_apart(options, mapping)
    older, rank = _older(options, mapping, notes)
    options |= older
    each = _on_node(machine, mapping, options)
    in_turn = mapping.object == "node" and not mapping.each
    by_node = (in_turn and not each) or _spans(mapping)
    crowded = "oversubscribe" in options or _crowding(mapping) == "oversubscribe"
    cpus = len(objects(machine, "pu" if _threads_are_slots(options) else "core"))
    job, slots, more = on_hosts("mpirun", options, job, cpus, each, by_node, crowded)
    notes += more
    if "per_node" in options and mapping.given and job.nodes == 1:
        # it then only says how many ranks a node gets at a time
        del options["per_node"]
    on_one_node("mpirun", options, job)
    if "per_node" in options and not mapping.given:
        mapping.by("node", whole("mpirun", "-N", options["per_node"]))
    job = job_from("mpirun", options, job)
    plan = _plan(machine, mapping, options, rank, job.ranks)
    plan = plan if slots is None else replace(plan, slots=slots)
    zones = seat(machine, plan, job.per_node)
    unbound = len({*zones, tuple(sorted(machine.allowed))}) == 1
    if not plan.asked and plan.bind and unbound and len(objects(machine, plan.bind)) > 1:
        notes.append("there are more ranks than room where they go: without --bind-to mpirun then binds none")
    order = "block"
    if job.nodes > 1:
        there = len(objects(machine, plan.by)) if plan.by else 1
        if _spans(mapping) and ("per_node" in options or job.ranks % (there * job.nodes)):
            raise InputError(
                f"mpirun: what --map-by {mapping.object}:SPAN does with {job.ranks} ranks on {job.nodes} nodes "
                f"{'and -N ' if 'per_node' in options else ''}is not modelled",
                f"give a multiple of the {there * job.nodes} that it deals them to, without -N, or leave SPAN out",
            )
        order = _order(in_turn, options.get("rank", "" if in_turn else rank))
    if order != "block" and job.per_node > -(-job.ranks // job.nodes):
        raise InputError(
            f"mpirun: how it numbers {job.ranks} ranks in turn on {job.nodes} nodes, of which one gets {job.per_node}, is not modelled",
            "map them --map-by node, too, or so that all nodes get as many",
        )
    return job.floating("openmpi4", zones, order), notes


def _on_node(machine: Machine, mapping: _Mapping, options: Mapping[str, str]) -> int:
    """How many ranks are to go to each node, by -N or ppr; 0 where nothing says so."""
    if mapping.each:
        kind = WORDS.get(mapping.object, "")
        return mapping.each * (len(objects(machine, kind)) if kind else 1)
    return whole("mpirun", "-N", options["per_node"]) if "per_node" in options else 0


def _threads_are_slots(options: Mapping[str, str]) -> bool:
    bind, asked, _ = _binding(options.get("bind"))
    return "hwthreads" in options or (asked and bind == "pu")


def _older(options: dict[str, str], mapping: _Mapping, notes: list[str]) -> tuple[dict[str, str], str]:
    """What options that it calls deprecated set, and the order of ranks; those on the mapping are put into it.

    Raises InputError where they contradict others, as mpirun does.
    """
    found: dict[str, str] = {}
    rank = ""
    for spelt, (name, target, value) in _OLDER.items():
        if name not in options or not spelt.startswith("--"):
            continue
        text = value.format(options.pop(name))
        today = {"map": "--map-by", "bind": "--bind-to", "per_node": "-N"}[target]
        notes.append(f"mpirun calls {spelt} deprecated: it is {today} {text}")
        if target == "per_node":
            found["per_node"] = text
        elif target == "bind":
            if text not in found.get("bind", options.get("bind", text)).partition(":")[0].lower():
                raise _contradiction(spelt, "--bind-to" if "bind" in options else "the other")
            found["bind"] = options.get("bind", text)
        elif name == "cpus":
            mapping.elements = mapping.elements or whole("mpirun", spelt, text.rpartition("=")[2])
        elif name == "npersocket":
            if not mapping.given:
                mapping.by("socket", whole("mpirun", spelt, text.split(":")[1]))
        else:
            if mapping.given and (mapping.object, mapping.each) != (text, 0):
                raise _contradiction(spelt, "what else maps ranks")
            if "rank" in options and _ranking(options["rank"])[0] != text:
                raise _contradiction(spelt, "--rank-by")
            mapping.by(text)
            rank = text
    return found, rank


def _refuse_crowding_apart(options: Mapping[str, str], mapping: _Mapping) -> None:
    if "nooversubscribe" in options and ("oversubscribe" in options or _crowding(mapping) == "oversubscribe"):
        raise _contradiction("--nooversubscribe", "what allows it")
    if "oversubscribe" in options and _crowding(mapping) == "nooversubscribe":
        raise _contradiction("--oversubscribe", ":NOOVERSUBSCRIBE")


def _contradiction(one: str, other: str) -> InputError:
    return InputError(f"mpirun refuses: {one} and {other} contradict each other", "give one of them")


def _crowding(mapping: _Mapping) -> str:
    """The last of the modifiers on oversubscription."""
    return next((one for one in reversed(mapping.modifiers) if one.endswith("oversubscribe")), "")


def _plan(machine: Machine, mapping: _Mapping, options: Mapping[str, str], rank: str, ranks: int) -> Plan:
    """What the options come to, with mpirun's defaults for what they leave open."""
    bind, asked, overload = _binding(options.get("bind"))
    # hardware threads are counted as slots where it is said before ranks are mapped
    early = _threads_are_slots(options)
    threads = early or (mapping.object == "hwthread" and not mapping.each)
    cpu = "pu" if threads else "core"
    width = mapping.elements or 0
    if width:
        board = options.get("bind", "").lower().startswith("board")
        if asked and (bind not in ("", cpu) or board):
            raise InputError(
                f"mpirun: PE={width} binds to {NAMES.get(cpu, cpu)}s, and --bind-to {options['bind']} was given",
                f"leave --bind-to out, or give --bind-to {'hwthread' if cpu == 'pu' else 'core'}",
            )
        bind, asked = (bind, True) if asked else (cpu, True)
    ranked = mapping.object if mapping.given and not mapping.each else ""
    if width > 1:
        if (
            mapping.given
            and not mapping.each
            and (mapping.object == "hwthread" or (mapping.object, cpu) == ("core", "core"))
        ):
            raise InputError(
                f"mpirun refuses PE={width} where ranks are mapped by {mapping.object}, which has one processor",
                "map by a larger object, such as socket",
            )
        if not mapping.object:
            mapping.by("numa")
    by, default = mapping.object, _default(machine, mapping, ranks, cpu)
    if not by:
        by = {"core": "core", "pu": "hwthread", "numa": "numa", "package": "socket", "": "slot"}[default]
    name, how = _ranking(options.get("rank", rank or ranked or "slot"))
    return Plan(
        by=WORDS.get(by, "") if by not in ("slot", "node") else "",
        bind=bind if asked else default,
        slots=len(objects(machine, "pu" if early else "core")),
        each=mapping.each,
        width=width,
        cpu=cpu,
        asked=asked,
        overload=overload or ("oversubscribe" in options and not asked),
        oversubscribe="oversubscribe" in options or _crowding(mapping) == "oversubscribe",
        rank=_RANKED[name],
        how=how,
        rank_asked="rank" in options,
    )


def _default(machine: Machine, mapping: _Mapping, ranks: int, cpu: str) -> str:
    """The kind that is bound to, and mapped by where nothing says so, without --bind-to."""
    if mapping.given and not mapping.each and mapping.object not in ("slot", "node"):
        return WORDS[mapping.object]
    if ranks <= _FEW:
        return cpu
    return next((kind for kind in ("numa", "package") if objects(machine, kind)), "")


def _binding(text: str | None) -> tuple[str, bool, bool]:
    """The kind that --bind-to names, empty for none, whether it names one, and whether more ranks than processors may share."""
    if text is None:
        return "", False, False
    name, _, rest = text.lower().partition(":")
    if name.startswith("none"):
        # what follows is not read
        return "", True, False
    modifiers = rest.split(",") if rest else []
    unknown = next((one for one in modifiers if not any(word.startswith(one) for word in _QUALIFIERS)), None)
    if unknown is not None:
        raise InputError(f"mpirun: --bind-to has no modifier {unknown!r}", "known are: overload-allowed, if-supported")
    overload = any(word.startswith(one) for one in modifiers for word in _QUALIFIERS[1:3])
    if not name:
        return "", False, overload
    return word("mpirun", "--bind-to", name, {"none": "", **_BINDINGS}), True, overload


def _ranking(text: str) -> tuple[str, str]:
    """The object of --rank-by, and its modifier, span or fill."""
    name, _, rest = text.lower().partition(":")
    how = _begun("--rank-by has no modifier", rest, ("span", "fill")) if rest else ""
    return _begun("--rank-by", name, tuple(_RANKED)), how


def _spans(mapping: _Mapping) -> bool:
    """Whether ranks are dealt to objects of all nodes as if those were one."""
    return "span" in mapping.modifiers and not mapping.each and mapping.object not in ("slot", "node", "")


def _order(in_turn: bool, rank_by: str) -> str:
    """The order of ranks over nodes: mapped to nodes `in_turn` they are numbered so, too, but where --rank-by says otherwise."""
    name, how = _ranking(rank_by or ("node" if in_turn else "slot"))
    if how == "span" and name not in ("slot", "node"):
        raise InputError(
            f"mpirun: how --rank-by {rank_by} numbers ranks over nodes is not modelled",
            "leave SPAN out to see the placement of the other options",
        )
    return "cyclic" if name == "node" else "block"


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
