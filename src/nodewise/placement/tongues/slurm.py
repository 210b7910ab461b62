# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun: --cpu-bind and --distribution (srun(1), Slurm 23 to 25), and its file of hosts."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.job import Job
from nodewise.placement.objects import objects, primary_order
from nodewise.placement.placement import Placement
from nodewise.placement.tongues.mapping import objects_or_larger
from nodewise.placement.tongues.masks import permitted
from nodewise.placement.tongues.options import job_from, read_options, whole
from nodewise.placement.tongues.said import Said

_OPTIONS = {
    **dict.fromkeys(("--cpu-bind", "--cpu_bind"), "bind"),
    **dict.fromkeys(("--distribution", "-m"), "distribution"),
    **dict.fromkeys(("--ntasks", "-n"), "ranks"),
    "--ntasks-per-node": "per_node",
    **dict.fromkeys(("--cpus-per-task", "-c"), "threads"),
    "--threads-per-core": "per_core",
    "--hint": "hint",
    **dict.fromkeys(("--nodes", "-N"), "nodes"),
    "--overcommit": "overcommit",
    "-O": "overcommit",
}
_MODEL = "modelled from srun's manual, with the whole node allocated"
_BINDINGS = (
    "none",
    "threads",
    "cores",
    "sockets",
    "ldoms",
    "rank_ldom",
    "map_cpu",
    "mask_cpu",
    "map_ldom",
    "mask_ldom",
)
_MOST = 1 << 16


