# SPDX-License-Identifier: BSD-3-Clause
"""How Slurm places the tasks of a step: the cores that slurmctld gives it, and what its task/affinity plugin binds to.

The rules are those of Slurm 22.05 (select/cons_tres with CR_Core, the step manager's choice of cores, and the plugin's layouts),
for a job that has its nodes whole; tests check them against answers of the real srun. Slurm numbers a node's processors in
the order of the tree, sockets with as many cores each and cores with as many hardware threads each; on a machine that is not so,
the missing ones are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from functools import cached_property

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors
from nodewise.base.units import format_count
from nodewise.machine.model import Machine
from nodewise.placement.cpu_bind import LAID_OUT
from nodewise.placement.mapping import objects_or_larger
from nodewise.placement.objects import numbered_objects, objects


@dataclass(frozen=True)
class Step:
    """What srun asks for: `tasks` in all over `nodes` alike, `on_node` of them on the one that is shown, with `cpus` processors each.

    Where not `exact`, the step has all of its nodes. `per_core` is --threads-per-core; with `one_thread` tasks are laid out on one
    hardware thread of each core. `bind` is of `LAID_OUT` or `SAID`, with the
    `entries` of its list. `picked` and `dealt` are how cores are picked for the step and how tasks are laid out on them: `block`,
    `cyclic` or `fcyclic`.
    """

    tasks: int
    on_node: int
    cpus: int
    bind: str
    entries: Sequence[int]
    nodes: int
    exact: bool
    overcommit: bool
    per_core: int | None
    one_thread: bool
    picked: str
    dealt: str


@dataclass(frozen=True)
class _Node:
    """A machine as Slurm numbers it: `numbers` has the system's number of each processor, None where there is none."""

    machine: Machine
    sockets: int
    cores: int
    threads: int
    numbers: tuple[int | None, ...] = field(repr=False)

    @classmethod
    def of(cls, machine: Machine) -> _Node:
        of = {p: core for core in objects(machine, "core") for p in core}
        sockets = [list(dict.fromkeys(of[p] for p in pus)) for pus in objects_or_larger(machine, "package")]
        cores, threads = max(map(len, sockets)), max(map(len, of.values()))
        numbers: list[int | None] = []
        for socket in sockets:
            for core in (*socket, *([()] * (cores - len(socket)))):
                numbers += [*core, *([None] * (threads - len(core)))]
        return cls(machine, len(sockets), cores, threads, tuple(numbers))

    @property
    def processors(self) -> int:
        """How many Slurm reckons with."""
        return self.sockets * self.cores * self.threads

    def named(self, indexes: Collection[int]) -> frozenset[int]:
        """The system's numbers of processors."""
        return frozenset(number for i in indexes if (number := self.numbers[i]) is not None)

    @cached_property
    def domains(self) -> list[frozenset[int]]:
        """The processors of each NUMA node by its number; all of them where there is one node or none."""
        found = {number: frozenset(pus) for number, pus in numbered_objects(self.machine, "numa").items()}
        last = max((node.os_index for node in self.machine.numa_nodes), default=0)
        if last <= 0:
            return [frozenset(self.machine.allowed)]
        return [found.get(number, frozenset()) for number in range(last + 1)]

    def whole_domains(self, pus: Collection[int]) -> frozenset[int]:
        """All processors of the NUMA nodes that any of these is in."""
        return frozenset(p for domain in self.domains if not domain.isdisjoint(pus) for p in domain).union(pus)


def zones_of(machine: Machine, step: Step) -> list[tuple[int, ...]]:
    """The processors of each task of a full node. Raises InputError where srun refuses, or would wait for ever."""
    node = _Node.of(machine)
    _check_counts(node, step)
    given = _cores_of(node, step)
    everything = frozenset(machine.allowed)
    allowed = [i for core in sorted(given) for i in range(core * node.threads, (core + 1) * node.threads)]
    held = node.named(allowed)
    if step.bind in LAID_OUT:
        zones = _laid_out(node, step, frozenset(i for i in allowed if node.numbers[i] is not None))
    elif step.bind in ("map_cpu", "mask_cpu"):
        zones = _by_list(step, held)
    elif step.bind == "none":
        # of a step that has the whole node nothing is bound
        zones = [everything if held == everything else held] * step.on_node
    elif held != everything:
        raise InputError(
            f"srun refuses --cpu-bind={step.bind}: the step has the processors {format_processors(held)}, and the whole node must be its",
            "add --overcommit, or leave out --cpus-per-task, --exact and --exclusive",
        )
    elif step.bind == "rank":
        # as many numbers as it reckons with, though there may be fewer processors
        counted = node.processors * node.threads
        own = [task % counted for task in range(step.on_node)]
        gone = sorted(set(own) - everything)
        if gone:
            raise InputError(
                f"srun starts no task by --cpu-bind=rank: it would bind one to processor {gone[0]}, which is not there or not allowed",
                "ask for fewer tasks, or use --cpu-bind=threads",
            )
        zones = [frozenset({number}) for number in own]
    else:
        zones = [_domains(node, step, task) for task in range(step.on_node)]
    return [tuple(sorted(zone)) for zone in zones]


