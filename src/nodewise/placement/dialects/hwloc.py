# SPDX-License-Identifier: BSD-3-Clause
"""hwloc's names of objects and sets, as hwloc-bind and hwloc-calc take them (hwloc(7), hwloc 2.9)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nodewise.base.errors import InputError
from nodewise.base.late import late
from nodewise.base.lists import listed
from nodewise.base.meant import meant
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine, Node
from nodewise.placement.dialect import Dialect, Mask, Places, Text
from nodewise.placement.launcher_options import without_program
from nodewise.placement.processor_sets import permitted_anew
from nodewise.placement.rendering import Rendering, common
from nodewise.placement.scan import LONGEST_RANGE, Scanner

#: Their names for kinds of objects, all in lower case.
_WORDS = {
    "machine": "machine",
    "package": "package",
    "socket": "package",
    "die": "die",
    "numanode": "numa",
    "numa": "numa",
    "node": "numa",
    "core": "core",
    "pu": "pu",
    **{f"l{i}": f"l{i}cache" for i in (1, 2, 3)},
    **{f"l{i}cache": f"l{i}cache" for i in (1, 2, 3)},
    **{f"l{i}d": f"l{i}cache" for i in (1, 2, 3)},
    **{f"l{i}u": f"l{i}cache" for i in (1, 2, 3)},
    **{f"l{i}{content}cache": f"l{i}cache" for i in (1, 2, 3) for content in "du"},
}
#: How a location begins: a kind of object and an index, a mask, or everything.
_LOCATION = late(r"[~^x]?(?:0x|(?:all|root)$|[a-z]\w*(?:\[[^\]]*\])?:)|(?:bind|interleave|firsttouch)$", re.IGNORECASE)
#: Names that may be cut short.
_CUT = ("machine", "numanode", "node", "package", "socket", "die", "core", "pu")
_KIND = "a kind of object (machine, package, die, numanode, l3cache, l2cache, l1cache, core, pu)"
_INDEXES = late(r"(all|odd|even)(?![A-Za-z])")


#: Options of hwloc-bind that leave the sets as they are.
_QUIET = ("-q", "--quiet", "-v", "--verbose", "-f", "--force")
_MODES = ("--cpubind", "--membind")
#: What --mempolicy is to numactl; without --strict its bind prefers the nodes.
_MEMORY = {
    "bind": "--preferred-many",
    "interleave": "--interleave",
    "firsttouch": "--localalloc",
}


def read_hwloc(machine: Machine, text: str) -> Mask:
    """The set that a text names: objects and masks after each other, joined; `~`, `x` and `^` take out, keep, and toggle.

    Indexes are hwloc's logical ones, or with `--physical` (`-p`) among the words the operating system's. Of hwloc-bind's options
    `--cpubind`, `--membind`, `--mempolicy`, `--strict` and `--single` are read, and its name may stand before them. Raises InputError with the column, or where none of it may be used.
    """
    text = without_program("hwloc-bind", text, lambda word, before: before == 0 or _LOCATION.match(word) is not None)
    scanner = Scanner("hwloc location", text)
    scanner.word(r"hwloc-bind(?!\S)")
    physical, mode, policy = False, "--cpubind", "bind"
    options: set[str] = set()
    found: dict[str, set[int]] = {}
    missing: list[str] = []
    if scanner.done:
        raise scanner.error(_KIND)
    while not scanner.done:
        if scanner.peek() == "-":
            start = scanner.at
            option = scanner.word(r"-+\w+")
            if option in ("-p", "--physical", "-l", "--logical"):
                physical = option in ("-p", "--physical")
            elif option in _MODES:
                mode = option
            elif option == "--mempolicy":
                policy = scanner.choice(_MEMORY, "a policy")
            elif option in ("--strict", "--single", *_QUIET):
                options.add(option)
            else:
                raise scanner.error(
                    "--physical, --logical, --cpubind, --membind, --mempolicy, --strict, --single or an object", start
                )
            continue
        mark = next((m for m in ("~", "^") if scanner.take(m)), "")
        if not mark and re.compile(r"x[A-Za-z~^]|x0x", re.IGNORECASE).match(scanner.text, scanner.at):
            scanner.at += 1
            mark = "x"
        found[mode] = _joined(found.get(mode, set()), mark, _location(machine, scanner, physical, missing))
        if not scanner.done and not scanner.text[scanner.at - 1].isspace():
            raise scanner.error("a space before the next location")
    memory = ()
    if "--membind" in found:
        memory = (_memory(machine, found["--membind"], policy, "--strict" in options),)
    lacks = _on_missing(missing, alone=not found.get("--cpubind", machine.pus))
    left, notes = permitted_anew(machine, found.get("--cpubind", set(machine.allowed) if memory else set()), "hwloc")
    if "--single" in options:
        left = left[:1]
    return Mask(left, [*lacks, *notes], memory)


def _on_missing(missing: list[str], *, alone: bool) -> list[str]:
    """The note on locations that are not there. Raises InputError where nothing else is named (`alone`)."""
    if not missing:
        return []
    names = list(dict.fromkeys(missing))
    lacks = f"hwloc: {listed(names)} {'is' if len(names) == 1 else 'are'} not there"
    if alone:
        raise InputError(f"{lacks}, and nothing else is named", "name objects that this machine has")
    return [f"{lacks}: left out"]


def _short(word: str) -> str | None:
    """The kind that two letters or more of a name stand for."""
    return next((_WORDS[name] for name in _CUT if len(word) > 1 and name.startswith(word)), None)


def _joined(found: set[int], mark: str, one: set[int]) -> set[int]:
    if mark == "~":
        return found - one
    if mark == "x":
        return found & one
    return found ^ one if mark == "^" else found | one


def _memory(machine: Machine, processors: set[int], policy: str, strict: bool) -> str:
    """numactl's option for the nodes of the processors that --membind names. Raises InputError where no node has any."""
    if policy == "firsttouch":
        return _MEMORY[policy]
    nodes = [node.os_index for node in machine.numa_nodes if processors & set(node.pus)]
    if not nodes:
        raise InputError("hwloc: --membind names no NUMA node", "name one, such as --membind node:0")
    return f"{'--membind' if strict and policy == 'bind' else _MEMORY[policy]}={format_processors(nodes)}"


