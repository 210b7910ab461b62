# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun: --cpu-bind and --distribution (srun(1), Slurm 23 to 25), and its file of hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.base.late import late
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Starter, Text
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import Beside, job_from, options_and_notes, whole, words_of
from nodewise.placement.mapping import objects_or_larger
from nodewise.placement.objects import objects
from nodewise.placement.placement import Placement
from nodewise.placement.processor_sets import permitted
from nodewise.placement.rendering import Rendering

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
    "--whole": "whole",
    "--exact": "exact",
    "--exclusive": "exclusive",
    "-O": "overcommit",
}
#: What srun(1) has besides: on the job, its nodes' names, memory, input and output.
_BESIDE = Beside(
    words_of(
        "-E -k -K -l -Q -s -u -v -X -Z --contiguous --disable-status --kill-on-bad-exit --label --nice --no-allocate --no-kill "
        "--no-kill --oversubscribe --preserve-env --pty --quiet --quit-on-interrupt --reboot --unbuffered --verbose "
        "--propagate --exclude-none",
        "-A -b -C -d -D -e -G -i -J -L -o -p -q -t -T -w -W -x --account --acctg-freq --bb --bbf --bcast --begin --chdir "
        "--cluster-constraint --clusters -M --comment --compress --constraint --container --cpu-freq --deadline --delay-boot "
        "--dependency --epilog --error --exclude --export --gid --gpu-bind --gpu-freq --gpus --gpus-per-node --gpus-per-task "
        "--gres --input --jobid --job-name --licenses --mail-type --mail-user --mcs-label --mem --mem-per-cpu --mem-per-gpu "
        "--mpi --msg-timeout --network --nodefile --nodelist --open-mode --output --partition --power --prefer --priority "
        "--profile --prolog --qos --relative -r --reservation --signal --slurmd-debug --switches --task-epilog --task-prolog "
        "--threads --time --time-min --tmp --uid --wait --wckey --x11",
    ),
    unmodelled=(
        *(
            "--ntasks-per-socket",
            "--ntasks-per-core",
            "--ntasks-per-gpu",
            "--sockets-per-node",
            "--cores-per-socket",
            "-B",
        ),
        *("--extra-node-info", "--core-spec", "-S", "--thread-spec", "--cpus-per-gpu", "--mem-bind", "--gres-flags"),
        *("--multi-prog", "--het-group", "--spread-job", "--use-min-nodes", "--tres-bind"),
    ),
)
_MODEL = "modelled is Slurm 22.05, whose srun was asked, in an allocation of the whole node"
#: The most hardware threads of a core that its answers were asked for.
_ASKED_OF = 2
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
#: Entries of map_… and of mask_…, as srun takes them: no sign, no blank, 0x in small letters and for masks only.
_NUMBER = late(r"([0-9]{1,9})(?:\*([0-9]{1,6}))?")
_MASK = late(r"(?:0x)?([0-9a-fA-F]{1,5000})(?:\*([0-9]{1,6}))?")


