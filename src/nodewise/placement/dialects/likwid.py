# SPDX-License-Identifier: BSD-3-Clause
"""likwid-pin's processor expressions: an ordered list, one processor a thread.

They are read as likwid 5.0 to 5.5 read them, whose own code was asked (src/cpustring.c of 5.2.2 and of 5.4.1). Where their
page says otherwise, or versions differ, an error or a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Outcome, Places, Text, ThreadReader, Trap
from nodewise.placement.launcher_options import without_program
from nodewise.placement.objects import last_level_caches, numbered_objects, objects, primary_order
from nodewise.placement.placement import Placement
from nodewise.placement.rendering import NotExpressibleError, Rendering, single
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
    # its memory domains are the operating system's nodes
    found = [*numbered_objects(machine, kind).values()] if kind == "numa" else objects(machine, kind)
    # a machine without dies has one a socket, and one without sockets is one
    return found or objects(machine, "package") or [machine.allowed]


def read_likwid(machine: Machine, text: str) -> tuple[list[int], list[str]]:
    """The processors that an expression lists, in order, and notes. Raises InputError with the column."""
    text = without_program("likwid-pin", text, lambda word, before: before == 0)
    scanner = Scanner("likwid expression", text)
    # as it stands in a command line
    scanner.word(r"(likwid-pin\s+)?-[cC](?=[\s\w])")
    found: list[int] = []
    notes: list[str] = []
    whole, limit = "", len(machine.pus)
    while True:
        start = scanner.at
        part = _expression(machine, scanner, notes)
        written = scanner.text[start : scanner.at]
        if ":" not in written and written[:1].isalpha() and len(part) < limit:
            whole, limit = written, len(part)
        # what counts its threads by itself is not cut, nor are indexes
        if len(part) > limit and re.match(r"[Ee]:|\d|.:scatter$|[^:]*$", written):
            notes.append(
                f"likwid 5.0 to 5.5 list no more than {limit} entries of {written}, as {whole} stands before it"
            )
            part = part[:limit]
        found += part
        if len(found) > _MOST:
            raise scanner.error(f"an expression of at most {_MOST} processors")
        if scanner.done:
            break
        scanner.need("@", "',', '@' or the end")
    if not found:
        raise InputError(f"likwid expression {text!r} lists no processor", f"allowed are {_allowed(machine)}")
    if len(found) > len(machine.pus):
        notes.append(
            f"likwid 5.0 to 5.5 write {len(found)} entries, past the end of its list of "
            f"{len(machine.pus)}: likwid-pin may crash"
        )
    twice = len(found) - len(set(found))
    if twice:
        notes.append(
            f"{twice} {'entry names' if twice == 1 else 'entries name'} a processor that another entry names too"
        )
    return found, notes


def _allowed(machine: Machine) -> str:
    return format_processors(machine.allowed)


def _expression(machine: Machine, scanner: Scanner, notes: list[str]) -> list[int]:
    if scanner.peek(2) == "E:":
        scanner.at += 2
        return _by_pattern(machine, scanner, _domain(machine, scanner, notes), notes)
    if scanner.peek(2) == "L:":
        scanner.at += 2
        if scanner.peek().isdigit():
            raise scanner.error(
                "a domain, such as N: likwid 5.0 to 5.5 refuse L: without one, though their page has it"
            )
        domain = _domain(machine, scanner, notes)
        scanner.need(":", "':' after the domain")
        return _by_index(machine, scanner, domain, notes)
    if scanner.peek().isdigit():
        if set(machine.allowed) != set(machine.pus):
            notes.append("likwid counts numbers within the processors that it may use")
            return _by_index(machine, scanner, machine.allowed, notes)
        return _by_number(machine, scanner, notes)
    if re.compile(r"[SDCM]\d+:[A-Za-z]").match(scanner.text, scanner.at):
        one = _domain(machine, scanner, notes)
        scanner.need(":", "':' after the domain")
        return _spread(machine, scanner, [one], notes)
    match = re.compile(r"([NSDCM]):(?=[A-Za-z])").match(scanner.text, scanner.at)
    if match:
        scanner.at = match.end()
        return _spread(machine, scanner, _domains(machine, match[1]), notes)
    domain = _domain(machine, scanner, notes)
    # a domain by itself is all of it
    return _by_index(machine, scanner, domain, notes) if scanner.take(":") else list(domain)


def _domain(machine: Machine, scanner: Scanner, notes: list[str]) -> tuple[int, ...]:
    start = scanner.at
    letter = scanner.word(r"[A-Za-z]")
    if letter not in "NSDCM" or not letter:
        case = "; likwid takes no small letters" if letter and letter.upper() in "NSDCMEL" else ""
        raise scanner.error(f"a number or a domain: {_DOMAINS}{case}", start)
    found = _domains(machine, letter)
    number = 0
    if letter != "N":
        number = scanner.number(f"the number of the domain {letter}")
    if number >= len(found):
        other = f": likwid 5.4 takes {letter}{number} for {letter}{str(number)[0]}, other versions do not" * (
            number > 9
        )
        raise scanner.error(f"a domain {letter} from 0 to {len(found) - 1}{other}", start)
    if number > 9:
        notes.append(f"likwid 5.4 takes {letter}{number} for {letter}{str(number)[0]}; 5.2 and 5.5 do not")
    return found[number]


def _ranges(scanner: Scanner) -> list[int]:
    """Numbers and ranges, which may run downwards."""
    found: list[int] = []
    while True:
        start = scanner.at
        first = last = scanner.number("a number")
        if scanner.take("-"):
            last = scanner.number("the number at which the range ends")
        if abs(last - first) >= _MOST or len(found) > _MOST:
            raise scanner.error(f"a list of at most {_MOST} numbers", start)
        found += range(first, last + 1) if first <= last else range(first, last - 1, -1)
        if not scanner.take(","):
            return found


def _by_number(machine: Machine, scanner: Scanner, notes: list[str]) -> list[int]:
    """Processors by the operating system's numbers; likwid leaves out those that are not there."""
    start = scanner.at
    numbers = _ranges(scanner)
    down = re.search(r"(?<!\d)0*[1-9]\d*-0+(?!\d)", scanner.text[start : scanner.at])
    if down is not None:
        notes.append(f"likwid 5.5 runs past the end of its list at {down[0]}, a range down to 0; 5.2 and 5.4 do not")
    there = set(machine.pus)
    missing = sorted(set(numbers) - there)
    if missing:
        notes.append(f"likwid leaves out processors {format_processors(missing)}, which are not there")
    found = [n for n in numbers if n in there]
    if not found:
        raise scanner.error(f"processors that are there: {_allowed(machine)}", start)
    return found[: len(there)]


