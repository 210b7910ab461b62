# SPDX-License-Identifier: BSD-3-Clause
"""What MPI launchers share: ranks dealt out to objects of a machine, and bound to objects within those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.objects import last_level_caches, objects

#: Words of Open MPI and MPICH for kinds of objects, in lower case.
WORDS = {
    "hwthread": "pu",
    "core": "core",
    **{f"l{i}cache": f"l{i}cache" for i in (1, 2, 3)},
    "numa": "numa",
    "socket": "package",
    "package": "package",
    "board": "machine",
    "machine": "machine",
}


def objects_or_larger(machine: Machine, kind: str) -> list[tuple[int, ...]]:
    """The objects of a kind; where the machine has none, those that stand in for it."""
    found = last_level_caches(machine) if kind == "llc" else objects(machine, kind)
    return found or objects(machine, "package") or [machine.allowed]


@dataclass(frozen=True)
class Bound:
    """For each of a node's ranks its zone, and how many ranks the most crowded object has for each of its `elements`."""

    zones: tuple[tuple[int, ...], ...]
    crowd: float


def deal(
    seats: Sequence[int],
    mapped: Sequence[tuple[int, ...]],
    targets: Sequence[tuple[int, ...]],
    elements: Sequence[tuple[int, ...]],
    width: int = 1,
) -> Bound:
    """Bind ranks: `seats` gives each rank's index in `mapped`; each takes the `width` targets there that fewest have.

    A target that is larger than the mapped object is the one that holds its beginning. `elements` are what an object has
    room for a rank by: cores, or hardware threads.
    """
    holder = {p: i for i, pus in enumerate(targets) for p in pus}
    room = [0] * len(targets)
    for element in elements:
        room[holder[element[0]]] += 1
    taken = [0] * len(targets)
    zones: list[tuple[int, ...]] = []
    for seat in seats:
        inside = list(dict.fromkeys(holder[p] for p in mapped[seat] if p in holder))
        larger = not set(targets[inside[0]]) <= set(mapped[seat])
        if larger:
            inside = inside[:1]
        if width > len(inside):
            raise InputError(
                f"{width} are asked for each rank, and there are {len(inside)} where rank {len(zones)} goes",
                "ask for fewer, or map by a larger object",
            )
        if len(inside) == 1 and width == 1 and not larger and taken[inside[0]] >= max(1, room[inside[0]]):
            # full where it was mapped to: the next with room, to the right first
            beyond = [*range(inside[0] + 1, len(targets)), *range(inside[0] - 1, -1, -1)]
            inside = [next((i for i in beyond if taken[i] < room[i]), inside[0])]
        own: list[int] = []
        for _ in range(width):
            # the first of those that the fewest ranks have
            own.append(min((i for i in inside if i not in own), key=lambda i: taken[i]))
            taken[own[-1]] += 1
        zones.append(tuple(sorted(p for i in own for p in targets[i])))
    return Bound(tuple(zones), max((n / max(r, 1) for n, r in zip(taken, room, strict=True)), default=0.0))


def word(launcher: str, option: str, text: str, words: Mapping[str, str] = WORDS) -> str:
    """The kind that a launcher's word means; raises InputError where it means none."""
    kind = words.get(text.lower())
    if kind is None:
        raise InputError(f"{launcher}: {option} {text!r} is not known", f"known are: {', '.join(words)}")
    return kind
