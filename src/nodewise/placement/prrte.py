# SPDX-License-Identifier: BSD-3-Clause
"""How PRRTE 3, the runtime of Open MPI 5, maps the ranks of a node to objects, binds them, and numbers them.

The rules are those of its mapper and its binder (src/mca/rmaps of PRRTE 3.0); tests check them against answers of the real
mpirun. Sets of processors are integers here, a bit for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.units import format_count
from nodewise.machine.model import Machine
from nodewise.placement.objects import objects

#: Kinds of objects from the largest to the smallest, as PRRTE orders them: what is bound to may not be larger than what is
#: mapped by. `node` stands for all of it.
DEPTHS = ("node", "package", "numa", "l3cache", "l2cache", "l1cache", "core", "pu")
_CALLED = {"numa": "NUMA node", "pu": "hardware thread"}


def called(kind: str | None) -> str:
    """What a kind is called in messages."""
    return _CALLED.get(kind or "", kind or "")


@dataclass(frozen=True)
class Plan:
    """What options come to: ranks are mapped by objects of the kind `by`, with `each` on every one where that is not 0.

    `node` as a kind is the whole node. A rank gets `width` processors: cores, or hardware threads where `threads` holds.
    `bind` is the kind bound to, None for none; where `asked` is false, ranks that find nothing to be bound to stay unbound.
    `rank` is the order that ranks are numbered in: `slot`, `node`, `fill` or `span`. `slots` is how many ranks fit a node.
    """

    by: str
    bind: str | None
    rank: str
    slots: int
    each: int
    width: int
    threads: bool
    asked: bool
    overload: bool
    oversubscribe: bool


@dataclass
class _Room:
    """The processors of a node that no rank has been bound to yet."""

    everything: int
    #: Cores or hardware threads, of which each rank takes one or more.
    cpus: Sequence[int]
    free: int = 0
    inside: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = self.everything

    def within(self, domain: int) -> list[int]:
        """The cores or hardware threads that lie in a domain, none by a part only."""
        if domain not in self.inside:
            self.inside[domain] = [cpu for cpu in self.cpus if cpu & ~domain == 0]
        return self.inside[domain]

    def vacant(self, domain: int, most: int) -> list[int]:
        """Those of them that are free, the first of them up to that number."""
        found: list[int] = []
        for cpu in self.within(domain):
            if cpu & ~self.free == 0:
                found.append(cpu)
                if len(found) == most:
                    break
        return found


def _bits(pus: Iterable[int]) -> int:
    return sum(1 << p for p in pus)


def _zone(bits: int) -> tuple[int, ...]:
    return tuple(i for i, digit in enumerate(reversed(bin(bits)[2:])) if digit == "1")


def there(machine: Machine, kind: str) -> list[tuple[int, ...]]:
    """The objects of a kind; raises InputError where the machine has none, as PRRTE then refuses."""
    found = [tuple(machine.allowed)] if kind == "node" else objects(machine, kind)
    if not found:
        raise InputError(f"mpirun refuses: this machine has no {called(kind)}", "name objects that it has")
    return found


def seat(machine: Machine, plan: Plan, ranks: int) -> list[tuple[int, ...]]:
    """The processors of each of a node's ranks, in the order of their numbers; raises InputError where PRRTE refuses."""
    if ranks > plan.slots and not plan.oversubscribe:
        called = "hardware thread" if plan.slots == len(machine.allowed) != len(machine.allowed_cores) else "core"
        raise InputError(
            f"mpirun refuses {ranks} ranks a node: there are {plan.slots} slots, a slot for each {called}",
            "add :OVERSUBSCRIBE to --map-by, or ask for fewer",
        )
    mapped = [_bits(pus) for pus in there(machine, plan.by)]
    room = _Room(_bits(machine.allowed), [_bits(pus) for pus in objects(machine, "pu" if plan.threads else "core")])
    targets = [] if plan.bind is None or plan.width > 1 else [_bits(pus) for pus in there(machine, plan.bind)]
    sockets = [_bits(pus) for pus in objects(machine, "package")]
    seats: list[tuple[int, int]] = []
    for at in _visits(plan, mapped, room, ranks):
        domain = mapped[at]
        if plan.bind is None:
            bound = room.everything
        elif plan.width > 1:
            bound = _several(plan, room, _one_socket(plan, room, sockets) if plan.by == "node" else domain)
        else:
            bound = _one(plan, room, domain, targets)
        seats.append((at, bound))
    if plan.rank == "fill":
        seats.sort(key=lambda taken: taken[0])
    elif plan.rank == "span":
        # round the objects, each time the next that was mapped there, until all ranks that were asked for have a number
        placed = Counter[int]()
        turns = []
        for at, bound in seats:
            turns.append((placed[at], at, bound))
            placed[at] += 1
        seats = [(at, bound) for _, at, bound in sorted(turns, key=lambda turn: turn[:2])][:ranks]
    return [_zone(bound) for _, bound in seats]


