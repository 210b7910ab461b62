# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks and threads would sit, from what is asked to the places."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from math import prod

from nodewise.api.caller import question
from nodewise.api.given import Processors, StrPath
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant
from nodewise.machine.given import machine as the_machine
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Trap
from nodewise.placement.huge_pages import huge_page_environment
from nodewise.placement.job import Job
from nodewise.placement.memory import MemoryPolicy, check_memory, from_numactl, read_memory
from nodewise.placement.openmp.lengths import overlong
from nodewise.placement.openmp.places import openmp_environment
from nodewise.placement.openmp.runtimes import RUNTIMES, active
from nodewise.placement.policies import POLICIES
from nodewise.placement.registry import all_texts, placing
from nodewise.placement.resolve import ZONES, Request, Resolved, fitting_threads, resolve
from nodewise.placement.traps import find_traps
from nodewise.verdicts.place import PlaceOutput, is_bound


@dataclass(frozen=True)
class Placed:
    """A job as it was asked for, and where it sits; `traps` are what would surprise its user; `counted`: its number of threads was asked for."""

    machine: Machine
    request: Request
    job: Job
    resolved: Resolved
    pages: tuple[MemoryPolicy | None, str]
    traps: tuple[Trap, ...] = ()
    counted: bool = False

    def output(self) -> PlaceOutput:
        """The places."""
        placement, policy = self.resolved.placement, self.pages[0]
        tied = is_bound(self.machine, placement)
        bound = tied or self.machine.held_to is not None
        one = len(placement.by_rank) == 1
        env = openmp_environment(placement.places, placement.levels, *placement.inner) if tied and one else {}
        env |= huge_page_environment(self.pages[1], {})
        notes = (*self.resolved.notes, *(overlong(env) if self.request.runtime == "intel" else ()))
        return PlaceOutput(
            policy=placement.policy,
            threads=placement.threads,
            places=None if self.request.policy == "os" and not bound else placement.places,
            ranks=placement.ranks,
            nodes=placement.nodes,
            order=placement.order,
            size=placement.size,
            zones=placement.zones,
            notes=tuple(dict.fromkeys(notes)),
            traps=tuple(trap.name for trap in self.traps),
            env=env,
            levels=placement.levels,
            mask=placement.mask if bound else None,
            memory=None if policy is None else str(policy),
            machine=self.machine,
            placement=placement,
            pages=self.pages,
            counted=self.counted,
            runtime=self.request.runtime if self.request.runtime_named else "",
        )


#: What OMP_PROC_BIND calls its two policies; over cores they are placements, too.
BINDINGS = ("spread", "close")
#: All that a placement can be asked for by one word.
NAMED = (*POLICIES, *BINDINGS)
#: What OMP_PLACES may name.
_PLACES = ("threads", "cores", "ll_caches", "numa_domains", "sockets")


def check_policy(policy: str) -> None:
    """Raises InputError for a word that is no policy."""
    if policy not in NAMED:
        near = f"; did you mean --places {policy}?" if policy in _PLACES else meant(policy, NAMED)
        raise InputError(f"unknown placement: {policy!r}{near}", f"the placements are {', '.join(NAMED)}")
    if policy in BINDINGS:
        raise InputError(f"the policy {policy} and a text both say where threads go", "give one of them")


def request_of(
    policy: str | None, zones: str, runtime: str | None, texts: dict[str, str | None], near: Sequence[str] = ()
) -> Request:
    """What is asked for, in whatever dialects. Raises InputError for what is not known, and where nothing is."""
    for name, value, known in (("zones", zones, ZONES), ("runtime", runtime, RUNTIMES)):
        if value is not None and value not in known:
            raise InputError(f"--{name} {value!r} is not known", f"known are: {', '.join(known)}")
    texts = {name: text if text is None else _value(name, text) for name, text in texts.items()}
    if policy in BINDINGS and not placing(texts):
        policy, texts = None, {**texts, "places": "cores", "bind": policy}
    if policy is not None:
        check_policy(policy)
    if near and policy is None and not placing(texts):
        # near a device, and else as the system likes
        policy = "os"
    request = Request(policy, zones, runtime, near, **texts)
    if not request.given():
        raise InputError(
            "nothing says where threads are to go",
            f"name a policy ({', '.join(NAMED)}) or a text, such as --places cores",
        )
    return request


