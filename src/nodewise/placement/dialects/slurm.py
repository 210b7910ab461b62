# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun: --cpu-bind and --distribution (srun(1), Slurm 22.05), and its file of hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Starter, Text
from nodewise.placement.hosts import in_slurms_words
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import Beside, job_from, options_and_notes, whole, words_of
from nodewise.placement.objects import objects
from nodewise.placement.placement import Placement
from nodewise.placement.rendering import NotExpressibleError, Rendering
from nodewise.placement.resolve import Request
from nodewise.placement.seating import Seating, even

if TYPE_CHECKING:
    from nodewise.placement.slurm_step import Step

_OPTIONS = {
    **dict.fromkeys(("--cpu-bind", "--cpu_bind"), "bind"),
    **dict.fromkeys(("--distribution", "-m"), "distribution"),
    **dict.fromkeys(("--ntasks", "-n"), "ranks"),
    "--ntasks-per-node": "per_node",
    **dict.fromkeys(("--cpus-per-task", "-c"), "threads"),
    "--threads-per-core": "per_core",
    "--hint": "hint",
    **dict.fromkeys(("--nodes", "-N"), "nodes"),
    **dict.fromkeys(("--nodelist", "-w", "--nodefile", "-F"), "nodelist"),
    "--overcommit": "overcommit",
    "--whole": "whole",
    "--exact": "exact",
    "--exclusive": "exclusive",
    "-O": "overcommit",
}
_BARE = ("overcommit", "whole", "exact", "exclusive")
#: What srun(1) has besides: on the job, its nodes' names, memory, input and output.
_BESIDE = Beside(
    words_of(
        "-E -k -K -l -Q -s -u -v -X -Z --contiguous --disable-status --kill-on-bad-exit --label --nice --no-allocate --no-kill "
        "--oversubscribe --preserve-env --pty --quiet --quit-on-interrupt --reboot --unbuffered --verbose "
        "--propagate --exclude-none --overlap",
        "-A -b -C -d -D -e -G -i -J -L -o -p -q -t -T -W -x --account --acctg-freq --bb --bbf --bcast --begin --chdir "
        "--cluster-constraint --clusters -M --comment --compress --constraint --container --cpu-freq --deadline --delay-boot "
        "--dependency --epilog --error --exclude --export --gid --gpu-bind --gpu-freq --gpus --gpus-per-node --gpus-per-task "
        "--gres --input --jobid --job-name --licenses --mail-type --mail-user --mcs-label --mem --mem-per-cpu --mem-per-gpu "
        "--mpi --msg-timeout --network --open-mode --output --partition --power --prefer --priority "
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
    choosing=("-C", "--constraint", "--cluster-constraint", "--prefer"),
    apart=(("--mem", "--mem-per-cpu", "--mem-per-gpu"), ("--exclusive", "--overlap")),
    fronts={
        name: f"{name} allots nodes and binds nothing: shown is what srun does there where it has these options, too"
        for name in ("sbatch", "salloc")
    },
    own=("SLURM_", "SRUN_", "SBATCH_", "SALLOC_"),
    last=True,
)
_MODEL = "modelled is Slurm 22.05, whose srun was asked, in an allocation of the whole node"
#: What each --hint binds to, and of how many hardware threads of a core.
_HINTS: dict[str, tuple[str, int | None]] = {
    "nomultithread": ("threads", 1),
    "multithread": ("threads", None),
    "compute_bound": ("cores", 1),
    "memory_bound": ("cores", 1),
}


def read_slurm(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where srun puts tasks for its options; threads may use all of their task's zone.

    A text that says how many tasks there are is a line as it stands; another one is completed by the job's ranks and threads: as
    --ntasks and, where tasks are laid out, --cpus-per-task. Raises InputError for an option or a word that is not known, and where srun refuses.
    """
    # loaded when they are asked for: all commands that place threads load all dialects
    from nodewise.placement.cpu_bind import LAID_OUT, read_cpu_bind
    from nodewise.placement.slurm_step import Step, zones_of

    options, passed = options_and_notes(
        "srun",
        text,
        _OPTIONS,
        _BARE,
        _BESIDE,
    )
    completed = not {"ranks", "per_node"} & options.keys()
    nodes, listing = _nodes(options, job)
    if nodes or "ranks" in options:
        job, more = _tasks(machine, options, job, nodes)
        listing += more
    # of the nodes that --ntasks-per-node comes to, srun fills all evenly
    job = replace(job_from("srun", options, job), each=0)
    order, picked, dealt = _distribution(options.get("distribution", "*"), job)
    # a node takes no more tasks than it has processors for, where those are counted
    each = len(machine.pus) // (job.threads if completed or "threads" in options else 1)
    room = job.ranks if "overcommit" in options else max(each, -(-job.ranks // job.nodes))
    if order == "pack":
        # seen: as a plane of as many as a node takes
        order = f"plane={max(1, each)}"
    counts = Seating("even" if order == "block" else order, job.ranks, job.nodes, room).counts()
    order = even(job.ranks, job.nodes) if order == "block" else order
    job = replace(job, each=counts[0])
    notes = [_MODEL, *passed, *listing]
    bind, entries, one_thread = read_cpu_bind(options.get("bind"))
    bind, per_core = _hinted(options, bind, notes)
    if not bind:
        bind = "cores"
        notes.append("without --cpu-bind the cluster's configuration decides: cores are shown")
    if not completed and "threads" not in options and job.threads > 1:
        notes.append("without --cpus-per-task srun gives each task one processor, whatever its threads are")
    counted = "threads" in options or (completed and bind in LAID_OUT)
    if counted and "threads" not in options:
        notes.append(
            f"the text says neither --ntasks nor --cpus-per-task: taken as with -n {job.ranks} -c {job.threads}, and with -c a step "
            "has no more cores than it asks for; a text with its own -n stands as it is"
        )
    step = Step(
        tasks=job.ranks,
        cpus=job.threads if counted else 1,
        bind=bind,
        entries=entries,
        nodes=job.nodes,
        on_node=counts[0],
        exact=_exact(options, counted),
        overcommit="overcommit" in options,
        per_core=per_core,
        one_thread=one_thread,
        picked=picked,
        dealt=dealt,
    )
    widths = {len(pus) for pus in objects(machine, "core")}
    if len(widths) > 1 or len({len(pus) for pus in objects(machine, "package")}) > 1:
        notes.append(
            "Slurm takes all sockets and cores of a node for alike, and this machine's are not: it may do otherwise"
        )
    # on one node a plane numbers tasks as a block does
    order = "block" if job.nodes == 1 and order.startswith("plane") else order
    zones = zones_of(machine, step)
    notes += _fewer(machine, step, zones, counts)
    return job.floating("slurm", zones, order), notes


def _fewer(machine: Machine, step: Step, zones: Sequence[tuple[int, ...]], counts: Sequence[int]) -> list[str]:
    """The note that nodes with fewer tasks than the first bind them otherwise than it binds as many of its own; none where they do not."""
    from nodewise.placement.slurm_step import zones_of

    for count in sorted(set(counts) - {step.on_node}, reverse=True):
        try:
            alike = zones_of(machine, replace(step, on_node=count)) == list(zones[:count])
        except InputError:
            alike = False
        if not alike:
            return [f"a node with {count} of the tasks binds them otherwise: shown is one with {step.on_node}"]
    return []


def _tasks(machine: Machine, options: dict[str, str], job: Job, nodes: int) -> tuple[Job, list[str]]:
    """The job on as many nodes as the options name, 0 where they name none, and notes; takes off a --ntasks-per-node that srun ignores.

    Where --ntasks and the number of nodes are known, both hold, and srun 22.05 ignores a --ntasks-per-node that does not come to them.
    """
    known = nodes or (job.nodes if job.nodes > 1 else 0)
    if not known:
        return job, []
    ranks = job.ranks or (whole("srun", "--ntasks", options["ranks"]) if "ranks" in options else 0)
    each = whole("srun", "--ntasks-per-node", options["per_node"]) if "per_node" in options else 1
    notes = []
    if not ranks and "per_node" not in options and "threads" in options:
        each = max(1, len(machine.pus) // whole("srun", "--cpus-per-task", options["threads"]))
        notes.append(
            f"without --ntasks srun starts as many tasks as its nodes have room for, {each} on each; in an allocation that was "
            "made with --ntasks it starts those"
        )
    if ranks and ranks < known:
        notes.append(f"srun uses {ranks} of the {known} nodes, for as many tasks")
    ranks = ranks or each * known
    used = min(known, ranks)
    if "per_node" in options and ranks != each * known:
        del options["per_node"]
        notes.append(
            f"srun ignores --ntasks-per-node={each}, which does not come to {ranks} tasks on {known} nodes: "
            f"a full node has {-(-ranks // used)}"
            + ("; outside of an allocation it refuses that" if ranks > each * known else "")
        )
    return Job(job.threads, ranks, used), notes


def _nodes(options: Mapping[str, str], job: Job) -> tuple[int, list[str]]:
    """How many nodes the options say that there are, 0 where they do not, and notes. Raises InputError."""
    least, dash, most = options.get("nodes", "").partition("-")
    asked = whole("srun", "--nodes", least) if "nodes" in options else 0
    if dash and whole("srun", "--nodes", most) < asked:
        raise InputError(f"srun: --nodes {options['nodes']} ends below its beginning", "write the fewest nodes first")
    notes = [f"srun may use {least} to {most} nodes: {least} are shown, as least"] if dash and most != least else []
    if "nodelist" not in options:
        return asked, notes
    listed = in_slurms_words(
        "srun", "--nodelist", options["nodelist"], job if not asked else replace(job, ranks=asked, nodes=asked)
    )
    if listed is None:
        return asked, [
            f"srun: {options['nodelist']} cannot be read here: its {asked or job.nodes} nodes are taken for alike"
        ]
    if asked and asked < listed:
        return asked, [f"srun takes {asked} of the {listed} nodes of --nodelist, as --nodes says"]
    return max(asked, listed), []


def _exact(options: Mapping[str, str], counted: bool) -> bool:
    """Whether the step has only what it asks for. Raises InputError for options that exclude each other."""
    exclusive = options.get("exclusive", "user").lower()
    if exclusive not in ("", "exclusive", "user", "mcs", "oversubscribe"):
        raise InputError(f"srun: --exclusive={exclusive} is not known", "known are: user, mcs")
    exact = "exact" in options or exclusive in ("", "exclusive")
    if exact and "whole" in options:
        named = "--exact" if "exact" in options else "--exclusive, which is --exact,"
        raise InputError(f"srun refuses {named} and --whole together", "leave one of them out")
    # --cpus-per-task is --exact, even with --whole, unless processors are not to be counted at all
    return exact or (counted and "overcommit" not in options)


def _hinted(options: Mapping[str, str], bind: str, notes: list[str]) -> tuple[str, int | None]:
    """What to bind to, and how many hardware threads of a core, by --hint where that counts, and --threads-per-core."""
    per_core = whole("srun", "--threads-per-core", options["per_core"]) if "per_core" in options else None
    hint = options.get("hint", "").lower()
    if "hint" in options:
        if hint not in _HINTS:
            raise InputError(f"srun: --hint {hint!r} is not known", f"known are: {', '.join(_HINTS)}")
        if not bind and per_core is None:
            return _HINTS[hint]
        notes.append(f"--hint={hint} is ignored where {'--cpu-bind' if bind else '--threads-per-core'} is given")
    if per_core is not None and options.get("bind", "verbose").lower() == "verbose":
        notes.append("--threads-per-core is --cpu-bind=threads, where that is not given")
        bind = "threads"
    return bind, per_core


def _distribution(text: str, job: Job) -> tuple[str, str, str]:
    """How tasks go over nodes, how a step's cores are picked, and how tasks are laid out on them.

    `*` is the default of a level. What it has for cores makes no difference. Over nodes it may be `pack`: each is filled.
    """
    if text.lower().startswith("plane="):
        # it has neither levels nor Pack behind it
        return f"plane={whole('srun', '--distribution plane', text[len('plane=') :])}", "cyclic", "block"
    base, comma, after = text.partition(",")
    if base.lower() in ("pack", "nopack") and not comma:
        base, after = "*", base
    # levels with nothing in them are not counted
    levels = [level.lower() for level in base.split(":") if level]
    if not 1 <= len(levels) <= 3 or after.strip().lower() not in ("", "pack", "nopack"):
        raise InputError(
            f"srun: --distribution {text!r} is not known", "write node[:socket[:core]], such as block:cyclic"
        )
    node, socket, core = [*levels, "*", "*"][:3]
    names = ("block", "cyclic", "fcyclic", "*")
    if node in ("arbitrary", "hostfile"):
        raise InputError(f"srun: --distribution={node} needs the file of hosts", "use block, cyclic or plane=N")
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
    packed = node == "block" and after.strip().lower() == "pack"
    return "pack" if packed else node, socket, socket


def _explain(machine: Machine, request: Request) -> list[str]:
    """Why tasks sit close together where their processors are counted."""
    options, _ = options_and_notes("srun", request.texts["slurm"], _OPTIONS, _BARE, _BESIDE)
    if "overcommit" in options or not ("threads" in options or not {"ranks", "per_node"} & options.keys()):
        return []
    return [
        "With --cpus-per-task a step is --exact: it has only the cores that its tasks fill, so that tasks of fewer processors than a core has "
        "hardware threads share cores; without it the step has the whole node."
    ]


def write_slurm(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Rendering:
    """srun with map_cpu or mask_cpu, and --distribution for the numbering; a file of hosts where hosts are named.

    Raises NotExpressibleError where nodes are to be filled one after the other, and none is named.
    """
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
        order = placement.order
        if order in ("block", "even"):
            # what srun's block does on as many nodes
            order, wanted = "block", Seating("even", placement.size, placement.nodes, placement.per_node).counts()
            if placement.seating.counts() != wanted:
                raise NotExpressibleError(
                    "srun",
                    f"without --hosts it spreads {placement.size} ranks evenly over {placement.nodes} nodes, and {placement.per_node} are "
                    "to be on each before the next",
                )
        return Rendering(words=(*words, f"--distribution={order}"), notes=notes)
    listed = "".join(f"{hosts[node]}\n" for node, _ in placement.seats())
    return Rendering({"SLURM_HOSTFILE": "hostfile"}, (*words, "--distribution=arbitrary"), {"hostfile": listed}, notes)


#: Options that are followed by a word, besides the number of tasks.
_VALUES = (
    *(option for option, words in _BESIDE.words.items() if words),
    *(option for option, name in _OPTIONS.items() if name not in ("ranks", *_BARE)),
    *(option for option in _BESIDE.unmodelled if option not in ("--multi-prog", "--spread-job", "--use-min-nodes")),
)

DIALECT = Dialect(
    name="slurm",
    texts=(Text("slurm", "Options of srun, such as '--cpu-bind=cores --distribution=block:block'."),),
    launch=read_slurm,
    write_job=write_slurm,
    explain=_explain,
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