def _check_counts(node: _Node, step: Step) -> None:
    """Raises InputError where slurmctld makes no step."""
    if step.overcommit:
        return
    if step.per_core is not None and step.per_core > node.threads:
        raise InputError(
            f"srun refuses --threads-per-core={step.per_core}: this machine's cores have {node.threads}",
            "ask for fewer",
        )
    counted = node.threads if step.per_core is None else step.per_core
    asked = step.tasks * step.cpus
    # with fewer threads of a core than there are, all of the core is claimed
    claimed = -(-asked // counted) * node.threads if counted < node.threads else asked
    if claimed > step.nodes * node.processors:
        raise _too_many(step, step.cpus, node.sockets * node.cores * counted)


def _too_many(step: Step, each: int, room: int) -> InputError:
    return InputError(
        f"srun refuses {format_count(step.on_node, 'task')} of {format_count(each, 'processor')} on a node of {room}",
        "ask for fewer, or add --overcommit",
    )


def _cores_of(node: _Node, step: Step) -> set[int]:
    """The cores that slurmctld gives a step on a node, by their number. Raises InputError where there are too few."""
    count = node.sockets * node.cores
    everything = set(range(count))
    # the cores of a step that asks for all of its job's processors, or for as many tasks as there are cores, are all of them
    if not step.exact or step.on_node == count:
        return everything
    if not step.overcommit and step.tasks * step.cpus == step.nodes * node.processors:
        return everything
    per_core = step.per_core or node.threads
    if step.overcommit:
        # it is not told then how many processors a task has
        needed = step.on_node
    elif step.cpus > per_core:
        needed = step.on_node * -(-step.cpus // per_core)
    else:
        needed = -(-step.on_node * step.cpus // per_core)
    if needed > node.processors:
        # cores are held against processors, with --overcommit, too
        raise InputError(
            f"srun refuses {format_count(step.on_node, 'task')} of a core each on a node of {format_count(node.processors, 'processor')}",
            "ask for fewer, or leave out --exact and --exclusive",
        )
    picked = list(_in_order(node, step.picked, needed // step.on_node))[:needed]
    if len(picked) < needed and not step.overcommit:
        each = -(-step.cpus // per_core)
        raise InputError(
            f"srun waits for ever for {format_count(step.on_node, 'task')} of {format_count(each, 'core')} on a node of {format_count(count, 'core')}",
            "ask for fewer, or add --overcommit",
        )
    return set(picked)


def _in_order(node: _Node, how: str, each: int) -> Iterator[int]:
    """The cores of a node in the order in which a step gets them; `each` is how many a task has, rounded down."""
    rows = [range(s * node.cores, (s + 1) * node.cores) for s in range(node.sockets)]
    if how == "block":
        yield from (core for row in rows for core in row)
    elif how == "fcyclic":
        yield from (row[i] for i in range(node.cores) for row in rows)
    else:
        waiting = [iter(row) for row in rows]
        taken = 0
        more = True
        while more:
            more = False
            for row in waiting:
                for core in row:
                    more = True
                    yield core
                    taken += 1
                    # a task of less than a core never comes to its number, and sockets are filled one by one
                    if taken == each:
                        taken = 0
                        break


def _by_list(step: Step, held: frozenset[int]) -> list[frozenset[int]]:
    """Processors or masks of a list, all of which must lie within the step; it starts over where it is too short."""
    found = []
    for entry in step.entries:
        numbers = frozenset({entry} if step.bind == "map_cpu" else _digits(entry))
        if not numbers <= held:
            raise InputError(
                f"srun refuses --cpu-bind={step.bind}: {format_processors(sorted(numbers - held))} is outside of the step, "
                f"which has the processors {format_processors(sorted(held))}",
                "name those, or leave out --cpus-per-task, --exact and --exclusive: the step then has the whole node",
            )
        # a mask of nothing is all that the step has
        found.append(numbers or held)
    return [found[task % len(found)] for task in range(step.on_node)]


def _domains(node: _Node, step: Step, task: int) -> frozenset[int]:
    """NUMA nodes by their numbers, which start over behind the last."""
    if step.bind == "rank_ldom":
        numbers = [task]
    else:
        entry = step.entries[task % len(step.entries)]
        numbers = [entry] if step.bind == "map_ldom" else _digits(entry)
    found = frozenset[int]().union(*(node.domains[number % len(node.domains)] for number in numbers))
    if not found:
        raise InputError(
            f"srun: --cpu-bind={step.bind} has no processor for task {task}", "name NUMA nodes that have processors"
        )
    return found


def _digits(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _laid_out(node: _Node, step: Step, free: frozenset[int]) -> list[frozenset[int]]:
    """What the plugin binds each task to, of a step's processors. Raises InputError where it cannot lay tasks out."""
    # where cores have one hardware thread the plugin takes that for what was asked
    per_core = step.per_core or int(step.one_thread or node.threads == 1)
    room = len(free)
    enough = room >= step.on_node and (not per_core or room >= step.cpus * (node.threads // per_core))
    laid: list[set[int]] | None = None
    if enough:
        cpus = step.cpus if room >= step.on_node * step.cpus else room // step.on_node
        laid = (_block if step.dealt == "block" else _cyclic)(node, step, free, cpus, per_core)
    if laid is None:
        if not step.overcommit:
            raise _too_many(step, step.cpus, room)
        return [node.whole_domains(node.named(free)) if step.bind == "ldoms" else node.named(free)] * step.on_node
    if step.bind == "ldoms":
        return [node.whole_domains(node.named(own)) for own in laid]
    width = {"threads": 1, "cores": node.threads, "sockets": node.cores * node.threads}[step.bind]
    wider = [{i // width for i in own} for own in laid]
    return [node.named([i for i in free if i // width in parts]) for parts in wider]


def _passed(node: _Node, step: Step, cpus: int) -> int:
    """How many processors are passed by behind a task that is bound to cores."""
    if step.bind != "cores":
        return 0
    return node.threads - cpus if cpus < node.threads else cpus % node.threads


def _block(node: _Node, step: Step, free: frozenset[int], cpus: int, per_core: int) -> list[set[int]] | None:
    """Tasks take processors one after the other, and start over where all are taken; None where that leads nowhere."""
    laid: list[set[int]] = []
    own: set[int] = set()
    held = 0
    skip = _passed(node, step, cpus)
    while True:
        used = Counter[int]()
        before = len(laid)
        i = 0
        while i < len(node.numbers):
            core = i // node.threads
            if i in free and not (per_core and used[core] >= per_core):
                own.add(i)
                used[core] += 1
                held += 1
                if held == cpus:
                    laid.append(own)
                    own, held = set(), 0
                    i += skip
                    if len(laid) == step.on_node:
                        return laid
            i += 1
        if len(laid) == before:
            return None


def _cyclic(node: _Node, step: Step, free: frozenset[int], cpus: int, per_core: int) -> list[set[int]] | None:
    """Sockets have their turn after each task, or with fcyclic after each processor; None where that leads nowhere."""
    size, width = len(node.numbers), node.cores * node.threads
    at, used = [0] * node.sockets, Counter[int]()
    laid: list[set[int]] = []
    own: set[int] = set()
    held = turn = 0
    full = step.dealt == "fcyclic"
    skip = _passed(node, step, cpus)
    while True:
        before = len(laid)
        for _ in range(size):
            first = turn
            while at[turn] >= width:
                turn = (turn + 1) % node.sockets
                if turn == first:
                    # all have been gone through: they are once more
                    at, used = [0] * node.sockets, Counter[int]()
            i = at[turn] + turn * width
            at[turn] += 1
            core = i // node.threads
            if i not in free or (per_core and used[core] >= per_core):
                continue
            own.add(i)
            used[core] += 1
            held += 1
            if full:
                turn = (turn + 1) % node.sockets
            if held < cpus:
                continue
            at[turn] += skip
            if not full:
                turn = (turn + 1) % node.sockets
            laid.append(own)
            own, held = set(), 0
            if len(laid) == step.on_node:
                return laid
        if len(laid) == before:
            return None