def _value(name: str, text: str) -> str:
    """The value of a text that is written as its variable is set: `OMP_PLACES=cores`, perhaps exported and quoted."""
    known = all_texts().get(name)
    front, equals, value = text.strip().removeprefix("export ").strip().partition("=")
    if known is None or not known.variable or not equals or front != known.variable:
        return text
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def prepare_place(
    machine: Machine,
    request: Request,
    *,
    threads: int | Sequence[int] | None = None,
    ranks: int = 0,
    nodes: int = 1,
    memory: str | None = None,
    huge_pages: str = "default",
    untouched: bool = False,
) -> Placed:
    """Where a job sits; `threads` of several levels are teams within teams; `untouched`: what the environment says of threads holds, and is no trap. Raises InputError."""
    huge_page_environment(huge_pages, {})
    levels = (threads,) if isinstance(threads, int) else tuple(threads or ())
    for count in levels:
        # as each is asked for by itself
        Job(count)
    request, notes = active(request, levels)
    job = Job(prod(request.levels or levels), ranks, nodes)
    if threads is None:
        job = Job(fitting_threads(machine, job, request), ranks, nodes)
    resolved = resolve(machine, job, request)
    if machine.live and huge_pages == "reserved":
        from nodewise.runner.memory import huge_page_pools

        if not any(pool.total for pool in huge_page_pools()):
            notes = [
                *notes,
                "no huge pages are reserved here (vm.nr_hugepages is 0): without them programs are given ordinary ones",
            ]
    resolved = replace(resolved, notes=(*notes, *resolved.notes))
    policy = _policy(machine, memory, resolved)
    if policy is not None and policy.weights and not machine.live:
        weights = ", ".join(f"{weight} for node {node}" for node, weight in policy.weights)
        there = "/sys/kernel/mm/mempolicy/weighted_interleave"
        note = f"weights are the system's, for all programs: root writes {weights} into {there}/nodeN there"
        resolved = replace(resolved, notes=(*resolved.notes, note))
    inherited = os.environ if machine.live else None
    traps = () if untouched else tuple(find_traps(machine, resolved.placement, request, inherited))
    # `os` alone asks for nothing
    counted = not untouched and (threads is not None or request.policy != "os")
    return Placed(machine, request, job, resolved, (policy, huge_pages), traps, counted)


def _policy(machine: Machine, text: str | None, resolved: Resolved) -> MemoryPolicy | None:
    """The memory policy asked for, by --memory or by numactl's options, checked against the machine."""
    policy = from_numactl(machine, resolved.memory)
    if text is not None:
        if policy is not None:
            raise InputError("a memory policy is named twice, by --memory and by --numactl", "name it once")
        policy = read_memory(machine, text)
    if policy is not None:
        from nodewise.runner.memory import interleave_weights

        check_memory(machine, policy, interleave_weights() if machine.live else None)
    return policy


@question(all_texts)
def place(
    policy: str | None = None,
    *,
    threads: int | Sequence[int] | None = None,
    ranks: int = 0,
    nodes: int = 1,
    zones: str = "share",
    runtime: str | None = None,
    near: str | Sequence[str] = (),
    machine: Machine | StrPath | None = None,
    allow: Processors | None = None,
    memory: str | None = None,
    huge_pages: str = "default",
    **texts: str,
) -> PlaceOutput:
    """Where ranks and threads would sit on a machine: by a `policy` (`compact`, `scatter`, `balanced`, `os`) or by texts.

    `texts` say it in the words of any tool, each by the name of the command's option: `places="cores", bind="close"`,
    `slurm="--cpu-bind=cores"`. `threads` are those of each rank (None: what fits; `(2, 4)`: two, with an inner OpenMP team of four each), `ranks` those of all `nodes` like this
    one; `zones` is what ranks get where no launcher is named, `near` the devices whose nearest processors are kept to
    (`"nvme0n1"`; of several each rank gets one in turn: `["gpu0", "gpu1"]`), `runtime` whose rules OpenMP's variables follow (None: Intel's, and GNU's for `gomp`). `memory` is where pages go,
    such as `"bind:0"`. What it returns is written in another dialect by its `render`.

    >>> import nodewise
    >>> there = nodewise.place("scatter", threads=4, machine="synthetic:package:2 core:4 pu:2")
    >>> there.places
    ((0,), (8,), (2,), (10,))
    >>> there.render("gomp").line(["./app"])
    'OMP_NUM_THREADS=4 GOMP_CPU_AFFINITY=0,8,2,10 ./app'

    Raises InputError for what cannot be read, or cannot be.
    """
    devices = (near,) if isinstance(near, str) else tuple(near)
    request = request_of(policy, zones, runtime, dict(texts), devices)
    placed = prepare_place(
        the_machine(machine, allow=allow),
        request,
        threads=threads,
        ranks=ranks,
        nodes=nodes,
        memory=memory,
        huge_pages=huge_pages,
    )
    return placed.output()