def read_slurm(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where srun puts tasks for its options; threads may use all of their task's zone.

    Raises InputError for an option or a word that is not known, and where tasks ask for more than there is.
    """
    options, passed = options_and_notes(
        "srun", text, _OPTIONS, ("overcommit", "whole", "exact", "exclusive"), beside=_BESIDE
    )
    if "nodes" in options:
        nodes = whole("srun", "--nodes", options["nodes"])
        ranks = job.ranks or (whole("srun", "--ntasks", options["ranks"]) if "ranks" in options else 0)
        per_node = whole("srun", "--ntasks-per-node", options["per_node"]) if "per_node" in options else 1
        job = Job(job.threads, ranks or per_node * nodes, nodes)
    job = job_from("srun", options, job)
    order, socket = _distribution(options.get("distribution", "*"), job)
    notes = [_MODEL, *passed]
    bind, argument = _bind(options.get("bind"))
    per_core = _per_core(options, notes)
    if bind == "auto":
        bind = "cores"
        notes.append("without --cpu-bind the cluster's configuration decides: cores are shown")
    if "overcommit" not in options:
        # where a list says what a task is bound to, it claims no more than --cpus-per-task says
        of_shares = bind in ("threads", "cores", "sockets", "ldoms")
        claiming = job if of_shares or "threads" in options else replace(job, threads=1)
        _check_room(machine, claiming, per_core, bind)
    if argument is not None:
        zones, more = _listed(machine, bind, argument, job.per_node)
        return job.floating("slurm", zones, order), notes + more
    if bind == "rank_ldom":
        nodes_there = objects_or_larger(machine, "numa")
        zones = [tuple(sorted(nodes_there[r % len(nodes_there)])) for r in range(job.per_node)]
        return job.floating("slurm", zones, order), notes
    widest = max(len(core) for core in objects(machine, "core"))
    if widest > _ASKED_OF and bind != "none" and job.threads % widest:
        notes.append(
            f"on cores of {widest} hardware threads srun gives tasks that do not fill their cores a share of fewer ones, which "
            "is not modelled: ask for whole cores, or bind by --to slurm's list"
        )
    if bind == "none":
        zones = [tuple(sorted(machine.allowed))] * job.per_node
    else:
        zones = _automatic(machine, bind, socket, job, per_core)
    return job.floating("slurm", zones, order), notes


def _claim(machine: Machine, job: Job, per_core: int | None) -> tuple[int, int]:
    """How many hardware threads of a core count, and how many processors a task of whole cores claims."""
    counted = per_core or max(map(len, objects(machine, "core")))
    return counted, -(-job.threads // counted) * counted


def _check_room(machine: Machine, job: Job, per_core: int | None, bind: str) -> None:
    """Raises InputError where srun makes no step: its tasks claim more processors than there are, whatever they are bound to."""
    counted, need = _claim(machine, job, per_core)
    # tasks of one processor share cores, and not all bindings are to whole ones
    if job.threads == 1 or bind not in ("cores", "sockets", "ldoms"):
        need = job.threads
    room = sum(min(len(core), counted) for core in objects(machine, "core"))
    if need * job.per_node > room:
        raise InputError(
            f"srun refuses {job.per_node} tasks of {need} processors on a node of {room}",
            "ask for fewer, or add --overcommit",
        )


def _per_core(options: dict[str, str], notes: list[str]) -> int | None:
    hint = options.get("hint")
    if hint not in (None, "nomultithread", "multithread", "compute_bound", "memory_bound"):
        raise InputError(
            f"srun: --hint {hint!r} is not known", "known are: nomultithread, multithread, compute_bound, memory_bound"
        )
    if hint is not None and "bind" in options:
        notes.append(f"--hint={hint} is ignored where --cpu-bind is given")
    elif hint == "nomultithread":
        return 1
    return whole("srun", "--threads-per-core", options["per_core"]) if "per_core" in options else None


def _distribution(text: str, job: Job) -> tuple[str, str]:
    """How tasks go over nodes and over sockets; `*` is the default of a level. What it has for cores makes no difference."""
    if text.lower().startswith("plane="):
        # it has neither levels nor Pack behind it
        return f"plane={whole('srun', '--distribution plane', text[len('plane=') :])}", "cyclic"
    # an empty level is its default
    levels = [level.lower() or "*" for level in text.partition(",")[0].split(":")]
    after = text.partition(",")[2].strip().lower()
    if len(levels) > 3 or after not in ("", "pack", "nopack"):
        raise InputError(
            f"srun: --distribution {text!r} is not known", "write node[:socket[:core]], such as block:cyclic"
        )
    node, socket, core = [*levels, "*", "*"][:3]
    names = ("block", "cyclic", "fcyclic", "*")
    if node == "arbitrary":
        raise InputError("srun: --distribution=arbitrary needs the file of hosts", "use block, cyclic or plane=N")
    if node not in ("block", "cyclic", "*"):
        raise InputError(f"srun: --distribution has no {node!r} over nodes", "known are: block, cyclic, plane=N")
    for level in (socket, core):
        if level not in names:
            raise InputError(
                f"srun: --distribution has no {level!r} over sockets or cores", f"known are: {', '.join(names)}"
            )
    # manual: block over nodes while there are more tasks than nodes, else cyclic
    node = ("cyclic" if job.ranks <= job.nodes else "block") if node == "*" else node
    socket = "cyclic" if socket == "*" else socket
    return node, socket


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
    # slurm_verify_cpu_bind takes core for cores, and so on
    name = f"{name}s" if f"{name}s" in _BINDINGS else name
    if name not in _BINDINGS:
        raise InputError(f"srun: --cpu-bind has no {name!r}", f"known are: {', '.join(_BINDINGS)}")
    listed = name.startswith(("map", "mask"))
    if listed != bool(colon and argument):
        raise InputError(f"srun: --cpu-bind={name} " + ("needs a list" if listed else "takes no list"))
    return name, argument if listed else None


def _listed(machine: Machine, bind: str, text: str, ranks: int) -> tuple[list[tuple[int, ...]], list[str]]:
    """The lists of map_… and mask_…; an entry `X*N` is N times X, and a list that is too short starts over."""
    entries: list[int] = []
    masks = bind.startswith("mask")
    for part in filter(None, text.split(",")):
        match = (_MASK if masks else _NUMBER).fullmatch(part)
        count = int(match[2] or 1) if match else 0
        if match is None or count < 1 or len(entries) + count > _MOST:
            raise InputError(
                f"srun: --cpu-bind={bind}: {part!r} is no entry",
                f"write {'masks such as 0xff' if masks else 'decimal numbers'}, or X*N for N times X",
            )
        entries += [int(match[1], 16 if masks else 10)] * count
    if not entries:
        raise InputError(f"srun: --cpu-bind={bind}: {text!r} has no entry")
    zones: list[tuple[int, ...]] = []
    notes: list[str] = []
    domains = objects_or_larger(machine, "numa")
    for value in entries[:ranks]:
        numbers = {i for i in range(value.bit_length()) if value >> i & 1} if masks else {value}
        if bind.endswith("ldom"):
            numbers = {p for i in numbers if i < len(domains) for p in domains[i]}
        zone, more = permitted(machine, numbers, "srun")
        zones.append(zone)
        notes += more
    return [zones[r % len(zones)] for r in range(ranks)], notes


def _automatic(machine: Machine, bind: str, how: str, job: Job, per_core: int | None) -> list[tuple[int, ...]]:
    """Tasks take as many processors as they have threads, whole cores but for --cpu-bind=threads, and are bound to those.

    Bound to sockets they may use what the step has of those: srun -c takes no more than it asks for.
    """
    cores = objects(machine, "core")
    of = {p: core for core in cores for p in core}
    sockets = [list(dict.fromkeys(of[p] for p in pus)) for pus in objects_or_larger(machine, "package")]
    counted, whole_claim = _claim(machine, job, per_core)
    need = job.threads if bind == "threads" else whole_claim
    shared = job.threads == 1 and counted > 1
    # as many tasks of one processor as there are cores get all of them, others as few as hold them
    few = len(cores) if job.per_node == len(cores) else -(-job.per_node // counted)
    if how == "fcyclic":
        step = _in_turn(sockets, few if shared else -(-need * job.per_node // counted))
        held = _cycle(sockets, step, job, per_core, full=True, skip=bind == "cores")
    elif shared and bind != "threads":
        step = [core for socket in sockets for core in socket][:few]
        if how == "cyclic":
            held = _cycle(sockets, step, job, per_core, full=False, skip=True)
        else:
            held = [[step[task % len(step)][0]] for task in range(job.per_node)]
    else:
        # tasks of one processor each fill a socket before the next, unless single processors are dealt out
        filled = "block" if shared and how == "cyclic" else how
        queues = [[p for core in socket for p in core[:counted]] for socket in sockets]
        # the last core of a task may be more than it needs, and is not used beyond that
        held = [own[: job.threads] for own in _dealt(queues, filled, job.per_node, need)]
    if bind == "threads":
        return [tuple(sorted(set(own))) for own in held]
    whole_cores = [{q for p in own for q in of[p]} for own in held]
    if bind == "cores":
        return [tuple(sorted(own)) for own in whole_cores]
    # what is passed by on the way is the step's, too
    given = {p for core in step for p in core} if how == "fcyclic" else set().union(*whole_cores)
    larger = objects_or_larger(machine, "package" if bind == "sockets" else "numa")
    if bind == "ldoms":
        given = set(machine.allowed)
    return [tuple(sorted(p for pus in larger if own & set(pus) for p in pus if p in given)) for own in whole_cores]


def _in_turn(sockets: list[list[tuple[int, ...]]], cores: int) -> list[tuple[int, ...]]:
    """So many cores taken from the sockets in turn."""
    longest = max(map(len, sockets))
    return [socket[i] for i in range(longest) for socket in sockets if i < len(socket)][:cores]


def _cycle(
    sockets: list[list[tuple[int, ...]]],
    step: list[tuple[int, ...]],
    job: Job,
    per_core: int | None,
    full: bool,
    skip: bool,
) -> list[list[int]]:
    """What each task takes of a step's cores, as the task/affinity plugin goes through them.

    The next socket has its turn after each task, or with `full` after each processor. With `skip` (bound to cores) what a
    task leaves of its last core is passed by; with both that is on the socket whose turn is next.
    """
    inside = set(step)
    threads = max(len(core) for socket in sockets for core in socket)
    rows = [[(core, p) for core in socket for p in core] for socket in sockets]
    at = [0] * len(sockets)
    used: dict[tuple[int, ...], int] = {}
    found: list[list[int]] = []
    own: list[int] = []
    turn = 0
    while len(found) < job.per_node:
        first = turn
        while at[turn] >= len(rows[turn]):
            turn = (turn + 1) % len(sockets)
            if turn == first:
                at, used = [0] * len(sockets), {}
        core, processor = rows[turn][at[turn]]
        at[turn] += 1
        if core not in inside or (per_core and used.get(core, 0) >= per_core):
            continue
        own.append(processor)
        used[core] = used.get(core, 0) + 1
        turn = (turn + full) % len(sockets)
        if len(own) == job.threads:
            if skip:
                at[turn] += threads - job.threads if job.threads < threads else job.threads % threads
            turn = (turn + (not full)) % len(sockets)
            found.append(own)
            own = []
    return found


def _dealt(queues: list[list[int]], how: str, tasks: int, need: int) -> list[list[int]]:
    """What each task takes of the sockets' processors, in order; where all are taken they start over."""
    free = [list(queue) for queue in queues]
    turn = 0
    found: list[list[int]] = []
    for task in range(tasks):
        own: list[int] = []
        if how == "cyclic":
            turns = [(task + i) % len(free) for i in range(len(free))]
            turn = next((i for i in turns if len(free[i]) >= need), turns[0])
        elif how == "block":
            turn = 0
        while len(own) < need:
            if not any(free):
                free = [list(queue) for queue in queues]
            if free[turn % len(free)]:
                own.append(free[turn % len(free)].pop(0))
            else:
                turn += 1
        found.append(own)
    return found


def write_slurm(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Rendering:
    """srun with map_cpu or mask_cpu, and --distribution for the numbering; a file of hosts where hosts are named."""
    zones = placement.zones
    if all(len(zone) == 1 for zone in zones):
        bind = "map_cpu:" + ",".join(str(zone[0]) for zone in zones)
    else:
        bind = "mask_cpu:" + ",".join(hex(sum(1 << p for p in zone)) for zone in zones)
    words = [
        "srun",
        f"--nodes={placement.nodes}",
        f"--ntasks={placement.size}",
        f"--ntasks-per-node={placement.per_node}",
    ]
    # with --cpus-per-task a step has no more than it asks for, and srun refuses masks beyond that
    words += ["--whole", f"--cpu-bind={bind}"]
    if placement.per_node > len(machine.allowed):
        # a task claims a processor, whatever it is bound to
        words.insert(-1, "--overcommit")
    notes = ("masks are of the whole node: allocate it with --exclusive",)
    if not hosts:
        return Rendering(words=(*words, f"--distribution={placement.order}"), notes=notes)
    listed = "".join(f"{hosts[node]}\n" for node, _ in placement.seats())
    return Rendering({"SLURM_HOSTFILE": "hostfile"}, (*words, "--distribution=arbitrary"), {"hostfile": listed}, notes)


#: Options that are followed by a word, besides the number of tasks.
_VALUES = (
    *("-A", "-D", "-J", "-N", "-c", "-e", "-i", "-m", "-o", "-p", "-t", "-w", "-x", "--account", "--cpu-bind"),
    *(
        "--cpus-per-task",
        "--distribution",
        "--hint",
        "--mem-bind",
        "--nodes",
        "--ntasks-per-node",
        "--partition",
        "--time",
    ),
)

DIALECT = Dialect(
    name="slurm",
    texts=(Text("slurm", "Options of srun, such as '--cpu-bind=cores --distribution=block:block'."),),
    launch=read_slurm,
    write_job=write_slurm,
    pins={"SLURM_CPU_BIND": "srun binds its tasks"},
    rank=("SLURM_PROCID",),
    local_rank=("SLURM_LOCALID",),
    allocator=True,
    starter=Starter(
        programs=("srun",),
        counts=("-n", "--ntasks", "-ntasks"),
        values={1: _VALUES},
        unbound={"srun": {"SLURM_CPU_BIND": "none"}},
    ),
)
