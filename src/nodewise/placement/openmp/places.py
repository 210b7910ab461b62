# SPDX-License-Identifier: BSD-3-Clause
"""OMP_PLACES and OMP_PROC_BIND, as OpenMP 5.2 has them (section 21.1.6), and where they put threads.

The specification leaves some of it to the runtime; modelled is Intel's (and LLVM's), and GNU's where `gnu` is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.placement.dialect import Outcome
from nodewise.placement.layers import CORES, KINDS, Layers, Row
from nodewise.placement.openmp.affinity import float_levels
from nodewise.placement.openmp.lengths import longest
from nodewise.placement.openmp.teams import kmp, order
from nodewise.placement.placement import PlaceList
from nodewise.placement.rendering import left_out
from nodewise.placement.scan import Scanner

_ABSTRACT = {
    "threads": "thread",
    "cores": "core",
    "numa_domains": "numa_domain",
    "ll_caches": "ll_cache",
    "sockets": "socket",
    "dice": "die",
    **{f"{kind}s": kind for kind in KINDS if kind != "die"},
}
#: What makes a place of all cores of a kind.
_OF_KINDS = {"core_types": "core_type", "core_effs": "core_eff"}
BINDS = ("false", "true", "primary", "master", "close", "spread")

#: More places, or processors of one place, than a list may be spelt to have.
MOST_PLACES = 1 << 16


@dataclass(frozen=True)
class Interval:
    """`count` numbers from `start` on, `stride` apart."""

    start: int
    count: int = 1
    stride: int = 1


@dataclass(frozen=True)
class Place:
    """One entry of an explicit list: its intervals, how often it is repeated and how far apart, and whether it is excluded."""

    members: tuple[Interval, ...]
    count: int | None = None
    stride: int = 1
    excluded: bool = False


@dataclass(frozen=True)
class Places:
    """An OMP_PLACES as read: an abstract name with a limit, or a list. `cores` names those of one kind, as in a subset.

    A limit with a `stride` takes every so manieth object, going round; the first comes after the last.
    """

    kind: str | None = None
    limit: int | None = None
    stride: int | None = None
    entries: tuple[Place, ...] = ()
    cores: str = ""


def read_places(text: str, runtime: str = "intel") -> Places:
    """Read a value of OMP_PLACES as `intel` or `llvm` does. Raises InputError with the column."""
    scanner = Scanner("OMP_PLACES", text)
    newer = runtime != "llvm"
    if scanner.peek().isalpha():
        if scanner.at:
            # the runtimes pass over blanks before a list, and not before a name
            raise scanner.error("an abstract name without a blank before it", 0)
        if scanner.peek(32).lower() in BINDS:
            raise scanner.error("an abstract name or a list; what is there belongs to OMP_PROC_BIND")
        known = _ABSTRACT | _OF_KINDS if newer else _ABSTRACT
        word = scanner.choice(known, "an abstract name or a list")
        limit, stride, cores = None, None, ""
        if newer and known[word] == "core" and scanner.take(":"):
            cores = scanner.word(CORES)
            if not cores:
                raise scanner.error("intel_core, intel_atom or effN")
        if scanner.take("("):
            # none is as good as no limit, and so with the stride
            if scanner.peek() not in tuple(":)"):
                limit = scanner.number("how many places") or None
            if newer and scanner.take(":"):
                stride = 1 if scanner.peek() == ")" else scanner.number("how far places are apart") or 1
            scanner.need(")")
        scanner.end("'(' or the end" if limit is None else "the end")
        return Places(known[word], limit, stride, cores=cores)
    entries = [_entry(scanner)]
    while not scanner.done:
        scanner.need(",", "',', ':' or the end")
        entries.append(_entry(scanner))
    return Places(entries=tuple(entries))


def _entry(scanner: Scanner) -> Place:
    excluded = False
    while scanner.take("!"):
        excluded = not excluded
    members = []
    if scanner.take("{"):
        while True:
            members.append(_interval(scanner))
            if scanner.take("}"):
                break
            scanner.need(",", "',', ':' or '}'")
    else:
        members.append(Interval(scanner.number("an abstract name, a processor's number, '{' or '!'")))
    count, stride = None, 1
    if scanner.take(":"):
        start = scanner.at
        count = scanner.number("how many places")
        if count > MOST_PLACES:
            raise scanner.error(f"at most {MOST_PLACES} places", start)
        if scanner.take(":"):
            stride = scanner.signed("a stride")
    return Place(tuple(members), count, stride, excluded)


def _interval(scanner: Scanner) -> Interval:
    start = scanner.number("a processor's number")
    count, stride = 1, 1
    if scanner.take(":"):
        at = scanner.at
        count = scanner.number("how many processors")
        if count > MOST_PLACES:
            raise scanner.error(f"at most {MOST_PLACES} processors", at)
        if scanner.take(":"):
            stride = scanner.signed("a stride")
    return Interval(start, count, stride)


def read_bind(text: str) -> tuple[str, ...]:
    """Read a value of OMP_PROC_BIND: the policies of the levels of parallel regions, from the outermost on. Raises InputError where it is none."""
    scanner = Scanner("OMP_PROC_BIND", text)
    found = []
    while True:
        if scanner.peek(32).split(",")[0].strip().lower() in _ABSTRACT:
            raise scanner.error(f"how threads are bound ({', '.join(BINDS)}); what is there belongs to OMP_PLACES")
        found.append(scanner.choice(BINDS, "how threads are bound"))
        if scanner.done:
            break
        scanner.need(",")
    if len(found) > 1 and not {"true", "false"}.isdisjoint(found):
        raise InputError(
            f"OMP_PROC_BIND={text!r}: true and false stand alone", "name a policy for each level of nesting"
        )
    return tuple("primary" if word == "master" else word for word in found)


def place_list(layers: Layers, places: Places) -> tuple[list[tuple[int, ...]], list[str]]:
    """The places that a text names on these layers, in order, and what to know of them."""
    if places.kind is not None:
        groups, notes = _of_level(layers, places.kind)
        if places.cores and len(layers.core_kinds) < 2:
            notes.append(f"all cores of this machine are of one kind: {places.cores} is ignored")
        elif places.cores:
            kept = {row.processor for row in layers.rows if layers.is_of(row, places.cores)}
            groups = [group for group in groups if kept.issuperset(group)]
        if places.limit is not None and places.limit > len(groups):
            notes.append(f"there are {len(groups)} places, not {places.limit}")
        if places.stride is not None:
            count = len(groups)
            groups = [groups[i * places.stride % count] for i in range(min(places.limit or count, count))]
        return groups[: places.limit], notes
    return _explicit(places, {r.processor: group for group in layers.groups(0) for r in group}, set(layers.beyond))


def processors_of_count(layers: Layers, places: Places) -> int | None:
    """How many processors the places of an abstract name have, where it says how many there are of them; else None."""
    if places.kind is None or (places.limit is None and places.stride is None):
        return None
    return len({p for place in place_list(layers, places)[0] for p in place})


def _of_level(layers: Layers, kind: str | int) -> tuple[list[tuple[int, ...]], list[str]]:
    kinds = dict.fromkeys(row.core_kind for row in layers.rows)
    if kind in _OF_KINDS.values() and len(kinds) > 1:
        return [tuple(sorted(row.processor for row in layers.rows if row.core_kind == one)) for one in kinds], []
    levels, _, notes = float_levels(layers, kind)
    return [tuple(sorted(r.processor for r in group)) for group in layers.groups(levels)], notes


def _explicit(places: Places, known: dict[int, list[Row]], beyond: set[int]) -> tuple[list[tuple[int, ...]], list[str]]:
    """The places of an explicit list, of processors that are known, and what to know of them.

    A processor comes with those that the runtime does not tell apart from it, as where it takes two layers for one.
    A place that excludes all of them is there, and empty. Raises InputError where they are more than `MOST_PLACES`, and
    where reading them ends the program.
    """
    found: list[tuple[int, ...]] = []
    missing: set[int] = set()
    for entry in places.entries:
        found += _expanded(entry, known, beyond or set(known), missing)
        if len(found) > MOST_PLACES:
            raise InputError(f"OMP_PLACES names more than {MOST_PLACES} places", "name fewer")
    return found, left_out(missing)


def _expanded(
    entry: Place, known: dict[int, list[Row]], everything: set[int], missing: set[int]
) -> list[tuple[int, ...]]:
    place: set[int] = set()
    for interval in entry.members:
        for i in range(interval.count if interval.stride else min(1, interval.count)):
            p = interval.start + i * interval.stride
            if p < 0:
                raise InputError(
                    f"OMP_PLACES: counting {interval.count} from {interval.start} by {interval.stride} comes to processor {p}, "
                    "where Intel's and LLVM's runtimes crash",
                    "end the interval at processor 0",
                )
            if p not in known:
                missing.add(p)
                break
            place.update(row.processor for row in known[p])
    if not place:
        return []
    if entry.excluded:
        place = everything - place
    count = 1 if entry.count is None else entry.count
    found = []
    for i in range(count):
        if not place and i:
            break
        found.append(tuple(sorted(place)))
        moved = {p + entry.stride for p in place & known.keys()}
        if i + 1 < count:
            missing |= moved - known.keys()
        place = moved & known.keys()
    return found


def apply_places(
    layers: Layers,
    places: Places | None,
    binds: Sequence[str],
    levels: Sequence[int],
    granularity: str | int | None = None,
) -> Outcome:
    """Where the threads of the innermost teams go, of which each level has so many threads; `true` is spread.

    `binds` are the policies of the levels, none where OMP_PROC_BIND is not set. Without `places` they are of KMP_AFFINITY's granularity, which by itself is cores.
    Raises InputError where a thread gets a place without processors.
    """
    everything = tuple(sorted(r.processor for r in layers.rows))
    threads = prod(levels)
    if binds[:1] == ("false",) or (not binds and places is None):
        return Outcome((everything,) * threads, ("OMP_PROC_BIND is false: nothing is bound",) if places else ())
    found, notes = _of_level(layers, granularity or "core") if places is None else place_list(layers, places)
    if not found:
        return Outcome((everything,) * threads, (*notes, "no place is left: nothing is bound"))
    taken = tuple(found[i] for i in order(kmp, binds or ("true",), len(found), levels))
    if () in taken:
        raise InputError(
            f"OMP_PLACES: place {found.index(()) + 1} excludes all processors, and Intel's and LLVM's runtimes end the program "
            "where they bind a thread to it",
            "leave it out",
        )
    return Outcome(taken, tuple(notes), PlaceList(tuple(found), tuple(binds)) if len(binds) > 1 else None)


def openmp_environment(
    places: Sequence[tuple[int, ...]], levels: Sequence[int] = (), inner: PlaceList | None = None
) -> dict[str, str]:
    """The variables by which any OpenMP runtime places threads so: an explicit OMP_PLACES list that threads take in order.

    With `levels`, how many threads a team of each level has, the threads are those of the innermost teams: `spread` hands
    each outer thread the places of its inner team. With `inner` the team is the outermost, by the rules of one runtime.
    """
    if inner is not None:
        binds = ",".join(inner.binds)
        return {"OMP_NUM_THREADS": str(len(places)), "OMP_PLACES": _listed(inner.places), "OMP_PROC_BIND": binds}
    levels = levels or (len(places),)
    nested = {"OMP_MAX_ACTIVE_LEVELS": str(len(levels))} if len(levels) > 1 else {}
    binds = ",".join([*["spread"] * (len(levels) - 1), "close"])
    count = ",".join(map(str, levels))
    return {"OMP_NUM_THREADS": count, **nested, "OMP_PLACES": _listed(tuple(places)), "OMP_PROC_BIND": binds}


@lru_cache(maxsize=64)
def _listed(places: tuple[tuple[int, ...], ...]) -> str:
    """A list of places, where `{a}:n:s` stands for three or more places that are `s` apart.

    One that is longer than Intel's runtime reads is written as short as the runtimes' common grammar has it.
    """
    text = _joined(places)
    most = longest("OMP_PLACES")
    return text if most is None or len(text) <= most else _joined(places, short=True)


def _joined(places: Sequence[tuple[int, ...]], short: bool = False) -> str:
    parts: list[str] = []
    at = 0
    while at < len(places):
        run = at + 1
        apart = 0
        while run < len(places):
            step = places[run][0] - places[run - 1][0]
            if (
                (step == 0 and not short)
                or (run > at + 1 and step != apart)
                or tuple(p + step for p in places[run - 1]) != places[run]
            ):
                break
            apart = step
            run += 1
        if run - at < 3:
            run, repeat = at + 1, ""
        else:
            repeat = f":{run - at}" + (f":{apart}" if apart != 1 else "")
        parts.append((_shortest(places[at]) if short else _braced(places[at])) + repeat)
        at = run
    return ",".join(parts)


def _shortest(place: tuple[int, ...]) -> str:
    """The place by intervals: from its lowest processor on the longest whose processors it has, and so on for the rest."""
    left = set(place)
    parts = []
    while left:
        first = min(left)
        best = (1, 1)
        for second in sorted(left - {first}):
            stride = second - first
            if (max(left) - first) // stride + 1 <= best[0]:
                break
            count = 2
            while first + count * stride in left:
                count += 1
            best = max(best, (count, -stride))
        count, stride = best[0], abs(best[1])
        # two are as short by themselves
        count = count if count > 2 else 1
        left -= {first + i * stride for i in range(count)}
        parts.append(str(first) if count == 1 else f"{first}:{count}" + (f":{stride}" if stride != 1 else ""))
    return "{" + ",".join(parts) + "}"


def _braced(place: tuple[int, ...]) -> str:
    steps = {b - a for a, b in pairwise(place)}
    if len(place) < 3 or len(steps) != 1:
        return "{" + ",".join(map(str, place)) + "}"
    step = steps.pop()
    return "{" + f"{place[0]}:{len(place)}" + (f":{step}" if step != 1 else "") + "}"
