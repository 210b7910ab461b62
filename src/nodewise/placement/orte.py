# SPDX-License-Identifier: BSD-3-Clause
"""How ORTE, the runtime of Open MPI 4, maps the ranks of a node to objects, binds them, and numbers them.

The rules are those of its mappers and its binder (orte/mca/rmaps of Open MPI 4.1), where it starts what it maps; tests check
them against answers of the real mpirun.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.units import format_count
from nodewise.machine.model import Machine
from nodewise.placement.objects import NAMES, objects


@dataclass(frozen=True)
class Plan:
    """What options come to: ranks are mapped by objects of the kind `by`, with `each` on every one where that is not 0.

    An empty kind is the whole node. A rank gets `width` processors of the kind `cpu`, 0 where nothing says how many. `bind` is
    the kind bound to, empty for none; where it was `asked` for, what cannot be is refused, and else ranks stay unbound. `rank`
    is the kind that ranks are numbered round, empty for the order that they were mapped in, and `how` is `fill`, `span`
    or nothing. `slots` is how many ranks fit a node.
    """

    by: str
    bind: str
    slots: int
    each: int
    width: int
    cpu: str
    asked: bool
    overload: bool
    oversubscribe: bool
    rank: str
    how: str
    rank_asked: bool


def seat(machine: Machine, plan: Plan, ranks: int) -> list[tuple[int, ...]]:
    """The processors of each of a node's ranks, in the order of their numbers; raises InputError where mpirun refuses."""
    everything = frozenset(machine.allowed)
    if ranks > plan.slots and not plan.oversubscribe:
        called = "hardware thread" if plan.slots == len(machine.allowed) != len(machine.allowed_cores) else "core"
        raise InputError(
            f"mpirun refuses {ranks} ranks a node: there are {plan.slots} slots, a slot for each {called}",
            "add :OVERSUBSCRIBE to --map-by, or ask for fewer",
        )
    node = _Node(machine, plan.cpu)
    mapped = node.there(plan.by) or [everything]
    seats = _seats(node, plan, mapped, ranks)
    places = [mapped[at] for at in seats]
    # an object that the machine lacks stands for all of it, and ranks are then not bound in place
    by = plan.by if node.there(plan.by) else ""
    if not plan.bind or (ranks > plan.slots and not plan.asked):
        zones = [everything] * ranks
    elif plan.bind == by:
        zones = _in_place(node, plan, seats) or [everything] * ranks
    else:
        zones = _below(node, plan, places) or [everything] * ranks
    return [tuple(sorted(zones[i])) for i in _numbered(node, plan, places)]


class _Node:
    """The objects of a machine, and how many processors ORTE counts in each: cores, or hardware threads."""

    def __init__(self, machine: Machine, cpu: str):
        self._machine = machine
        self._cpus = [frozenset(pus) for pus in objects(machine, cpu)]

    def there(self, kind: str) -> list[frozenset[int]]:
        """The objects of a kind in the machine's order, none of an empty kind."""
        return [frozenset(pus) for pus in objects(self._machine, kind)] if kind else []

    def count(self, pus: frozenset[int]) -> int:
        """How many processors lie wholly in an object."""
        return sum(cpu <= pus for cpu in self._cpus)


