# SPDX-License-Identifier: BSD-3-Clause
"""taskset: all threads of a process held to one set of processors (util-linux taskset(1))."""

from __future__ import annotations

from nodewise.base.errors import InputError
from nodewise.base.late import late
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Mask, Places, Text
from nodewise.placement.launcher_options import without_program
from nodewise.placement.processor_sets import permitted_anew, read_ranges
from nodewise.placement.rendering import Rendering, common
from nodewise.placement.scan import LONGEST_RANGE, Scanner

#: What stands before the mask or the list: options of which none has a value, and may be together or cut short.
_OPTIONS = late(r"((?:\s*taskset\s+)?\s*(?:(?:-[a-zA-Z]+|--[a-z]+(?:-[a-z]*)*)(?=\s|$)\s*)*)(?:--\s+)?")
_LONG = {"all-tasks": "a", "cpu-list": "c"}
#: What taskset reads as a mask: hexadecimal digits, with or without 0x; a comma between them means nothing.
_MASK = late(r"(0x)?([0-9A-Fa-f]+(?:,[0-9A-Fa-f]+)*)")
_BLANK = late(r"\s")
_MEANT_LIST = late(r"[0-9]+(?:-[0-9]+(?::[0-9]+)?)?(?:,[0-9]+(?:-[0-9]+(?::[0-9]+)?)?)*")
_LONGEST_SHOWN = 60
#: More digits name processors that no system of Linux has.
_MOST_DIGITS = LONGEST_RANGE // 4


def read_taskset(machine: Machine, text: str) -> Mask:
    """The set that a mask (`ff`, `0xff`) or a list (`-c 0-3,8,10-14:2`) names for taskset, as the kernel takes it, and notes.

    As for taskset itself digits alone are a mask, `7` the processors 0 to 2: a note says so. Raises InputError with the column,
    or where none of it may be used.
    """
    text = without_program("taskset", text, lambda word, before: before == 0)
    options = _OPTIONS.match(text)
    assert options is not None
    flags = {flag for word in options[1].split() if word != "taskset" for flag in _flags(word)}
    rest = text[options.end() :].strip()
    if "c" not in flags:
        start = options.end() if options[1].strip() else 0
        return _mask(machine, text[start:], start)
    scanner = Scanner("taskset", text.rstrip())
    scanner.at = options.end()
    if scanner.done:
        raise InputError("taskset: there is no list behind -c", "write both as one text: --taskset '-c 0-3'")
    if rest.startswith("-"):
        raise scanner.error("a list of processors")
    blank = _BLANK.search(rest)
    if blank is not None:
        raise scanner.error("no blank in a list", scanner.at + blank.start())
    return Mask(*permitted_anew(machine, read_ranges(scanner), "taskset"))


def _flags(word: str) -> str:
    """The letters of one word of options: a for all tasks, which makes no difference to a program that is started, and c."""
    if word.startswith("--"):
        known = [flag for name, flag in _LONG.items() if name.startswith(word[2:])]
        if len(known) == 1:
            return known[0]
    elif set(word[1:]) <= {"a", "c"}:
        return word[1:]
    raise InputError(f"taskset has no option {word} that places a program", "known are: -a, -c, and a list behind -c")


def _mask(machine: Machine, text: str, start: int) -> Mask:
    match = _MASK.fullmatch(text)
    if match is None or len(match[2]) > _MOST_DIGITS:
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        raise InputError(
            f"taskset={shown!r}, column {start + 1}: expected a mask of hexadecimal digits, or -c and a list",
            "-c has no value of its own, the list is the next word: --taskset '-c 0-3'"
            if text.startswith("-")
            else f"a list of processors is written as for taskset: --taskset '-c {shown if _MEANT_LIST.fullmatch(text) else '0-3'}'",
        )
    digits = match[2].replace(",", "")
    found = {i for i, bit in enumerate(reversed(bin(int(digits, 16))[2:])) if bit == "1"}
    meant = f"processors {format_processors(found)}" if found else "no processor"
    notes_on_mask = [] if match[1] else [f"taskset takes {text} for a mask: {meant}; a list is -c {text}"]
    try:
        used, notes = permitted_anew(machine, found, "taskset")
    except InputError as problem:
        raise InputError(problem.what, "; ".join([*notes_on_mask, problem.hint or ""])) from problem
    return Mask(used, [*notes_on_mask, *notes])


def write_taskset(machine: Machine, places: Places) -> Rendering:
    """`taskset -c LIST`; raises NotExpressibleError where threads have places of their own."""
    listed = format_processors(common("taskset", places))
    return Rendering({"OMP_NUM_THREADS": str(len(places))}, ("taskset", "-c", listed))


DIALECT = Dialect(
    name="taskset",
    texts=(Text("taskset", "A mask or list of taskset, such as 0xff or '-c 0-7'."),),
    mask=read_taskset,
    replaces=True,
    write_process=write_taskset,
)
