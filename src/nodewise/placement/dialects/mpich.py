# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's mpiexec (Hydra): -bind-to and -map-by, and its `user:` list of processors for each rank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement import hydra
from nodewise.placement.dialect import Dialect, Starter, Text
from nodewise.placement.hosts import dealt, in_file, in_list
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import Beside, job_from, options_and_notes, whole, words_of
from nodewise.placement.objects import objects
from nodewise.placement.placement import Placement
from nodewise.placement.processor_sets import permitted
from nodewise.placement.rendering import Rendering
from nodewise.placement.scan import Scanner

_OPTIONS = {
    **dict.fromkeys(("-bind-to", "--bind-to", "-binding"), "bind"),
    **dict.fromkeys(("-map-by", "--map-by"), "map"),
    **dict.fromkeys(("-n", "-np", "--np"), "ranks"),
    **dict.fromkeys(("-ppn", "-perhost", "--ppn"), "per_node"),
    **dict.fromkeys(("-hosts", "--hosts", "-host", "--host"), "hosts"),
    **dict.fromkeys(("-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile"), "hostfile"),
}
_BESIDE = Beside(
    words_of(
        "-genvall -genvnone -envall -envnone -v -verbose --verbose -l -prepend-rank -info --version -print-all-exitcodes "
        "-disable-auto-cleanup -disable-hostname-propagation -enable-x -disable-x -silent-abort",
        "-wdir --wdir -genvlist -envlist -launcher "
        "-launcher-exec -bootstrap -bootstrap-exec -iface -rmk -path -prepend-pattern -outfile-pattern -errfile-pattern -usize "
        "-order-nodes -localhost -demux -debugger -pmi-port -nameserver -gpus-per-proc -timeout",
        "-env -genv --env --genv",
    ),
    unmodelled=("-membind", "--membind", "-topolib", "--topolib", "-configfile", "--configfile", "-skip-binding"),
    names=("mpirun", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"),
    own=("HYDRA_", "MPIEXEC_", "I_MPI_", "MV2_"),
)
_MODEL = "modelled is MPICH 4.0 and 5.0, whose Hydra was asked, with the whole node allocated"


def read_mpich(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where Hydra puts ranks for its options; threads may use all of their rank's zone.

    Raises InputError for an option or an object that is not known.
    """
    options, passed = options_and_notes("mpiexec", text, _OPTIONS, beside=_BESIDE)
    job, order, more = _on_hosts(options, job)
    job = job_from("mpiexec", options, job)
    notes = [_MODEL, *passed, *more]
    bind = options.get("bind", "none")
    anywhere = tuple(sorted(machine.allowed))
    if bind == "none":
        return job.floating("mpich", [anywhere] * job.per_node, order), notes
    if bind == "rr":
        return job.floating("mpich", _one_each(machine, job.per_node), order), notes
    if bind.startswith("user:"):
        zones, more = _user(machine, bind, len("user:"), anywhere)
        if len(zones) < job.per_node:
            more.append(f"mpiexec binds no ranks beyond the {len(zones)} of {bind.partition(':')[2]}")
        zones += [anywhere] * (job.per_node - len(zones))
        return job.floating("mpich", zones[: job.per_node], order), notes + more
    bound = _counted("-bind-to", bind)
    by = _counted("-map-by", options["map"]) if "map" in options else bound
    if "die" in (bound[0], by[0]):
        notes.append("dies are objects for MPICH 5 only")
    return job.floating("mpich", hydra.zones(machine, bound, by, job.per_node), order), notes


def _on_hosts(options: dict[str, str], job: Job) -> tuple[Job, str, list[str]]:
    """The job on the hosts that are named, where any are, the order of its ranks over them, and notes.

    Each host in turn gets as many ranks as are written behind its name, or as -ppn says, round and round. Raises InputError.
    """
    hosts: dict[str, int | None] | None = None
    if "hosts" in options and "hostfile" in options:
        raise InputError("mpiexec refuses a list of hosts and a file of them together", "leave one of them out")
    if "hosts" in options:
        _once(options["hosts"])
        hosts = in_list("mpiexec", "-hosts", options["hosts"])
    elif "hostfile" in options:
        hosts = in_file("mpiexec", "-f", options["hostfile"], job)
        if hosts is None:
            said = f"mpiexec: {options['hostfile']} cannot be read here: its {job.nodes} hosts are taken for alike"
            return job, "block", [said]
    if hosts is None:
        return job, "block", _on_this_one(options, job)
    each = whole("mpiexec", "-ppn", options.pop("per_node")) if "per_node" in options else 0
    slots = {name: each or n or 1 for name, n in hosts.items()}
    ranks = whole("mpiexec", "-n", options["ranks"]) if "ranks" in options else job.ranks
    return *dealt("mpiexec", job, slots, ranks or sum(slots.values())), []


def _once(text: str) -> None:
    """Raises InputError for a list in which a host comes again behind others: Hydra starts ranks there as if on another node."""
    names = [name for name, _ in groupby(word.partition(":")[0] for word in text.split(","))]
    again = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if again is not None:
        raise InputError(
            f"mpiexec: -hosts names {again} again behind others: ranks of both would be bound to the same processors, which is not modelled",
            f"name it once, such as {again}:2",
        )


def _on_this_one(options: dict[str, str], job: Job) -> list[str]:
    """The note on a -ppn that is taken off, as without a list of hosts there is this one for all ranks."""
    ranks = whole("mpiexec", "-n", options["ranks"]) if "ranks" in options else job.ranks
    each = whole("mpiexec", "-ppn", options["per_node"]) if "per_node" in options else 0
    if job.nodes > 1 or not each or ranks <= each:
        return []
    del options["per_node"]
    return [
        f"mpiexec starts all {ranks} ranks on this node, as it is told of no other: -ppn {each} counts over several, which -hosts, -f or --nodes name"
    ]


def _counted(option: str, text: str) -> tuple[str, int]:
    name, colon, number = text.partition(":")
    kind = hydra.WORDS.get(name)
    if kind is None:
        raise InputError(f"mpiexec: {option} {name!r} is not known", f"known are: {', '.join(hydra.SHOWN)}")
    return kind, whole("mpiexec", option, number) if colon else 1


def _one_each(machine: Machine, ranks: int) -> list[tuple[int, ...]]:
    """Those of rr: as many processors as there are, by the system's numbers from 0 on."""
    allowed = set(machine.allowed)
    count = len(allowed)
    gap = next((p for p in range(min(ranks, count)) if p not in allowed), None)
    if gap is not None:
        raise InputError(
            f"mpiexec: -bind-to rr takes the processors from 0 on, and {gap} is not there or not allowed",
            "use -bind-to hwthread",
        )
    return [(rank % count,) for rank in range(ranks)]


def _user(
    machine: Machine, text: str, start: int, anywhere: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], list[str]]:
    scanner = Scanner("-bind-to", text)
    scanner.at = start
    zones: list[tuple[int, ...]] = []
    notes: list[str] = []
    while True:
        members = set(scanner.upward_range("a processor's number"))
        while scanner.take("+"):
            members.update(scanner.upward_range("a processor's number"))
        if gone := members - set(machine.pus):
            # hwloc refuses the set as a whole, and Hydra goes on
            zones.append(anywhere)
            notes.append(f"mpiexec binds rank {len(zones) - 1} to nothing: {format_processors(gone)} is not there")
        else:
            zone, more = permitted(machine, members, "mpiexec")
            zones.append(zone)
            notes += more
        if scanner.done:
            return zones, notes
        scanner.need(",", "',', '+', '-' or the end")


_CANDIDATES = tuple(
    (kind, by) for by in ("", "socket", "numa", "l3cache") for kind in ("core", "hwthread", "l3cache", "numa", "socket")
)


def write_mpich(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Rendering:
    """mpiexec's names of objects where they express it, else the `user:` list; a host file where ranks span nodes."""
    zones = placement.zones
    files = {}
    words = ["mpiexec", "-n", str(placement.size)]
    if placement.nodes > 1:
        names = hosts or [f"node{i}" for i in range(placement.nodes)]
        counts = placement.seating.counts()
        if placement.order != "block" and placement.seating.one_round and len(set(counts)) > 1:
            # -ppn would count before the file's numbers
            words += ["-f", "hostfile"]
        else:
            each = placement.per_node if placement.order in ("block", "even") else placement.seating.together
            words += ["-ppn", str(each), "-f", "hostfile"]
            counts = [each] * placement.nodes
        files["hostfile"] = "".join(f"{name}:{count}\n" for name, count in zip(names, counts, strict=False))
    job = Job(1, placement.per_node)
    width = len(zones[0])
    for kind, by in _CANDIDATES:
        there = objects(machine, hydra.WORDS[kind])
        size = len(there[0]) if there else 0
        if not size or width % size:
            continue
        text = f"-bind-to {kind}{f':{width // size}' if width > size else ''}" + (f" -map-by {by}" if by else "")
        try:
            found, _ = read_mpich(machine, text, job)
        except InputError:
            continue
        if found.zones == zones:
            return Rendering(words=(*words, *text.split()), files=files, notes=(_MODEL,))
    listed = ",".join("+".join(map(str, zone)) for zone in zones)
    return Rendering(words=(*words, "-bind-to", f"user:{listed}"), files=files)


#: Options that are followed by a word, besides the number of ranks.
_VALUES = (
    *(
        "-f",
        "-host",
        "-hosts",
        "--host",
        "--hosts",
        "-machinefile",
        "--machinefile",
        "-ppn",
        "--ppn",
        "-wdir",
        "--wdir",
    ),
    *("-bind-to", "--bind-to", "-map-by", "--map-by", "-genvlist"),
)
#: Intel MPI and MVAPICH2 are made of MPICH: their variables are here as well.
DIALECT = Dialect(
    name="mpich",
    texts=(Text("mpich", "Options of MPICH's mpiexec, such as '-bind-to core:4 -map-by socket'."),),
    launch=read_mpich,
    write_job=write_mpich,
    pins={
        "I_MPI_PIN_DOMAIN": "Intel MPI pins ranks",
        "I_MPI_PIN_PROCESSOR_LIST": "Intel MPI pins ranks",
        "MV2_CPU_MAPPING": "MVAPICH2 binds ranks",
    },
    rank=("PMI_RANK", "MV2_COMM_WORLD_RANK"),
    local_rank=("MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK"),
    starter=Starter(
        programs=("mpirun", "mpiexec", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"),
        counts=("-n", "-np"),
        values={1: _VALUES, 2: ("-env", "-genv")},
        # Hydra binds nothing that a rank cannot undo
        unbound={"hydra": {}, "mpich": {}},
    ),
)
