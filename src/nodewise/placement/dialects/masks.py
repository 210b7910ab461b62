# SPDX-License-Identifier: BSD-3-Clause
"""taskset and numactl: all threads of a process held to one set of processors (util-linux taskset(1), numactl(8))."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialects.rendering import Rendering, common, left_out
from nodewise.placement.objects import numbered_objects
from nodewise.placement.scan import Scanner

_PROCESSORS = ("--physcpubind", "-C")
_NODES = ("--cpunodebind", "-N")


def read_mask_or_list(machine: Machine, text: str) -> tuple[tuple[int, ...], list[str]]:
    """The set that a list `0-3,8,10-14:2` or a mask `0xff` names for taskset, as the kernel takes it, and notes.

    Raises InputError with the column, or where none of it may be used.
    """
    scanner = Scanner("taskset", text)
    scanner.skip_space()
    if scanner.peek(2).lower() == "0x":
        scanner.at += 2
        digits = scanner.word(r"[0-9A-Fa-f,]+").replace(",", "")
        if not digits:
            raise scanner.error("the hexadecimal digits of a mask")
        scanner.end("a hexadecimal digit or the end")
        value = int(digits, 16)
        found = {p for p in range(value.bit_length()) if value >> p & 1}
    else:
        found = _ranges(scanner)
    return permitted(machine, found, "taskset")


def permitted(machine: Machine, asked: set[int], dialect: str) -> tuple[tuple[int, ...], list[str]]:
    """Those of the processors that the machine has and allows, with a note of the others."""
    left = tuple(sorted(asked & set(machine.allowed)))
    if not left:
        raise InputError(
            f"{dialect}: none of the processors {format_processors(asked) or 'named'} is there and allowed",
            f"allowed are {format_processors(machine.allowed)}",
        )
    return left, left_out(asked - set(left))


def _ranges(scanner: Scanner, strides: bool = True) -> set[int]:
    found: set[int] = set()
    while True:
        found.update(scanner.upward_range("a processor's number", strides=strides))
        if scanner.done:
            return found
        scanner.need(",", "',', '-' or the end")


def _numactl_set(machine: Machine, option: str, text: str, have: Sequence[int], name: str) -> set[int]:
    """A set of numactl: `all`, `!` for all others, `+` for numbers counted within what is allowed."""
    scanner = Scanner(option, text)
    inverse = scanner.take("!")
    relative = scanner.take("+")
    if scanner.take("all"):
        scanner.end()
        found = set(have)
    else:
        found = _ranges(scanner, strides=False)
        beyond = sorted(found - set(range(len(have)) if relative else have))
        if beyond:
            there = f"{len(have)} {name}" if relative else f"{name} {format_processors(have)}"
            raise InputError(
                f"{option}={text}: numactl refuses number {beyond[0]}, which is not there or not allowed",
                f"there are {there}",
            )
        if relative:
            found = {have[n] for n in found}
    return set(have) - found if inverse else found


def read_numactl(machine: Machine, text: str) -> tuple[tuple[int, ...], list[str], tuple[str, ...]]:
    """The set that numactl's options (or a list by itself, as for --physcpubind) name, notes, and options on memory.

    Raises InputError where an option is not known or names nothing that may be used.
    """
    found: set[int] | None = None
    memory: list[str] = []
    notes: list[str] = []
    for option, value in _options(text):
        if option in _PROCESSORS or option == "":
            more = _numactl_set(machine, option or "--physcpubind", value, sorted(machine.allowed), "processors")
        elif option in _NODES:
            nodes = numbered_objects(machine, "numa")
            numbers = _numactl_set(machine, option, value, sorted(nodes), "nodes")
            more = {p for n in numbers for p in nodes[n]}
        else:
            memory.append(option if not value else f"{option}={value}")
            continue
        if found is not None:
            raise InputError(f"numactl: processors are named twice in {text!r}", "name them once")
        found = more
    if found is None:
        return tuple(sorted(machine.allowed)), notes, tuple(memory)
    left, more_notes = permitted(machine, found, "numactl")
    return left, notes + more_notes, tuple(memory)


_MEMORY = {
    "-i": "--interleave",
    "-m": "--membind",
    "-p": "--preferred",
    "-P": "--preferred-many",
    "-l": "--localalloc",
    "-w": "--weighted-interleave",
    "-b": "--balancing",
}
_BARE = ("--localalloc", "--balancing")


def _options(text: str) -> list[tuple[str, str]]:
    """Options and their values; a word that is no option stands by itself."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise InputError(f"numactl: {text!r} cannot be split into words: {problem}") from problem
    found: list[tuple[str, str]] = []
    while words:
        word = words.pop(0)
        if word == "numactl":
            continue
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            found.append(("", word))
            continue
        if not name.startswith("--") and len(name) > 2:
            name, equals, value = name[:2], "=", name[2:] + equals + value
        name = _MEMORY.get(name, name)
        if name not in (*_PROCESSORS, *_NODES, *_MEMORY.values()):
            raise InputError(f"numactl has no option {name} that places anything", "--physcpubind and --cpunodebind do")
        if name not in _BARE and not equals:
            if not words:
                raise InputError(f"numactl: {name} needs a value")
            value = words.pop(0)
        found.append((name, value))
    if not found:
        raise InputError("numactl: no option is given", "such as --physcpubind=0-3")
    return found


def write_taskset(machine: Machine, places: Sequence[tuple[int, ...]]) -> Rendering:
    """`taskset -c LIST`; raises NotExpressibleError where threads have places of their own."""
    return Rendering(
        {"OMP_NUM_THREADS": str(len(places))}, ("taskset", "-c", format_processors(common("taskset", places)))
    )


def write_numactl(machine: Machine, places: Sequence[tuple[int, ...]]) -> Rendering:
    """`numactl --cpunodebind` where the set is whole nodes, else `--physcpubind`; raises NotExpressibleError as taskset does."""
    mask = set(common("numactl", places))
    nodes = {number: set(pus) for number, pus in numbered_objects(machine, "numa").items()}
    inside = [number for number, pus in nodes.items() if pus <= mask]
    env = {"OMP_NUM_THREADS": str(len(places))}
    if len(nodes) > 1 and inside and set().union(*(nodes[n] for n in inside)) == mask:
        return Rendering(env, ("numactl", f"--cpunodebind={format_processors(inside)}"))
    return Rendering(env, ("numactl", f"--physcpubind={format_processors(mask)}"))


Writer = Callable[[Machine, Sequence[tuple[int, ...]]], Rendering]
