# SPDX-License-Identifier: BSD-3-Clause
"""Cray's aprun: -n, -N, -S, -d, -j and -cc (aprun(1), CLE 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Starter, Text
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import Beside, job_from, options_and_notes, whole, words_of
from nodewise.placement.mapping import objects_or_larger
from nodewise.placement.objects import objects
from nodewise.placement.placement import Placement
from nodewise.placement.rendering import NotExpressibleError, Rendering, left_out, single
from nodewise.placement.scan import Scanner

_OPTIONS = {
    **dict.fromkeys(("-n", "--pes"), "ranks"),
    **dict.fromkeys(("-N", "--pes-per-node"), "per_node"),
    **dict.fromkeys(("-S", "--pes-per-numa-node"), "per_numa"),
    **dict.fromkeys(("-d", "--cpus-per-pe"), "threads"),
    **dict.fromkeys(("-j", "--cpus-per-cu"), "per_core"),
    **dict.fromkeys(("-cc", "--cpu-binding"), "bind"),
    **dict.fromkeys(("-ss", "--strict-memory-containment"), "strict"),
}
_BESIDE = Beside(
    words_of(
        "-b -q -T --bypass-app-transfer --quiet --sync-output",
        "-a -D -e -L -m -p -P -R -t --architecture --debug --environment-override --node-list --memory-per-pe "
        "--protection-domain --pipes --relaunch --cpu-time-limit",
    ),
    unmodelled=("-B", "--batch-args", "-F", "--access-mode", "-r", "--specialized-cpus", "-sl", "-sn", "-cp"),
)
_MODEL = "modelled from aprun's manual, with whole nodes"


def read_aprun(machine: Machine, text: str, job: Job) -> tuple[Placement, list[str]]:
    """Where aprun puts processing elements and their threads. Raises InputError for an option that is not known."""
    options, passed = options_and_notes("aprun", text, _OPTIONS, ("strict",), beside=_BESIDE)
    job = job_from("aprun", options, job)
    notes = [_MODEL, *passed]
    bind = options.get("bind", "cpu")
    if bind == "none":
        return job.floating("aprun", [tuple(sorted(machine.allowed))] * job.per_node), notes
    shares = _shares(machine, options, job)
    if bind in ("cpu", "cpus"):
        return job.placement("aprun", [[(p,) for p in share] for share in shares]), notes
    if bind == "depth":
        return job.floating("aprun", [tuple(sorted(set(share))) for share in shares]), notes
    if bind == "numa_node":
        nodes = objects_or_larger(machine, "numa")
        zones = [tuple(sorted(p for n in nodes if set(n) & set(share) for p in n)) for share in shares]
        return job.floating("aprun", zones), notes
    lists, more = _lists(machine, bind)
    return job.placement("aprun", _listed(lists, job)), notes + more


def _shares(machine: Machine, options: dict[str, str], job: Job) -> list[list[int]]:
    """The processors of each element's threads: neighbours in the operating system's numbering, `-j` of each core."""
    per_core = whole("aprun", "-j", options.get("per_core", "0"), 0) or None
    usable = {p for core in objects(machine, "core") for p in sorted(core)[:per_core]}
    nodes = [sorted(p for p in pus if p in usable) for pus in objects_or_larger(machine, "numa")]
    per_numa = whole("aprun", "-S", options["per_numa"]) if "per_numa" in options else None
    if per_numa is None:
        groups = [(sorted(usable), job.per_node)]
    else:
        if per_numa * len(nodes) < job.per_node:
            raise InputError(
                f"aprun: -S {per_numa} on {len(nodes)} NUMA node{'s' * (len(nodes) != 1)} is less than the {job.per_node} elements of a node"
            )
        groups = [
            (pus, min(per_numa, job.per_node - i * per_numa))
            for i, pus in enumerate(nodes)
            if i * per_numa < job.per_node
        ]
    shares: list[list[int]] = []
    for pus, elements in groups:
        if elements * job.threads > len(pus):
            raise InputError(
                f"aprun refuses {elements} elements of depth {job.threads} on {len(pus)} processors",
                "ask for fewer, or a larger -j",
            )
        shares += [pus[i * job.threads : (i + 1) * job.threads] for i in range(elements)]
    return shares


def _lists(machine: Machine, text: str) -> tuple[list[list[tuple[int, ...]]], list[str]]:
    """A list of processors for each element, parted by colons; `x` is a thread that is not bound."""
    scanner = Scanner("-cc", text)
    allowed = set(machine.allowed)
    everything = tuple(sorted(allowed))
    lists: list[list[tuple[int, ...]]] = [[]]
    missing: set[int] = set()
    while True:
        if scanner.take("x"):
            lists[-1].append(everything)
        else:
            numbers = scanner.upward_range("cpu, numa_node, depth, none, a processor's number or x")
            missing |= set(numbers) - allowed
            lists[-1] += [(p,) for p in numbers if p in allowed]
        if scanner.done:
            break
        if scanner.take(":"):
            lists.append([])
        else:
            scanner.need(",", "',', '-', ':' or the end")
    if not all(lists):
        raise InputError(f"aprun: -cc {text!r}: an element has no processor that is there and allowed")
    return lists, left_out(missing)


def _listed(lists: list[list[tuple[int, ...]]], job: Job) -> list[list[tuple[int, ...]]]:
    if len(lists) == 1:
        # one list for the node: its elements and their threads take it in turn
        flat = lists[0]
        return [[flat[(r * job.threads + t) % len(flat)] for t in range(job.threads)] for r in range(job.per_node)]
    return [
        [lists[r % len(lists)][t % len(lists[r % len(lists)])] for t in range(job.threads)] for r in range(job.per_node)
    ]


def write_aprun(machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Rendering:
    """aprun with a list for each element; raises NotExpressibleError where a thread may use some processors, but not all."""
    if placement.order != "block":
        raise NotExpressibleError(
            "aprun",
            "it fills a node before the next, and ranks are to be spread evenly over nodes"
            if placement.order == "even"
            else f"it fills a node before the next, and ranks are to be numbered by {placement.order}",
        )
    depths = set(placement.ranks or (placement.threads,))
    if len(depths) > 1:
        raise NotExpressibleError(
            "aprun", "all of its elements have the same depth, and ranks have different numbers of threads"
        )
    if placement.threads > len(machine.allowed):
        raise NotExpressibleError(
            "aprun",
            f"it claims a processor for each thread, and {placement.threads} threads are to share {len(machine.allowed)}",
        )
    most = max((len(core) for core in objects(machine, "core")), default=1)
    words = [
        "aprun",
        "-n",
        str(placement.size),
        "-N",
        str(placement.per_node),
        "-d",
        str(depths.pop()),
        "-j",
        str(most),
    ]
    # its -L takes the numbers of nodes, not their names
    notes = ("aprun goes to the nodes of its reservation: hosts by name are not written",) if hosts else ()
    everything = tuple(sorted(machine.allowed))
    if all(place == everything for place in placement.places):
        return Rendering(words=(*words, "-cc", "none"), notes=notes)
    lists = []
    for rank in placement.by_rank:
        bound = single("aprun", [place for place in rank if place != everything or len(everything) == 1])
        numbers = iter(bound)
        lists.append(
            ",".join("x" if place == everything and len(everything) > 1 else str(next(numbers)) for place in rank)
        )
    return Rendering(words=(*words, "-cc", ":".join(lists)), notes=notes)


#: Of aprun(1), other than the number of ranks.
_VALUES = (
    *("-a", "-cc", "-d", "-D", "-e", "-F", "-j", "-L", "-m", "-N", "-p", "-P", "-r", "-R", "-S", "-sl", "-sn", "-t"),
    *("--cpu-binding", "--depth", "--environment-override", "--access-mode", "--cpus-per-cu", "--node-list"),
    *("--memory-per-pe", "--pes-per-node", "--pes-per-numa-node", "--specialized-cpus", "--cpu-time-limit"),
)

DIALECT = Dialect(
    name="aprun",
    texts=(Text("aprun", "Options of aprun, such as '-N 4 -d 8 -cc depth'."),),
    launch=read_aprun,
    write_job=write_aprun,
    with_threads=True,
    pins={"PALS_CPU_BIND": "PALS binds ranks"},
    rank=("ALPS_APP_PE",),
    local_rank=("PALS_LOCAL_RANKID",),
    starter=Starter(
        programs=("aprun",),
        counts=("-n", "--pes"),
        values={1: _VALUES},
        # each of its elements may change its own mask
        unbound={"aprun": {}},
    ),
)