def _location(machine: Machine, scanner: Scanner, physical: bool, missing: list[str]) -> set[int]:
    """The processors of a mask, or of objects, each part of which is looked for within every object of the part before."""
    scanner.skip_space()
    match = re.compile(r"(0xf\.\.\.f|0x[0-9a-fA-F]*)(,(0x)?[0-9a-fA-F]*)*").match(scanner.text, scanner.at)
    if match:
        scanner.at = match.end()
        return _mask(match[0], machine)
    places = [_known(machine)]
    while True:
        start = scanner.at
        word = scanner.word(r"[A-Za-z][A-Za-z0-9]*").lower()
        if word in ("all", "root"):
            return set().union(*places)
        if word in ("pci", "os"):
            raise scanner.error("an object with processors: devices are not known of a machine here", start)
        kind = _WORDS.get(word) or _short(word)
        if kind is None:
            raise scanner.error(_KIND, start, meant(word, _WORDS))
        if scanner.text[scanner.at : scanner.at + 1] != ":":
            raise scanner.error("':' and an index", scanner.at)
        scanner.at += 1
        at = scanner.at
        picked: list[tuple[int, ...]] = []
        lacking: list[int] = []
        for place in places or [set[int]()]:
            scanner.at = at
            there, lost = _pick(scanner, _inside(machine, kind, place), physical, word)
            picked += there
            lacking += lost
        if places and not picked:
            missing.append(f"{word}:{scanner.text[at : scanner.at]}")
        elif picked:
            missing += [f"{word} {number}" for number in lacking[:4]] + ["…"] * (len(lacking) > 4)
        places = [set(pus) for pus in picked]
        if scanner.text[scanner.at : scanner.at + 1] != ".":
            return set().union(*places)
        scanner.at += 1


def _mask(text: str, machine: Machine) -> set[int]:
    """A set in hexadecimal, in groups of 32 bits parted by commas, of which empty ones are zero; behind `0xf...f` with all above them."""
    groups = text.split(",")
    endless = groups[0] == "0xf...f"
    value = 0
    for group in groups[endless:]:
        value = value << 32 | int(group.removeprefix("0x") or "0", 16)
    above = {p for p in machine.pus if p >= 32 * (len(groups) - 1)} if endless else set[int]()
    return above | {p for p in range(value.bit_length()) if value >> p & 1}


def _known(machine: Machine) -> set[int]:
    """The processors that hwloc counts: those that the cpuset has, where that is known; a mask alone hides none."""
    return set(machine.limits.cpuset) & set(machine.pus) or set(machine.pus)


