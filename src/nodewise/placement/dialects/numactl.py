# SPDX-License-Identifier: BSD-3-Clause
"""numactl: all threads of a process held to processors or NUMA nodes (numactl(8)); its options on memory are kept."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Mask, Places, Text
from nodewise.placement.objects import numbered_objects
from nodewise.placement.processor_sets import permitted, read_ranges
from nodewise.placement.rendering import Rendering, common
from nodewise.placement.scan import Scanner

_PROCESSORS = ("--physcpubind", "-C")
_NODES = ("--cpunodebind", "-N")


def _numactl_set(machine: Machine, option: str, text: str, have: Sequence[int], name: str) -> set[int]:
    """A set of numactl: `all`, `!` for all others, `+` for numbers counted within what is allowed."""
    scanner = Scanner(option, text)
    inverse = scanner.take("!")
    relative = scanner.take("+")
    if scanner.take("all"):
        scanner.end()
        found = set(have)
    else:
        found = read_ranges(scanner, strides=False)
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


def read_numactl(machine: Machine, text: str) -> Mask:
    """The set that numactl's options (or a list by itself, as for --physcpubind) name, notes, and options on memory.

    Raises InputError where an option is not known or names nothing that may be used.
    """
    found: set[int] | None = None
    memory: list[str] = []
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
        return Mask(tuple(sorted(machine.allowed)), [], tuple(memory))
    return Mask(*permitted(machine, found, "numactl"), tuple(memory))


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


def write_numactl(machine: Machine, places: Places) -> Rendering:
    """`numactl --cpunodebind` where the set is whole nodes, else `--physcpubind`; raises NotExpressibleError as taskset does."""
    mask = set(common("numactl", places))
    nodes = {number: set(pus) for number, pus in numbered_objects(machine, "numa").items()}
    inside = [number for number, pus in nodes.items() if pus <= mask]
    env = {"OMP_NUM_THREADS": str(len(places))}
    if len(nodes) > 1 and inside and set().union(*(nodes[n] for n in inside)) == mask:
        return Rendering(env, ("numactl", f"--cpunodebind={format_processors(inside)}"))
    return Rendering(env, ("numactl", f"--physcpubind={format_processors(mask)}"))


DIALECT = Dialect(
    name="numactl",
    texts=(Text("numactl", "Options of numactl, such as '--cpunodebind=0'."),),
    mask=read_numactl,
    write_process=write_numactl,
)