def _by_index(machine: Machine, scanner: Scanner, domain: Sequence[int], notes: list[str]) -> list[int]:
    """Indexes in a domain, whose cores come first and then their further hardware threads."""
    start = scanner.at
    indexes = _ranges(scanner)
    if len(indexes) > len(domain):
        raise scanner.error(f"at most {len(domain)} indexes: the domain has no more processors", start)
    beyond = sorted({i for i in indexes if i >= len(domain)})
    if beyond:
        notes.append(f"likwid counts on from the start for {format_processors(beyond)}: the domain has {len(domain)}")
    ordered = primary_order(machine, domain)
    return [ordered[i % len(ordered)] for i in indexes]


def _by_pattern(machine: Machine, scanner: Scanner, domain: Sequence[int], notes: list[str]) -> list[int]:
    """`[threads[:chunk:stride[:offset]]]`: so many in a row, the next row `stride` entries on, from the start again at the end.

    A row ends where the domain does. The list has no more entries than the machine hardware threads.
    """
    start = scanner.at
    threads, chunk, stride, offset = len(machine.allowed), 1, 1, 0
    if scanner.take(":"):
        start = scanner.at
        threads = scanner.number("how many threads")
        if scanner.take(":"):
            chunk = scanner.number("how many in a row")
            scanner.need(":", "':' and the stride")
            stride = scanner.number("the stride")
            if scanner.take(":"):
                offset = scanner.number("the offset")
    if not (1 <= threads <= _MOST and 1 <= chunk <= _MOST and 1 <= stride <= _MOST and offset < len(domain)):
        raise scanner.error(f"1 to {_MOST} threads, rows and a stride from 1, and an offset in the domain", start)
    most = len(machine.pus)
    if threads > most:
        notes.append(
            f"likwid 5.0 to 5.5 list no more entries than the machine's {most} processors: further threads start over"
        )
    found: list[int] = []
    at = 0
    while len(found) < min(threads, most):
        if offset and at + chunk > len(domain) - offset:
            raise scanner.error("rows that end within the domain: likwid reads past its end with this offset", start)
        found += domain[offset + at : offset + min(at + chunk, len(domain))]
        # a lap that has ended starts over at the first entry
        at = at + stride if offset + at + stride < len(domain) else 0
    return found[: min(threads, most)]