def _seats(node: _Node, plan: Plan, mapped: Sequence[frozenset[int]], ranks: int) -> list[int]:
    """Which object each rank is mapped to, by its index."""
    if plan.each:
        if plan.by and not node.there(plan.by):
            raise _missing(plan.by)
        if ranks > plan.each * len(mapped):
            raise InputError(
                f"mpirun refuses: {format_count(plan.each, 'rank')} on each {NAMES.get(plan.by, plan.by) or 'node'} "
                f"{'makes' if plan.each == 1 else 'make'} {plan.each * len(mapped)} a node, not {ranks}",
                "ask for fewer ranks, or more nodes",
            )
        return [rank // plan.each for rank in range(ranks)]
    seats = [rank % len(mapped) for rank in range(ranks)]
    if plan.by and node.there(plan.by):
        small = next((at for at in dict.fromkeys(seats) if plan.width > node.count(mapped[at])), None)
        if small is not None:
            cpus = {"core": "cores", "pu": "hardware threads"}[plan.cpu]
            raise InputError(
                f"mpirun refuses PE={plan.width} where ranks are mapped by {NAMES.get(plan.by, plan.by)}: "
                f"one has {node.count(mapped[small])} {cpus}",
                "ask for fewer, or map by a larger object",
            )
    return seats


def _missing(kind: str) -> InputError:
    return InputError(f"mpirun refuses: this machine has no {NAMES.get(kind, kind)}", "name objects that it has")


def _crowded(plan: Plan) -> InputError:
    called = NAMES.get(plan.bind, plan.bind)
    return InputError(
        f"mpirun refuses: more ranks are to be bound to a {called} than it has processors",
        "add :overload-allowed to --bind-to, or ask for fewer",
    )


def _none_left(plan: Plan) -> InputError:
    return InputError(
        f"mpirun refuses: there are no {max(1, plan.width)} processors left where a rank goes",
        "ask for fewer ranks or PE",
    )


def _in_place(node: _Node, plan: Plan, seats: Sequence[int]) -> list[frozenset[int]] | None:
    """Ranks are bound to what they are mapped by; where that is full, to the next with room, to the right first.

    None where they stay unbound.
    """
    targets = node.there(plan.bind)
    room = [node.count(pus) for pus in targets]
    taken = [0] * len(targets)
    zones = []
    for at in seats:
        if not room[at]:
            raise _none_left(plan)
        found: int | None = at
        if taken[at] >= room[at]:
            beyond = [*range(at + 1, len(targets)), *range(at - 1, -1, -1)]
            found = next((i for i in beyond if taken[i] < room[i]), at if plan.overload else None)
        if found is None:
            if plan.asked:
                raise _crowded(plan)
            return None
        taken[found] += 1
        zones.append(targets[found])
    return zones


def _below(node: _Node, plan: Plan, places: Sequence[frozenset[int]]) -> list[frozenset[int]] | None:
    """Each rank is bound to that of the objects which meet its place that has the fewest, and to those behind it as far as it needs.

    None where they stay unbound.
    """
    targets = node.there(plan.bind)
    if not targets:
        raise _missing(plan.bind)
    room = [node.count(pus) for pus in targets]
    taken = [0] * len(targets)
    zones = []
    for place in places:
        meeting = [i for i, pus in enumerate(targets) if not pus.isdisjoint(place)]
        if not meeting:
            raise _none_left(plan)
        at = min(meeting, key=taken.__getitem__)
        own = frozenset[int]()
        held = 0
        while True:
            if at == len(targets):
                raise _none_left(plan)
            taken[at] += 1
            if taken[at] > room[at] and not plan.overload:
                if plan.asked:
                    raise _crowded(plan)
                return None
            own |= targets[at]
            held += room[at]
            at += 1
            if held >= plan.width:
                break
        zones.append(own)
    return zones


def _numbered(node: _Node, plan: Plan, places: Sequence[frozenset[int]]) -> list[int]:
    """The ranks as mapped, in the order of their numbers: round the objects each takes the next that was mapped there.

    With fill each takes all of them. Raises InputError where the objects that were asked for are not there, or not all are met.
    """
    if not plan.rank:
        return list(range(len(places)))
    groups = node.there(plan.rank)
    if not groups:
        if plan.rank_asked:
            raise _missing(plan.rank)
        return list(range(len(places)))
    waiting = dict(enumerate(places))
    found: list[int] = []
    while waiting:
        before = len(found)
        for group in groups:
            meeting = [i for i, place in waiting.items() if not place.isdisjoint(group)]
            for i in meeting if plan.how == "fill" else meeting[:1]:
                found.append(i)
                del waiting[i]
        if len(found) == before:
            raise InputError(
                f"mpirun refuses to number ranks by {NAMES.get(plan.rank, plan.rank)}: some are mapped to none",
                "number them by slot",
            )
    return found