def _visits(plan: Plan, mapped: Sequence[int], room: _Room, ranks: int) -> Iterable[int]:
    """The index of the object that each rank is mapped to, one after the other since what is bound changes what is free."""
    unbound = plan.bind is None
    done = 0
    if plan.each:
        for at, domain in enumerate(mapped):
            if done >= ranks:
                return
            need = plan.each * plan.width
            if not unbound and len(room.vacant(domain, need)) < need:
                continue
            # an object once begun is filled, with more ranks than were asked for where they do not come out even
            for _ in range(plan.each):
                if done == plan.slots and not plan.oversubscribe:
                    break
                yield at
                done += 1
        if done < ranks:
            raise InputError(
                f"mpirun: {format_count(plan.each, 'rank')} on each {called(plan.by)} {'makes' if plan.each == 1 else 'make'} {done} a node, "
                f"not {ranks}",
                "ask for fewer ranks, or more nodes",
            )
        return
    while done < ranks:
        before = done
        for at, domain in enumerate(mapped):
            if done == ranks:
                return
            if not unbound and not plan.overload and len(room.vacant(domain, plan.width)) < plan.width:
                continue
            yield at
            done += 1
        if done == before:
            raise InputError(
                f"mpirun refuses {ranks} ranks a node: there is room for {done}, each with "
                f"{plan.width} {'hardware thread' if plan.threads else 'core'}{'s' if plan.width > 1 else ''} of its own",
                "add :overload-allowed to --bind-to, or ask for fewer",
            )


def _one(plan: Plan, room: _Room, domain: int, targets: Sequence[int]) -> int:
    """The first target that has a free processor in the domain; of those one counts as taken."""
    for target in targets:
        vacant = room.vacant(domain & target, 1) if domain & target & room.free else []
        if vacant:
            room.free &= ~vacant[0]
            if not room.free and plan.overload:
                room.free = room.everything
            return target
    if plan.asked:
        raise InputError(
            f"mpirun refuses to bind to {called(plan.bind)}: none has a free processor where a rank goes",
            "add :overload-allowed to --bind-to, or ask for fewer",
        )
    return room.everything


def _several(plan: Plan, room: _Room, domain: int) -> int:
    """The first free processors of the domain, as many as a rank gets, or as are left where overloading is allowed."""
    vacant = room.vacant(domain, plan.width)
    if not vacant:
        raise InputError(
            f"mpirun refuses: no {plan.width} free processors are left where a rank goes", "ask for fewer ranks"
        )
    bound = 0
    for cpu in vacant:
        bound |= cpu
    room.free &= ~bound
    return bound


def _one_socket(plan: Plan, room: _Room, sockets: Sequence[int]) -> int:
    """The first socket with that many free processors: ranks are not to span sockets."""
    for socket in sockets:
        if len(room.vacant(socket, plan.width)) >= plan.width:
            return socket
    raise InputError(
        f"mpirun refuses: no socket has {plan.width} free {'hardware threads' if plan.threads else 'cores'} for a rank",
        "ask for fewer ranks or PE, or map by a smaller object",
    )
