# SPDX-License-Identifier: BSD-3-Clause
"""Sets of processors that a text names: read as ranges, and kept to what a machine has and allows."""

from __future__ import annotations

from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.rendering import left_out
from nodewise.placement.scan import Scanner


def permitted(machine: Machine, asked: set[int], dialect: str) -> tuple[tuple[int, ...], list[str]]:
    """Those of the processors that the machine has and allows, with a note of the others. Raises InputError where none is."""
    left = tuple(sorted(asked & set(machine.allowed)))
    if not left:
        raise InputError(
            f"{dialect}: none of the processors {format_processors(asked) or 'named'} is there and allowed",
            f"allowed are {format_processors(machine.allowed)}",
        )
    return left, left_out(asked - set(left))


def permitted_anew(machine: Machine, asked: set[int], dialect: str) -> tuple[tuple[int, ...], list[str]]:
    """The same for what sets a mask of its own, wider than this process's where it asks so, as far as the cpuset, where that is known, has it."""
    granted = replace(machine.limits, processors=machine.limits.cpuset or machine.limits.processors)
    found, notes = permitted(replace(machine, limits=granted), asked, dialect)
    beyond = set(found) - set(machine.allowed)
    if beyond:
        notes.append(
            f"{dialect} goes beyond what this process is held to, by processor{'s' * (len(beyond) > 1)} {format_processors(beyond)}: "
            "it does as far as the control group has them"
        )
    return found, notes


def read_ranges(scanner: Scanner, strides: bool = True) -> set[int]:
    """The numbers of a list such as `0-3,8` up to the end, with `strides` also `10-14:2`. Raises InputError with the column."""
    found: set[int] = set()
    while True:
        found.update(scanner.upward_range("a processor's number", strides=strides))
        if scanner.done:
            return found
        scanner.need(",", "',', '-' or the end")
