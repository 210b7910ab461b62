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
    """For each of a node's ranks its zone, and whether some had to share what each should have had alone."""

    zones: tuple[tuple[int, ...], ...]
    shared: bool


def deal(
    machine: Machine, seats: Sequence[int], mapped: Sequence[tuple[int, ...]], kind: str | None, width: int = 1
) -> Bound:
    """Bind ranks: `seats` gives each rank's index in `mapped`; each takes the next `width` objects of `kind` in there.

    Where objects of the kind are larger than the mapped one, a rank is bound to the one that holds it. `kind` None binds
    to nothing. After the last free object the first are taken again.
    """
    if kind is None:
        return Bound(tuple(tuple(sorted(machine.allowed)) for _ in seats), False)
    targets = objects_or_larger(machine, kind)
    holder = {p: i for i, pus in enumerate(targets) for p in pus}
    inside: list[list[tuple[int, ...]]] = []
    for pus in mapped:
        numbers = dict.fromkeys(holder[p] for p in pus if p in holder)
        inside.append([targets[i] for i in numbers])
    taken = [0] * len(mapped)
    zones: list[tuple[int, ...]] = []
    shared = False
    for seat in seats:
        choices = inside[seat]
        exclusive = len(choices) > 1 or set(choices[0]) <= set(mapped[seat])
        if width > len(choices):
            raise InputError(
                f"{width} of {kind} are asked for each rank, and there are {len(choices)} where rank {len(zones)} goes",
                "ask for fewer, or map by a larger object",
            )
        whole = len(choices) // width
        turn, at = divmod(taken[seat], whole)
        shared |= bool(turn) and exclusive
        zones.append(tuple(sorted(p for pus in choices[at * width : (at + 1) * width] for p in pus)))
        taken[seat] += 1
    return Bound(tuple(zones), shared)


def word(launcher: str, option: str, text: str, words: Mapping[str, str] = WORDS) -> str:
    """The kind that a launcher's word means; raises InputError where it means none."""
    kind = words.get(text.lower())
    if kind is None:
        raise InputError(f"{launcher}: {option} {text!r} is not known", f"known are: {', '.join(words)}")
    return kind