def _spread(machine: Machine, scanner: Scanner, domains: list[tuple[int, ...]], notes: list[str]) -> list[int]:
    how = scanner.choice(_SPREADS, "how to spread")
    size, total = max(map(len, domains)), sum(map(len, domains))
    count = asked = total
    if scanner.take(":"):
        start = scanner.at
        count = asked = scanner.number("how many threads")
        if count == 0:
            raise scanner.error("at least one thread", start)
        if count > total:
            notes.append(
                f"likwid 5.0 to 5.5 list the {total} processors of the domains, not {count}: further threads start over"
            )
            count = total
    if any(len(domain) != size for domain in domains):
        notes.append("likwid takes domains for equally large, and these are not: what it lists is not foreseeable")
    lists = [primary_order(machine, domain) for domain in domains]
    if how == "scatter":
        return [one[i] for i in range(size) for one in lists if i < len(one)][:count]
    each, rest = divmod(count, len(domains))
    per_core = max(len(core.pus) for core in machine.cores)
    beyond = how == "cbalanced" and max(each + rest, (each + rest - size // per_core) * per_core) > size
    if beyond or (how != "scatter" and asked > total):
        notes.append(
            f"likwid 5.0 to 5.5 look for {how}'s processors past the end of its list of a domain: likwid-pin may crash"
        )
    if how == "cbalanced" and each + rest > size // per_core:
        return _with_siblings(lists, domains, (each, rest), per_core)
    found: list[int] = []
    for i, domain in enumerate(lists if how == "cbalanced" else domains):
        found += domain[: each + (i < rest)]
    return found


def _with_siblings(
    lists: Sequence[Sequence[int]], domains: Sequence[Sequence[int]], share: tuple[int, int], per_core: int
) -> list[int]:
    """More threads than cores in a domain: its first cores have all of their hardware threads, the others one each.

    As in likwid each domain gets the remainder of the division too, until so many single threads have been given out.
    """
    each, rest = share
    found: list[int] = []
    for ordered, domain in zip(lists, domains, strict=True):
        whole = max(0, (each + rest - len(domain) // per_core) * per_core)
        full = list(domain[:whole])
        single_threads = [p for p in ordered if p not in full][: max(0, each + rest - whole)]
        rest = max(0, rest - len(single_threads))
        found += full + single_threads
    return found


def write_likwid(machine: Machine, places: Places) -> Rendering:
    """`likwid-pin -c LIST`, and the number of threads where there are more of them than processors: the list then starts over.

    Raises NotExpressibleError where a thread may use several processors, or where no list that likwid takes is so started over.
    """
    numbers = single("likwid-pin", places)
    most = len(machine.pus)
    env = {}
    if len(numbers) > most:
        # a list by number is cut there, one of several parts is refused or written past its end
        env["OMP_NUM_THREADS"] = str(len(numbers))
        numbers = _lap(numbers, most)
    if set(machine.allowed) == set(machine.pus):
        return Rendering(env, ("likwid-pin", "-c", _runs(numbers)))
    # within a part of the machine it counts by itself
    at = {p: i for i, p in enumerate(primary_order(machine, machine.allowed))}
    counted = [at[p] for p in numbers]
    # no list of indexes may be longer than its domain, but several may follow each other
    parts = (counted[i : i + len(at)] for i in range(0, len(counted), len(at)))
    return Rendering(env, ("likwid-pin", "-c", "@".join("L:N:" + _runs(part) for part in parts)))


def _lap(numbers: Sequence[int], most: int) -> list[int]:
    """The shortest list that gives these numbers where it is started over at its end; raises NotExpressibleError above `most`."""
    for length in range(1, most + 1):
        if all(n == numbers[i % length] for i, n in enumerate(numbers)):
            return list(numbers[:length])
    raise NotExpressibleError(
        "likwid-pin",
        f"it lists no more entries than the machine has processors, {most}, and starts over at its end: {len(numbers)} "
        "threads would sit otherwise",
    )


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


def _count(machine: Machine, request: Request) -> int:
    return len(read_likwid(machine, request.texts["likwid"])[0])


def _traps(machine: Machine, placement: Placement, request: Request, environment: Mapping[str, str]) -> list[Trap]:
    if "likwid" not in environment.get("LD_PRELOAD", ""):
        return []
    return [Trap("second layer", "LD_PRELOAD has likwid's library, which binds threads as well", "unset it")]


DIALECT = Dialect(
    name="likwid",
    texts=(Text("likwid", "A likwid-pin expression, such as S0:0-3@S1:0-3 or E:N:8:1:2.", short="-c"),),
    threads=ThreadReader(_place, _count),
    write_process=write_likwid,
    traps=_traps,
    pins={"LIKWID_PIN": "likwid-pin binds threads as they are created"},
)
