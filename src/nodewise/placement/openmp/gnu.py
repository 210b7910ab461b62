# SPDX-License-Identifier: BSD-3-Clause
"""GNU's OpenMP runtime (libgomp 12): where it binds threads for OMP_PLACES, OMP_PROC_BIND and GOMP_CPU_AFFINITY.

It goes through the processors allowed by their numbers, whatever socket they are on, and makes a place of what each shares
with others; `spread` gives each thread the first place of its share; more threads than places fill one place after the other,
those left over starting again. A value that it refuses is as if it were not there. OMP_PLACES goes before
GOMP_CPU_AFFINITY, and KMP_AFFINITY is not read. What it does is checked against its own answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeVar

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Outcome
from nodewise.placement.objects import last_level_caches, numbered_objects, objects
from nodewise.placement.openmp.gnu_text import GnuPlaces, expand, read_gnu_places, read_gomp
from nodewise.placement.openmp.places import read_bind
from nodewise.placement.openmp.teams import gnu, order
from nodewise.placement.placement import PlaceList

_T = TypeVar("_T")

#: It keeps sets of processors in words of this many bits.
_WORD = 64


def room(machine: Machine) -> int:
    """One more than the highest processor that it has room for: the highest allowed, up to a whole word."""
    return (max(machine.allowed) // _WORD + 1) * _WORD


def apply_gnu(
    machine: Machine, levels: Sequence[int], places: str | None, gomp: str | None, bind: str | None
) -> Outcome:
    """Where libgomp puts the threads of the innermost teams for these three variables, None where not set.

    `levels` are how many threads a team of each level has, from the outermost on.
    Raises InputError where it ends the program: a thread is to start on a processor that the machine has not.
    """
    notes: list[str] = []
    threads = prod(levels)
    how = _taken(bind, read_bind, notes)
    found: list[tuple[int, ...]] | None = None
    if places is not None:
        found = _taken(places, lambda text: _list(machine, read_gnu_places(text), notes), notes)
    if gomp is not None:
        listed = _taken(gomp, read_gomp, notes)
        if listed is not None and found is None:
            found = _of_gomp(machine, listed, notes)
    everything = tuple(sorted(machine.allowed))
    if how == ("false",) or (how is None and found is None):
        if found:
            notes.append("OMP_PROC_BIND is false: nothing is bound")
        elif notes:
            notes.append("nothing is bound")
        return Outcome((everything,) * threads, tuple(notes))
    if found is None:
        found = _level(machine, "thread")
        if notes:
            notes.append("threads are bound to single hardware threads instead")
    taken = [found[i] for i in order(gnu, how or ("true",), len(found), levels)]
    inner = PlaceList(tuple(found), how) if how is not None and len(how) > 1 else None
    return Outcome(_possible(machine, taken, notes), tuple(notes), inner)


def _taken(text: str | None, read: Callable[[str], _T], notes: list[str]) -> _T | None:
    """The value of a variable; None where it is not set, or refused, which is noted."""
    if text is None:
        return None
    try:
        return read(text)
    except InputError as problem:
        notes.append(f"GNU's runtime ignores {problem.what}")
        return None


def _of_gomp(machine: Machine, processors: Sequence[int], notes: list[str]) -> list[tuple[int, ...]] | None:
    """A place for each of GOMP_CPU_AFFINITY's processors, whether or not the process may use it; None where it has room for none."""
    top = room(machine)
    kept: list[tuple[int, ...]] = [(p,) for p in processors if p < top]
    if len(kept) < len(processors):
        notes.append(f"processors from {top} on are left out: the runtime has no room for them")
    outside = {p for place in kept for p in place} & set(machine.pus) - set(machine.allowed)
    if outside := outside & set(machine.limits.cpuset or machine.pus):
        notes.append(
            f"processors {format_processors(outside)} are outside of what this process may use: threads are bound there all "
            "the same" + ("" if machine.limits.cpuset else ", as far as its cpuset has them")
        )
    return kept or None


def _possible(machine: Machine, places: Sequence[tuple[int, ...]], notes: list[str]) -> tuple[tuple[int, ...], ...]:
    """The places as the kernel grants them: the first thread stays unbound on a processor that is not there, or not granted.

    A cpuset that is not known grants all.
    """
    granted = set(machine.limits.cpuset or machine.pus) & set(machine.pus)
    missing = [not granted.intersection(place) for place in places]
    if not any(missing):
        return tuple(places)
    thread = next((t for t, lost in enumerate(missing) if lost and t), None)
    at = places[thread or 0][0]
    why = "this process's cpuset has not" if at in machine.pus else "this machine has not"
    if thread is not None:
        raise InputError(
            f"GNU's runtime ends the program: a thread is to start on processor {at}, which {why}",
            "leave it out of GOMP_CPU_AFFINITY, or ask for fewer threads",
        )
    notes.append(f"processor {at} is not there: the main thread is not bound")
    return (tuple(sorted(machine.allowed)), *places[1:])


def _list(machine: Machine, places: GnuPlaces, notes: list[str]) -> list[tuple[int, ...]]:
    if places.kind is None:
        found, lost = expand(places, room(machine), set(machine.allowed))
        if lost:
            which = "1 place has" if lost == 1 else f"{lost} places have"
            notes.append(f"{which} no processor that may be used: {'it is' if lost == 1 else 'they are'} left out")
        return found
    found = _level(machine, places.kind)
    if places.kind == "ll_cache" and len(found) > 1:
        # libgomp 12 reads the first processor's cache again and again
        found = found[:1]
        notes.append("libgomp 12 finds only the first last-level cache: all threads share its processors")
    if places.limit is not None and places.limit > len(found):
        notes.append(f"there are {len(found)} places, not {places.limit}")
    if places.limit == 0:
        raise InputError("OMP_PLACES: no place is asked for")
    return found[: places.limit]


def _level(machine: Machine, kind: str) -> list[tuple[int, ...]]:
    """Its places of a kind, in its order: by the lowest processor allowed, nodes by their number."""
    if kind == "numa_domain":
        nodes = numbered_objects(machine, "numa")
        found = [nodes[number] for number in sorted(nodes)] or [machine.allowed]
        return [tuple(sorted(pus)) for pus in found]
    if kind == "ll_cache":
        found = last_level_caches(machine)
    else:
        found = objects(machine, "package" if kind == "socket" else "core") or [machine.allowed]
    ordered = sorted(tuple(sorted(pus)) for pus in found)
    return [(p,) for pus in ordered for p in pus] if kind == "thread" else ordered
