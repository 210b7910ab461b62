# SPDX-License-Identifier: BSD-3-Clause
"""numactl: all threads of a process held to processors or NUMA nodes (numactl(8)); its options on memory are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.base.words import split_words
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Mask, Places, Text
from nodewise.placement.job import within
from nodewise.placement.launcher_options import in_front
from nodewise.placement.objects import numbered_objects
from nodewise.placement.processor_sets import permitted
from nodewise.placement.rendering import Rendering, common
from nodewise.placement.scan import Scanner

_PROCESSORS = ("--physcpubind", "-C")
#: --cpubind is what --cpunodebind was called; numactl still takes it.
_NODES = ("--cpunodebind", "-N", "--cpubind", "-c")


def _numactl_set(machine: Machine, option: str, text: str, have: Sequence[int], name: str) -> set[int]:
    """A set of numactl: `all`, `!` for all others, `+` in front for numbers counted within what is allowed, which before a later one says nothing.

    The ends of a range must be there; of what lies between them it takes those that are.
    """
    scanner = Scanner(option, text)
    inverse = scanner.take("!")
    relative = scanner.take("+")
    if scanner.take("all"):
        scanner.end()
        found = set(have)
    else:
        found = set()
        for first, last in _ranges(scanner):
            ends = [_there(n, have, relative, f"{option}={text}", name) for n in (first, last)]
            # one that runs downwards is its first number
            found |= {ends[0], *(n for n in have if ends[0] <= n <= ends[1])}
    return set(have) - found if inverse else found


def _ranges(scanner: Scanner) -> Iterator[tuple[int, int]]:
    while True:
        first = _number(scanner)
        yield first, _number(scanner) if scanner.take("-") else first
        if scanner.done:
            return
        scanner.need(",", "',', '-' or the end")


def _number(scanner: Scanner) -> int:
    """A number as C's strtoul reads it with base 0: perhaps a +, then 0x and hexadecimal digits, 0 and octal ones, or decimal ones."""
    start = scanner.at
    scanner.take("+")
    digits = scanner.word(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,9}")
    base = 16 if digits[:2].lower() == "0x" else 8 if digits[:1] == "0" else 10
    try:
        return int(digits, base)
    except ValueError:
        raise scanner.error("a number", start) from None


def _there(number: int, have: Sequence[int], relative: bool, text: str, name: str) -> int:
    if number not in (range(len(have)) if relative else have):
        raise InputError(
            f"{text}: numactl refuses number {number}, which is not there or not allowed",
            _those(have, name, relative),
        )
    return have[number] if relative else number


def _those(have: Sequence[int], name: str, relative: bool) -> str:
    one = len(have) == 1
    noun = name.removesuffix("s") if one else name
    return f"there {'is' if one else 'are'} {len(have) if relative else ''}{' ' * relative}{noun}{'' if relative else ' ' + format_processors(have)}"


def read_numactl(machine: Machine, text: str) -> Mask:
    """The set that numactl's options (or a list by itself, as for --physcpubind) name, notes, and options on memory.

    Raises InputError where an option is not known or names nothing that may be used.
    """
    found: set[int] | None = None
    twice = False
    memory: list[str] = []
    # what may be used without --all
    kept = machine
    for option, value in _options(text):
        if option == _ALL:
            machine = within(machine, machine.limits.cpuset or machine.pus)
        elif option in _PROCESSORS or option == "":
            more = _numactl_set(machine, option or "--physcpubind", value, sorted(machine.allowed), "processors")
            twice, found = found is not None, more
        elif option in _NODES:
            nodes = numbered_objects(machine, "numa")
            numbers = _numactl_set(machine, option, value, sorted(nodes), "nodes")
            twice, found = found is not None, {p for n in numbers for p in nodes[n]}
        else:
            memory.append(option if not value else f"{option}={value}")
    if found is None:
        return Mask(tuple(sorted(kept.allowed)), [], tuple(memory))
    processors, notes = permitted(machine, found, "numactl")
    beyond = sorted(set(processors) - set(kept.allowed))
    if beyond:
        notes.append(
            f"numactl --all goes beyond what this process is held to, by processor{'s' * (len(beyond) > 1)} {format_processors(beyond)}: "
            "it does as far as the control group has them"
        )
    if twice:
        notes.append("numactl goes by the last option that names processors or nodes to run on")
    return Mask(processors, notes, tuple(memory))


#: Sets are then counted within all processors of the machine.
_ALL = "--all"
_MEMORY = {
    "-i": "--interleave",
    "-m": "--membind",
    "-p": "--preferred",
    "-P": "--preferred-many",
    "-l": "--localalloc",
    "-w": "--weighted-interleave",
    "-b": "--balancing",
    "-a": _ALL,
}
_BARE = ("--localalloc", "--balancing", _ALL)
#: Those that are in one letter, behind which others may follow.
_LETTERS = ("-l", "-b", "-a")


def _options(text: str) -> list[tuple[str, str]]:
    """Options and their values; a word that is no option stands by itself."""
    words = split_words(text, "numactl")
    found: list[tuple[str, str]] = []
    named = in_front("numactl", words)
    while words:
        word = words.pop(0)
        if word == "--" or (not word.startswith("-") and (named or found)):
            # the program that is started
            break
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            found.append(("", word))
            continue
        if name[:2] in _LETTERS and len(name) > 2:
            words.insert(0, f"-{word[2:]}")
            name = name[:2]
        elif not name.startswith("--") and len(name) > 2:
            name, equals, value = name[:2], "=", name[2:] + equals + value
        name = _MEMORY.get(name, name)
        if name not in (*_PROCESSORS, *_NODES, *_MEMORY.values()):
            raise InputError(f"numactl has no option {name} that places anything", "--physcpubind and --cpunodebind do")
        if name == _ALL and any(option not in _BARE for option, _ in found):
            raise InputError("numactl refuses --all behind a set of processors or nodes", "write it in front of them")
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
