# SPDX-License-Identifier: BSD-3-Clause
"""GNU's OpenMP runtime (libgomp 12): GOMP_CPU_AFFINITY, and where it differs from Intel's on OMP_PLACES.

Its places are numbered by the operating system's numbers of sockets, cores and processors, not by the machine's tree;
`spread` gives each thread the first place of its share; more threads than places fill one place after the other, those
left over starting again. It does not read KMP_AFFINITY.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.machine.model import Machine
from nodewise.placement.objects import last_level_caches, objects
from nodewise.placement.scan import Scanner
from nodewise.placement.tongues.kmp_affinity import Outcome
from nodewise.placement.tongues.openmp import Places, explicit_places
from nodewise.placement.tongues.said import Said, left_out, single


def read_gomp(text: str) -> tuple[int, ...]:
    """The processors of a GOMP_CPU_AFFINITY, in order: `0 3 1-2 4-15:2`, parted by blanks or commas.

    Raises InputError with the column.
    """
    scanner = Scanner("GOMP_CPU_AFFINITY", text)
    found: list[int] = []
    while True:
        found += scanner.upward_range("a processor's number", strides=True)
        if scanner.done:
            return tuple(found)
        if not scanner.take(",") and not scanner.text[scanner.at - 1].isspace():
            raise scanner.error("a blank, ',', '-' or the end")


def apply_gomp(machine: Machine, processors: Sequence[int], threads: int, bind: str = "close") -> Outcome:
    """Where libgomp binds threads with that list, each to one processor; an OMP_PROC_BIND beside it deals them out."""
    allowed = set(machine.allowed)
    kept = [(p,) for p in processors if p in allowed]
    notes = left_out(set(processors) - allowed)
    if bind == "false":
        kept = []
        notes.append("OMP_PROC_BIND is false")
    if not kept:
        return Outcome(
            (tuple(sorted(allowed)),) * threads, (*notes, "no processor of the list is left: nothing is bound")
        )
    return Outcome(tuple(kept[i] for i in order(bind, len(kept), threads)), tuple(notes))


def gnu_places(machine: Machine, places: Places | None) -> tuple[list[tuple[int, ...]], list[str]]:
    """libgomp's list of places for an OMP_PLACES; without one, single hardware threads."""
    if places is not None and places.kind is None:
        return explicit_places(places, set(machine.allowed))
    kind = "thread" if places is None else places.kind
    if kind == "ll_cache":
        # libgomp 12 reads the first processor's cache again and again, as its differential test shows
        groups = sorted((tuple(sorted(g)) for g in last_level_caches(machine)), key=lambda g: g[0])
        if len(groups) > 1:
            return groups[:1], ["libgomp 12 finds only the first last-level cache: all threads share its processors"]
        found = groups
    elif kind == "numa_domain":
        found = [tuple(sorted(g)) for g in objects(machine, "numa")] or [tuple(sorted(machine.allowed))]
    elif kind in ("thread", "core", "socket"):
        found = _nested(machine, kind)
    else:
        return [], [f"libgomp does not know OMP_PLACES={kind}s: it ignores it"]
    limit = None if places is None else places.limit
    notes = [f"there are {len(found)} places, not {limit}"] if limit is not None and limit > len(found) else []
    return found[:limit], notes


def _nested(machine: Machine, kind: str) -> list[tuple[int, ...]]:
    """Sockets by their lowest processor, in each the cores likewise, in each the processors."""
    cores = [tuple(sorted(c)) for c in objects(machine, "core")]
    sockets = sorted(sorted(s) for s in objects(machine, "package") or [machine.allowed])
    if kind == "socket":
        return [tuple(s) for s in sockets]
    number = {p: i for i, socket in enumerate(sockets) for p in socket}
    cores.sort(key=lambda core: (number[core[0]], core[0]))
    return cores if kind == "core" else [(p,) for core in cores for p in core]


def apply_gnu_places(machine: Machine, places: Places | None, bind: str | None, threads: int) -> Outcome:
    """Where libgomp puts the threads of the outermost parallel region for OMP_PLACES and OMP_PROC_BIND."""
    everything = tuple(sorted(machine.allowed))
    if bind == "false" or (bind is None and places is None):
        return Outcome((everything,) * threads, ("OMP_PROC_BIND is false: nothing is bound",) if places else ())
    found, notes = gnu_places(machine, places)
    if not found:
        return Outcome((everything,) * threads, (*notes, "no place is left: nothing is bound"))
    return Outcome(tuple(found[i] for i in order(bind or "true", len(found), threads)), tuple(notes))


def order(bind: str, places: int, threads: int) -> list[int]:
    """The place of each thread, by the rules of gomp_team_start; `true` is as `close`."""
    if bind == "primary":
        return [0] * threads
    if threads > places:
        share, rest = divmod(threads, places)
        return [place for place in range(places) for _ in range(share)] + list(range(rest))
    if bind != "spread":
        return list(range(threads))
    share, rest = divmod(places, threads)
    return [i * share + min(i, rest) for i in range(threads)]


def write_gomp(machine: Machine, places: Sequence[tuple[int, ...]]) -> Said:
    """`GOMP_CPU_AFFINITY` with a processor for each thread; raises CannotSayError where a thread may use several."""
    numbers = single("GOMP_CPU_AFFINITY", places)
    return Said({"OMP_NUM_THREADS": str(len(places)), "GOMP_CPU_AFFINITY": ",".join(map(str, numbers))})
