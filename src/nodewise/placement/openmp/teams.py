# SPDX-License-Identifier: BSD-3-Clause
"""Teams of OpenMP threads on a list of places: where each thread goes, and which places are left to its own inner team.

OpenMP 5.2, section 10.1.3, has the rules; what it leaves open is done as gomp_team_start of GNU's libgomp 12 and
__kmp_partition_places of Intel's and LLVM's runtimes do, which the tests ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Seat(NamedTuple):
    """A thread's place, and the partition that its inner team is placed in: `size` places from `first` on.

    All are numbers in the list of places, after whose last the first comes.
    """

    place: int
    first: int
    size: int


#: Seats of a team of so many threads under a policy, on a list of so many places, whose first thread sits already.
Rule = Callable[[str, Seat, int, int], list[Seat]]


def order(rule: Rule, binds: Sequence[str], places: int, levels: Sequence[int]) -> list[int]:
    """The place of each thread of the innermost teams, team after team, of which each level has so many threads.

    `binds` are the policies of the levels; one without a policy of its own has that of the level before.
    """
    seats = [Seat(0, 0, places)]
    for bind, threads in zip(_in_force(binds, levels, carried=rule is kmp), levels, strict=True):
        # a team of one is none: its thread stays, and keeps its partition
        seats = seats if threads == 1 else [s for seat in seats for s in rule(bind, seat, threads, places)]
    return [seat.place for seat in seats]


def _in_force(binds: Sequence[str], levels: Sequence[int], carried: bool) -> list[str]:
    """The policy of each level.

    Where it is `carried` from level to level, as in Intel's and LLVM's runtimes, of teams of one within each other only the
    outermost hands on the next level's.
    """
    if not carried:
        return [binds[min(level, len(binds) - 1)] for level in range(len(levels))]
    found = [binds[0]]
    for level in range(1, len(levels)):
        alone = levels[level - 1] == 1 and level > 1 and levels[level - 2] == 1
        found.append(found[-1] if alone or level >= len(binds) else binds[level])
    return found


def gnu(bind: str, first: Seat, threads: int, places: int) -> list[Seat]:
    """By libgomp: `true` is as `close`; more threads than places fill one place after the other, those left over start again."""
    if bind == "primary":
        return [first] * threads
    end = first.first + first.size
    place, together, rest = first.place, 1, 0
    if threads > first.size:
        together, rest = divmod(threads, first.size)
    elif bind == "spread":
        return _gnu_spread(first, threads)
    apart = bind == "spread"
    found = [Seat(place, place, 1) if apart else first]
    here = 1
    for thread in range(1, threads):
        if here == together:
            place = place + 1 if place + 1 < end else first.first
            here = 1
            if thread == threads - rest:
                together = 1
        else:
            here += 1
        found.append(Seat(place, place, 1) if apart else Seat(place, first.first, first.size))
    return found


def _gnu_spread(first: Seat, threads: int) -> list[Seat]:
    """A part of the partition each, its first place to whoever is not there yet; the parts before `border` are one larger."""
    size, rest = divmod(first.size, threads)
    border = first.first + (size + 1) * rest
    end = first.first + first.size
    larger = first.place < border
    place = first.place - ((first.place - first.first) % (size + 1) if larger else (first.place - border) % size)
    found = [Seat(first.place, place, size + larger)]
    for _ in range(1, threads):
        place += size + (place < border)
        if place == end:
            place = first.first
        found.append(Seat(place, place, size + (place < border)))
    return found


def kmp(bind: str, first: Seat, threads: int, places: int) -> list[Seat]:
    """By Intel's and LLVM's runtimes: `true` is as `spread`."""
    if bind == "primary":
        return [first] * threads
    spread = bind != "close"
    if threads > first.size:
        numbers = dealt(first.size, threads)
        at = [_after(first, n, places) for n in numbers]
        return [Seat(p, p, 1) if spread else Seat(p, first.first, first.size) for p in at]
    if not spread:
        return [Seat(_after(first, n, places), first.first, first.size) for n in range(threads)]
    return _kmp_spread_all(first, threads) if first.size == places else _kmp_spread_part(first, threads, places)


def _after(first: Seat, steps: int, places: int) -> int:
    """The place so many after the first thread's, within its partition."""
    inside = (first.place - first.first) % places
    return (first.first + (inside + steps) % first.size) % places


def _kmp_spread_part(first: Seat, threads: int, places: int) -> list[Seat]:
    """Over a part of the places: as many each, and one more to as many as there are over, spread out."""
    size, rest = divmod(first.size, threads)
    apart = threads // rest if rest else 1
    since, steps = apart, 0
    found = []
    for _ in range(threads):
        count = size
        if rest and since == apart:
            count += 1
            rest -= 1
            since = 0
        since += 1
        place = _after(first, steps, places)
        found.append(Seat(place, place, count))
        steps += count
    return found


def _kmp_spread_all(first: Seat, threads: int) -> list[Seat]:
    """Over all places: by a running sum of floating-point numbers, and its rounding."""
    places = first.size
    apart, at = (places + 1) / threads, float(first.place)
    found = []
    for _ in range(threads):
        start, last = int(at), int(at + apart) - 1
        if start >= places:
            if first.place:
                start, last = start - places, last - places
                start -= start == first.place + 1
                last -= last == first.place
            else:
                start = last = 0
        last = min(last, places - 1)
        found.append(Seat(start, start, last - start + 1))
        at += apart
    return found


def dealt(places: int, threads: int) -> list[int]:
    """Which place each of more threads than places gets: neighbours share one, the few that are left over spread out."""
    each, left = divmod(threads, places)
    apart = places // left if left else places
    found: list[int] = []
    since = apart
    for place in range(places):
        share = each
        if left and since == apart:
            share += 1
            left -= 1
            since = 0
        since += 1
        found += [place] * share
    return found
