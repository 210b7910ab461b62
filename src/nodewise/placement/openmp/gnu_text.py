# SPDX-License-Identifier: BSD-3-Clause
"""What GNU's OpenMP runtime (libgomp 12) makes of the texts of OMP_PLACES and GOMP_CPU_AFFINITY: its own grammar.

A number may have a sign and is taken modulo 2^64, as the C library reads it. A list is refused whole, with a message and no
more, where a part of it cannot be; what the runtime then does instead is in `gnu`.
"""

from __future__ import annotations

import re

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.late import late
from nodewise.base.meant import meant
from nodewise.placement.scan import Scanner

#: The kinds of objects that it knows by name.
KINDS = {
    "threads": "thread",
    "cores": "core",
    "sockets": "socket",
    "ll_caches": "ll_cache",
    "numa_domains": "numa_domain",
}
#: One more than the highest number in GOMP_CPU_AFFINITY, and the most places of one OMP_PLACES.
MOST = 1 << 16
_LONG = 1 << 64
_DECIMAL = late(r"[+-]?[0-9]+")
_ANY_BASE = late(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")


@dataclass(frozen=True)
class Members:
    """`count` numbers from `start` on, `stride` apart, which belong to a place, or where `excluded` do not."""

    start: int
    count: int = 1
    stride: int = 1
    excluded: bool = False


@dataclass(frozen=True)
class Entry:
    """A place, `count` times, each `stride` further on; or where `removed` one that is taken out of the list."""

    members: tuple[Members, ...]
    count: int = 1
    stride: int = 1
    removed: bool = False


@dataclass(frozen=True)
class GnuPlaces:
    """An OMP_PLACES as read: an abstract name with a limit, or a list."""

    kind: str | None = None
    limit: int | None = None
    entries: tuple[Entry, ...] = ()


def _number(scanner: Scanner, expected: str, pattern: re.Pattern[str] = _DECIMAL) -> int:
    """An integer as strtoul reads it, which passes over white space and takes a sign; below 2^64."""
    scanner.skip_space()
    match = pattern.match(scanner.text, scanner.at)
    digits = "" if match is None else match[0].lstrip("+-")
    if match is None or len(digits.lstrip("0")) > 22:
        raise scanner.error(expected)
    base = 10 if pattern is _DECIMAL else 16 if digits[:2].lower() == "0x" else 8 if digits[0] == "0" else 10
    value = int(digits, base)
    if value >= _LONG:
        raise scanner.error(f"{expected} below 2^64")
    scanner.at = match.end()
    return -value % _LONG if match[0][0] == "-" else value


def _signed(scanner: Scanner, expected: str) -> int:
    start = scanner.at
    value = _number(scanner, expected)
    negative = scanner.text[start : scanner.at].strip().startswith("-")
    value = value - _LONG if negative and value else value
    if not -_LONG // 2 <= value < _LONG // 2:
        raise scanner.error(f"{expected} below 2^63", start)
    return value


def read_gomp(text: str) -> tuple[int, ...]:
    """The processors of a GOMP_CPU_AFFINITY, in order: `0 3 1-2 4-15:2`, parted by blanks or commas.

    `0x` leads hexadecimal numbers and `0` octal ones. Raises InputError with the column.
    """
    scanner = Scanner("GOMP_CPU_AFFINITY", text)
    found: list[int] = []
    while True:
        start = scanner.at
        first = last = _number(scanner, "a processor's number", _ANY_BASE)
        stride = 1
        # a range is written without blanks before its marks
        if scanner.text[scanner.at : scanner.at + 1] == "-":
            scanner.at += 1
            last = _number(scanner, "the number at which the range ends", _ANY_BASE)
            if scanner.text[scanner.at : scanner.at + 1] == ":":
                scanner.at += 1
                stride = _number(scanner, "a stride", _ANY_BASE)
        if not first <= last < MOST or not 1 <= stride < MOST:
            raise scanner.error(f"a range that runs upwards, below {MOST}", start)
        found += range(first, last + 1, stride)
        if not scanner.take(",") and scanner.done:
            return tuple(found)


def read_gnu_places(text: str) -> GnuPlaces:
    """Read a value of OMP_PLACES as libgomp does. Raises InputError with the column where it refuses the whole of it."""
    scanner = Scanner("OMP_PLACES", text)
    scanner.skip_space()
    low = text[scanner.at : scanner.at + 12].lower()
    name = next((name for name in KINDS if low.startswith(name)), None)
    if name is not None:
        scanner.at += len(name)
        limit = None
        if not scanner.done:
            scanner.need("(", "'(' or the end")
            limit = _number(scanner, "how many places")
            scanner.need(")")
            scanner.end()
        return GnuPlaces(KINDS[name], limit)
    if scanner.peek().isalpha() or scanner.done:
        word = text[scanner.at :].partition("(")[0].strip()
        raise scanner.error(f"one of {', '.join(KINDS)}, or a list", meant=meant(word, KINDS))
    entries: list[Entry] = []
    count = 0
    while True:
        start = scanner.at
        entry = _entry(scanner)
        # all that are taken out count as one
        count += entry.count if not entry.removed else not any(e.removed for e in entries)
        if count > MOST:
            raise scanner.error(f"at most {MOST} places", start)
        entries.append(entry)
        # blanks after a place are read with it
        if scanner.at >= len(text):
            return GnuPlaces(entries=tuple(entries))
        scanner.need(",", "',', ':' or the end")


def _entry(scanner: Scanner) -> Entry:
    removed = scanner.take("!")
    members: list[Members] = []
    if scanner.take("{"):
        scanner.skip_space()
        while True:
            members.append(_members(scanner))
            if scanner.take("}"):
                break
            scanner.need(",", "',', ':' or '}'")
    else:
        members.append(Members(_number(scanner, "a processor's number, '{' or '!'")))
    scanner.skip_space()
    count, stride = 1, 1
    if not removed and scanner.take(":"):
        start = scanner.at
        count = _number(scanner, "how many places")
        if not 1 <= count < MOST:
            raise scanner.error(f"from 1 to {MOST - 1} places", start)
        if scanner.take(":"):
            stride = _signed(scanner, "a stride")
        scanner.skip_space()
    return Entry(tuple(members), count, stride, removed)


def _members(scanner: Scanner) -> Members:
    # behind a comma it has to stand at once
    excluded = scanner.text[scanner.at : scanner.at + 1] == "!" and scanner.take("!")
    if not excluded and scanner.peek() == "!":
        raise scanner.error("'!' without a blank before it")
    first = _number(scanner, "a processor's number")
    count, stride = 1, 1
    if scanner.take(":"):
        start = scanner.at
        count = _number(scanner, "how many processors")
        if count == 0:
            raise scanner.error("at least one processor", start)
        if scanner.take(":"):
            stride = _signed(scanner, "a stride")
    if excluded and count != 1:
        raise scanner.error("a single number after '!'")
    return Members(first, count, stride, excluded)


def expand(places: GnuPlaces, top: int, usable: set[int]) -> tuple[list[tuple[int, ...]], int]:
    """The places of a list, of processors that are usable, and how many had none of those.

    `top` is one more than the highest number that the runtime has room for. Raises InputError where it refuses the list.
    """
    found: list[frozenset[int]] = []
    for entry in places.entries:
        place = _place(entry, top)
        if entry.removed:
            if place not in found:
                raise _refused(f"the place {_shown(place)} is to be taken out, and no place before it is equal")
            found.remove(place)
            continue
        found.append(place)
        for _ in range(entry.count - 1):
            beyond = [p for p in place if not 0 <= p + entry.stride < top]
            if beyond:
                raise _refused(f"processor {min(beyond)}{entry.stride:+d} is out of the range 0 to {top - 1}")
            place = frozenset(p + entry.stride for p in place)
            found.append(place)
    kept = [tuple(sorted(place & usable)) for place in found if place & usable]
    if not kept:
        raise _refused("no place has a processor that may be used")
    return kept, len(found) - len(kept)


def _place(entry: Entry, top: int) -> frozenset[int]:
    place: set[int] = set()
    for members in entry.members:
        if not members.excluded:
            # a number beyond the range is refused, however many are asked for
            last = members.start + (members.count - 1) * members.stride
            if not (members.start < top and 0 <= last < top):
                raise _refused(f"processor {members.start if members.start >= top else last} is out of 0 to {top - 1}")
            place.update(members.start + i * members.stride for i in range(members.count if members.stride else 1))
    for members in entry.members:
        if members.excluded:
            if members.start not in place:
                raise _refused(f"processor {members.start} is to be taken out of a place that does not have it")
            place.remove(members.start)
    return frozenset(place)


def _shown(place: frozenset[int]) -> str:
    return "{" + ",".join(map(str, sorted(place))) + "}"


def _refused(why: str) -> InputError:
    return InputError(f"OMP_PLACES: {why}", "GNU's runtime then ignores the whole list")