def _inside(machine: Machine, kind: str, within: set[int]) -> list[tuple[int, tuple[int, ...]]]:
    """The objects of a kind that lie within a set, each with the operating system's number, in hwloc's order."""
    known = _known(machine)
    there: Iterable[tuple[int, tuple[int, ...]]] = (
        ((p, (p,)) for p in machine.pus)
        if kind == "pu"
        else ((c.os_index, c.pus) for c in machine.cores)
        if kind == "core"
        else ((n.os_index, n.pus) for n in machine.nodes_as_counted)
        if kind == "numa"
        else ((node.os_index, node.pus) for node in _nodes(machine.tree, kind))
    )
    found: list[tuple[int, tuple[int, ...]]] = []
    for number, pus in there:
        left = tuple(p for p in pus if p in known)
        if within.issuperset(left) and (left or not pus):
            found.append((number, left))
    return found


def _nodes(tree: Node, kind: str) -> Iterator[Node]:
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.kind == kind:
            yield node
        stack.extend(reversed(node.children))


def _pick(
    scanner: Scanner, choices: list[tuple[int, tuple[int, ...]]], physical: bool, word: str
) -> tuple[list[tuple[int, ...]], list[int]]:
    """What `X`, `X-Y`, `X-`, `X:N` (which goes round), `all`, `odd` or `even` names, and the indexes that are not there."""
    # of several with one number of the system's, as cores of two packages may have, the first is meant
    named = dict(reversed(choices)) if physical else dict(enumerate(pus for _, pus in choices))
    match = _INDEXES.match(scanner.text, scanner.at)
    if match:
        scanner.at = match.end()
        # counted up to how many there are, whatever their numbers
        wanted = [*range(match[1] == "odd", len(choices), 1 if match[1] == "all" else 2)]
        return [named[n] for n in wanted if n in named], [n for n in wanted if n not in named]
    start = scanner.at
    first = scanner.number(f"the index of {word}, all, odd or even")
    following = scanner.text[scanner.at : scanner.at + 1]
    wanted = [first]
    if following == "-":
        scanner.at += 1
        last = len(choices) - 1
        if scanner.text[scanner.at : scanner.at + 1].isdigit():
            last = scanner.number()
        if (last < first and choices) or last - first > LONGEST_RANGE:
            raise scanner.error("a range that runs upwards, over what is there", start)
        wanted = list(range(first, last + 1))
    elif following == ":":
        scanner.at += 1
        count = scanner.number("how many")
        # one that begins past the end begins at the start
        begin = first if first < len(choices) else 0
        wanted = [(begin + i) % len(choices) for i in range(min(count, len(choices)))]
    return [named[n] for n in wanted if n in named], [n for n in wanted if n not in named]


_WRITTEN = {"l1cache", "l2cache", "l3cache", "package", "core", "pu", "die"}


def write_hwloc(machine: Machine, places: Places) -> Rendering:
    """`hwloc-bind` with the fewest, largest objects; raises NotExpressibleError where threads have places of their own."""
    mask = set(common("hwloc-bind", places))
    if not mask <= set(machine.pus):
        raise InputError("processors are not on this machine")
    if _known(machine) != set(machine.pus):
        # objects would have other numbers there
        words = [f"0x{sum(1 << p for p in mask):x}"]
    else:
        words = ["all"] if mask == set(machine.pus) else _cover(machine, mask)
    return Rendering({"OMP_NUM_THREADS": str(len(places))}, ("hwloc-bind", *words, "--"))


def _cover(machine: Machine, mask: set[int]) -> list[str]:
    runs: list[tuple[str, int, int]] = []
    stack: list[Node] = [machine.tree]
    while stack:
        node = stack.pop()
        if node.kind in _WRITTEN and node.pus and mask.issuperset(node.pus):
            if runs and runs[-1][0] == node.kind and runs[-1][2] == node.logical - 1:
                runs[-1] = (node.kind, runs[-1][1], node.logical)
            else:
                runs.append((node.kind, node.logical, node.logical))
        elif mask & set(node.pus):
            stack.extend(reversed(node.children))
    return [f"{kind}:{a}" if a == b else f"{kind}:{a}-{b}" for kind, a, b in runs]


DIALECT = Dialect(
    name="hwloc",
    texts=(Text("hwloc", "Objects of hwloc-bind, such as package:0.core:1-3."),),
    mask=read_hwloc,
    replaces=True,
    write_process=write_hwloc,
)
