# SPDX-License-Identifier: BSD-3-Clause
"""likwid-pin's processor expressions: an ordered list, one processor a thread.

They are those of likwid 5.4's page likwid-pin, and what 5.2.2 answered for a machine of two processors. Where 5.2 does
otherwise than 5.4's page has it, a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Outcome, Places, Text, ThreadReader, Trap
from nodewise.placement.objects import last_level_caches, objects, primary_order
from nodewise.placement.placement import Placement
from nodewise.placement.rendering import Rendering, single
from nodewise.placement.scan import Scanner

if TYPE_CHECKING:
    from nodewise.placement.resolve import Request

#: More processors than one expression may name.
_MOST = 1 << 16
_DOMAINS = "N, S<n> (socket), D<n> (die), C<n> (last-level cache) or M<n> (NUMA node)"
_SPREADS = ("scatter", "balanced", "cbalanced")


def _domains(machine: Machine, letter: str) -> list[tuple[int, ...]]:
    if letter == "N":
        return [machine.allowed]
    if letter == "C":
        return last_level_caches(machine)
    kind = {"S": "package", "D": "die", "M": "numa"}[letter]
    found = objects(machine, kind)
    # a machine without dies has one a socket, and one without sockets is one
    return found or objects(machine, "package") or [machine.allowed]


def read_likwid(machine: Machine, text: str) -> tuple[list[int], list[str]]:
    """The processors that an expression lists, in order, and notes. Raises InputError with the column."""
    scanner = Scanner("likwid expression", text)
    found: list[int] = []
    notes: list[str] = []
    while True:
        found += _expression(machine, scanner, notes)
        if len(found) > _MOST:
            raise scanner.error(f"an expression of at most {_MOST} processors")
        if scanner.done:
            break
        scanner.need("@", "',', '@' or the end")
    allowed = set(machine.allowed)
    wrong = sorted({p for p in found if p not in allowed})
    if wrong:
        raise InputError(
            f"likwid expression {text!r}: processors {format_processors(wrong)} are not there or not allowed",
            f"allowed are {format_processors(allowed)}",
        )
    twice = len(found) - len(set(found))
    return found, [*notes, f"{twice} entries name a processor that another entry names too"] if twice else notes


def _expression(machine: Machine, scanner: Scanner, notes: list[str]) -> list[int]:
    if scanner.peek(2).upper() == "E:":
        scanner.at += 2
        return _by_pattern(scanner, _domain(machine, scanner), notes)
    if scanner.peek(2).upper() == "L:":
        scanner.at += 2
        if scanner.peek().isdigit():
            notes.append("likwid 5.2 refuses L: without a domain, which 5.4's manual has: write L:N:")
            domain = machine.allowed
        else:
            domain = _domain(machine, scanner, ":")
        return _by_index(scanner, primary_order(machine, domain))
    if scanner.peek().isdigit():
        return _numbers(scanner)
    match = re.compile(r"([NSDCM]):(?=[A-Za-z])").match(scanner.text, scanner.at)
    if match:
        scanner.at = match.end()
        return _spread(machine, scanner, _domains(machine, match[1]), notes)
    # a domain and indexes in it, which older versions take without the L
    return _by_index(scanner, primary_order(machine, _domain(machine, scanner, ":")))


def _domain(machine: Machine, scanner: Scanner, after: str = ":") -> tuple[int, ...]:
    start = scanner.at
    letter = scanner.word(r"[A-Za-z]").upper()
    if letter not in "NSDCM" or not letter:
        raise scanner.error(f"a number or a domain: {_DOMAINS}", start)
    found = _domains(machine, letter)
    number = 0
    if letter != "N":
        number = scanner.number(f"the number of the domain {letter}")
    if number >= len(found):
        raise scanner.error(f"a domain {letter} from 0 to {len(found) - 1}", start)
    scanner.need(after, f"{after!r} after the domain")
    return found[number]


def _numbers(scanner: Scanner) -> list[int]:
    found: list[int] = []
    while True:
        start = scanner.at
        found += scanner.upward_range("a number")
        if len(found) > _MOST:
            raise scanner.error(f"a list of at most {_MOST} numbers", start)
        if not scanner.take(","):
            return found


def _by_index(scanner: Scanner, domain: Sequence[int]) -> list[int]:
    start = scanner.at
    indexes = _numbers(scanner)
    if max(indexes) >= len(domain):
        raise scanner.error(f"indexes from 0 to {len(domain) - 1}, which the domain has", start)
    return [domain[i] for i in indexes]


def _by_pattern(scanner: Scanner, domain: Sequence[int], notes: list[str]) -> list[int]:
    """`threads[:chunk:stride]`: so many in a row, the next row `stride` entries on, from the start again at the end.

    The list has no more entries than the domain processors.
    """
    start = scanner.at
    threads = scanner.number("how many threads")
    chunk = stride = 1
    if scanner.take(":"):
        chunk = scanner.number("how many in a row")
        scanner.need(":", "':' and the stride")
        stride = scanner.number("the stride")
    if not (1 <= threads <= _MOST and 1 <= chunk <= len(domain) and stride >= 1):
        raise scanner.error(f"1 to {_MOST} threads, rows of 1 to {len(domain)} and a stride from 1", start)
    threads = _at_most(threads, len(domain), notes)
    found: list[int] = []
    at = 0
    while len(found) < threads:
        found += [domain[(at + i) % len(domain)] for i in range(chunk)]
        # a lap that has ended starts over at the first entry
        at = at + stride if at + stride < len(domain) else 0
    return found[:threads]


def _at_most(threads: int, there: int, notes: list[str]) -> int:
    if threads > there:
        notes.append(
            f"likwid 5.2 lists the {there} processors of the domain, not {threads}: further threads start over"
        )
    return min(threads, there)


def _spread(machine: Machine, scanner: Scanner, domains: list[tuple[int, ...]], notes: list[str]) -> list[int]:
    how = scanner.choice(_SPREADS, "how to spread")
    total = sum(map(len, domains))
    count = total
    if scanner.take(":"):
        start = scanner.at
        count = _at_most(scanner.number("how many threads"), total, notes)
        if count == 0:
            raise scanner.error("at least one thread", start)
    if how == "scatter":
        lists = [primary_order(machine, domain) for domain in domains]
        longest = max(map(len, lists))
        return [one[i] for i in range(longest) for one in lists if i < len(one)][:count]
    each, rest = divmod(count, len(domains))
    found: list[int] = []
    for i, domain in enumerate(domains):
        ordered = primary_order(machine, domain) if how == "cbalanced" else list(domain)
        found += ordered[: each + (i < rest)]
    if len(found) < count:
        raise scanner.error(f"domains that all have {each + bool(rest)} processors")
    return found


def write_likwid(machine: Machine, places: Places) -> Rendering:
    """`likwid-pin -c LIST`; raises NotExpressibleError where a thread may use several processors."""
    return Rendering(words=("likwid-pin", "-c", _runs(single("likwid-pin", places))))


def _runs(numbers: Sequence[int]) -> str:
    """Numbers in their order, with ranges for runs upwards of three and more."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and n == parts[-1][-1] + 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 2 else ",".join(map(str, p)) for p in parts)


def _place(machine: Machine, threads: int, request: Request) -> Outcome:
    processors, notes = read_likwid(machine, request.texts["likwid"])
    return Outcome(tuple((processors[t % len(processors)],) for t in range(threads)), tuple(notes))


def _listed(machine: Machine, request: Request) -> int:
    return len(read_likwid(machine, request.texts["likwid"])[0])


def _traps(machine: Machine, placement: Placement, request: Request, environment: Mapping[str, str]) -> list[Trap]:
    if "likwid" not in environment.get("LD_PRELOAD", ""):
        return []
    return [Trap("second layer", "LD_PRELOAD has likwid's library, which binds threads as well", "unset it")]


DIALECT = Dialect(
    name="likwid",
    texts=(Text("likwid", "A likwid-pin expression, such as S0:0-3@S1:0-3 or E:N:8:1:2."),),
    threads=ThreadReader(_place, _listed),
    write_process=write_likwid,
    traps=_traps,
    pins={"LIKWID_PIN": "likwid-pin binds threads as they are created"},
)