def read_slurm(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where srun puts tasks for its options; threads may use all of their task's zone.

    Raises InputError for an option or a word that is not known, and where tasks ask for more than there is.
    """
    options = read_options("srun", text, _OPTIONS, ("overcommit",))
    if "nodes" in options:
        nodes = whole("srun", "--nodes", options["nodes"])
        ranks = job.ranks or (whole("srun", "--ntasks", options["ranks"]) if "ranks" in options else 0)
        per_node = whole("srun", "--ntasks-per-node", options["per_node"]) if "per_node" in options else 1
        job = Job(job.threads, ranks or per_node * nodes, nodes)
    job = job_from("srun", options, job)
    order, socket, core = _distribution(options.get("distribution", "*"), job)
    notes = [_MODEL]
    bind, argument = _bind(options.get("bind"))
    if bind == "auto":
        bind = "cores"
        notes.append("without --cpu-bind the cluster's configuration decides: cores are shown")
    if argument is not None:
        zones, more = _listed(machine, bind, argument, job.per_node)
        return job.floating("slurm", zones, order), notes + more
    if bind == "none":
        return job.floating("slurm", [tuple(sorted(machine.allowed))] * job.per_node, order), notes
    if bind == "rank_ldom":
        nodes_there = objects_or_larger(machine, "numa")
        zones = [tuple(sorted(nodes_there[r % len(nodes_there)])) for r in range(job.per_node)]
        return job.floating("slurm", zones, order), notes
    per_core = _per_core(options)
    zones = _automatic(machine, bind, (socket, core), job, per_core, "overcommit" in options)
    return job.floating("slurm", zones, order), notes


def _per_core(options: dict[str, str]) -> int | None:
    hint = options.get("hint")
    if hint not in (None, "nomultithread", "multithread", "compute_bound", "memory_bound"):
        raise InputError(
            f"srun: --hint {hint!r} is not known", "known are: nomultithread, multithread, compute_bound, memory_bound"
        )
    if hint == "nomultithread":
        return 1
    return whole("srun", "--threads-per-core", options["per_core"]) if "per_core" in options else None


def _distribution(text: str, job: Job) -> tuple[str, str, str]:
    """How tasks go over nodes, over sockets, and over cores; `*` is the default of a level."""
    levels = [level.strip().lower() for level in text.partition(",")[0].split(":")]
    after = text.partition(",")[2].strip().lower()
    if len(levels) > 3 or after not in ("", "pack", "nopack"):
        raise InputError(
            f"srun: --distribution {text!r} is not known", "write node[:socket[:core]], such as block:cyclic"
        )
    node, socket, core = [*levels, "*", "*"][:3]
    names = ("block", "cyclic", "fcyclic", "*")
    if node.startswith("plane="):
        node = f"plane={whole('srun', '--distribution plane', node.removeprefix('plane='))}"
    elif node == "arbitrary":
        raise InputError("srun: --distribution=arbitrary needs the file of hosts", "use block, cyclic or plane=N")
    elif node not in ("block", "cyclic", "*"):
        raise InputError(f"srun: --distribution has no {node!r} over nodes", "known are: block, cyclic, plane=N")
    for level in (socket, core):
        if level not in (*names, "inherit"):
            raise InputError(
                f"srun: --distribution has no {level!r} over sockets or cores", f"known are: {', '.join(names)}"
            )
    # manual: block over nodes while there are more tasks than nodes, else cyclic
    node = ("cyclic" if job.ranks <= job.nodes else "block") if node == "*" else node
    socket = "cyclic" if socket in ("*", "inherit") else socket
    return node, socket, socket if core in ("*", "inherit") else core


def _bind(text: str | None) -> tuple[str, str | None]:
    if text is None:
        return "auto", None
    words = [w for w in text.split(",") if w.lower() not in ("quiet", "q", "verbose", "v")]
    name, colon, argument = ",".join(words).partition(":")
    name = name.lower()
    if name in ("", "no", "none", "n"):
        return ("none" if name else "auto"), None
    if name == "rank":
        raise InputError("srun: --cpu-bind=rank is no longer there", "use map_cpu, or cores with --distribution")
    if name not in _BINDINGS:
        raise InputError(f"srun: --cpu-bind has no {name!r}", f"known are: {', '.join(_BINDINGS)}")
    listed = name.startswith(("map", "mask"))
    if listed != bool(colon and argument):
        raise InputError(f"srun: --cpu-bind={name} " + ("needs a list" if listed else "takes no list"))
    return name, argument if listed else None


def _listed(machine: Machine, bind: str, text: str, ranks: int) -> tuple[list[tuple[int, ...]], list[str]]:
    """The lists of map_… and mask_…; an entry `X*N` is N times X, and a list that is too short starts over."""
    entries: list[int] = []
    for part in text.split(","):
        number, star, times = part.strip().partition("*")
        hexadecimal = bind.startswith("mask") or number.lower().startswith("0x")
        try:
            value = int(number, 16 if hexadecimal else 10)
            count = int(times) if star else 1
        except ValueError:
            value = count = -1
        if value < 0 or count < 1 or len(number) > 5000 or len(entries) + count > _MOST:
            raise InputError(
                f"srun: --cpu-bind={bind}: {part!r} is no entry", "write numbers, masks such as 0xff, or X*N"
            )
        entries += [value] * count
    zones: list[tuple[int, ...]] = []
    notes: list[str] = []
    domains = objects_or_larger(machine, "numa")
    for value in entries[:ranks]:
        numbers = {i for i in range(value.bit_length()) if value >> i & 1} if bind.startswith("mask") else {value}
        if bind.endswith("ldom"):
            numbers = {p for i in numbers if i < len(domains) for p in domains[i]}
        zone, more = permitted(machine, numbers, "srun")
        zones.append(zone)
        notes += more
    return [zones[r % len(zones)] for r in range(ranks)], notes


def _automatic(
    machine: Machine, bind: str, how: tuple[str, str], job: Job, per_core: int | None, overcommit: bool
) -> list[tuple[int, ...]]:
    """Tasks take as many hardware threads as they have threads, and are bound to those, or to what holds them."""
    sockets = objects_or_larger(machine, "package")
    core_of = {p: core for core in objects(machine, "core") for p in core}
    queues = [_queue(machine, socket, how[1], per_core, bind == "threads", core_of) for socket in sockets]
    widths = max(len(entry) for queue in queues for entry in queue)
    need = -(-job.threads // widths)
    total = sum(map(len, queues))
    if need * job.per_node > total and not overcommit:
        raise InputError(
            f"srun refuses {job.per_node} tasks of {job.threads} threads on a node of {total} "
            + ("hardware threads" if widths == 1 else "cores"),
            "ask for fewer, or add --overcommit",
        )
    zones: list[tuple[int, ...]] = []
    free = [list(queue) for queue in queues]
    for task in range(job.per_node):
        taken = _take(free, queues, how[0], task, need)
        holders = {p for entry in taken for p in entry}
        zones.append(_widened(machine, bind, holders, core_of))
    return zones


def _queue(
    machine: Machine,
    socket: tuple[int, ...],
    how: str,
    per_core: int | None,
    threads: bool,
    core_of: dict[int, tuple[int, ...]],
) -> list[tuple[int, ...]]:
    """What tasks are given of a socket, in order: cores, or hardware threads where those are what is bound to."""
    usable = [p for p in socket if per_core is None or core_of[p].index(p) < per_core]
    if threads:
        return [(p,) for p in (usable if how == "block" else primary_order(machine, tuple(usable)))]
    cores = list(dict.fromkeys(core_of[p] for p in usable))
    return [tuple(p for p in core if per_core is None or core.index(p) < per_core) for core in cores]


def _take(
    free: list[list[tuple[int, ...]]], queues: list[list[tuple[int, ...]]], how: str, task: int, need: int
) -> list[tuple[int, ...]]:
    taken: list[tuple[int, ...]] = []
    if how == "fcyclic":
        at = task * need
        while len(taken) < need:
            _refill(free, queues)
            queue = free[at % len(free)]
            at += 1
            if queue:
                taken.append(queue.pop(0))
        return taken
    first = task % len(free) if how == "cyclic" else 0
    turns = [(first + i) % len(free) for i in range(len(free))]
    enough = next((i for i in turns if len(free[i]) >= need), None) if how == "cyclic" else None
    if enough is not None:
        taken, free[enough] = free[enough][:need], free[enough][need:]
        return taken
    while len(taken) < need:
        _refill(free, queues)
        queue = next(free[i] for i in turns if free[i])
        taken.append(queue.pop(0))
    return taken


def _refill(free: list[list[tuple[int, ...]]], queues: list[list[tuple[int, ...]]]) -> None:
    if not any(free):
        free[:] = [list(queue) for queue in queues]


def _widened(machine: Machine, bind: str, held: set[int], core_of: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    if bind in ("threads", "cores"):
        return tuple(sorted(held))
    larger = objects_or_larger(machine, "package" if bind == "sockets" else "numa")
    return tuple(sorted(p for pus in larger if held & set(pus) for p in pus))


def write_slurm(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Said:
    """srun with map_cpu or mask_cpu, and --distribution for the numbering; a file of hosts where hosts are named."""
    zones = placement.zones
    if all(len(zone) == 1 for zone in zones):
        bind = "map_cpu:" + ",".join(str(zone[0]) for zone in zones)
    else:
        bind = "mask_cpu:" + ",".join(hex(sum(1 << p for p in zone)) for zone in zones)
    threads = max(placement.ranks or (placement.threads,))
    words = [
        "srun",
        f"--nodes={placement.nodes}",
        f"--ntasks={placement.size}",
        f"--ntasks-per-node={placement.per_node}",
    ]
    words += [f"--cpus-per-task={threads}", f"--cpu-bind={bind}"]
    notes = ("masks count the operating system's processors of the whole node: ask for it whole, with --exclusive",)
    if not hosts:
        return Said(words=(*words, f"--distribution={placement.order}"), notes=notes)
    listed = "".join(f"{hosts[node]}\n" for node, _ in placement.seats())
    return Said({"SLURM_HOSTFILE": "hostfile"}, (*words, "--distribution=arbitrary"), {"hostfile": listed}, notes)
