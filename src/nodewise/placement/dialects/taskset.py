# SPDX-License-Identifier: BSD-3-Clause
"""taskset: all threads of a process held to one set of processors (util-linux taskset(1))."""

from __future__ import annotations

from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Mask, Places, Text
from nodewise.placement.processor_sets import permitted, read_ranges
from nodewise.placement.rendering import Rendering, common
from nodewise.placement.scan import Scanner


def read_taskset(machine: Machine, text: str) -> Mask:
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
        found = read_ranges(scanner)
    return Mask(*permitted(machine, found, "taskset"))


def write_taskset(machine: Machine, places: Places) -> Rendering:
    """`taskset -c LIST`; raises NotExpressibleError where threads have places of their own."""
    listed = format_processors(common("taskset", places))
    return Rendering({"OMP_NUM_THREADS": str(len(places))}, ("taskset", "-c", listed))


DIALECT = Dialect(
    name="taskset",
    texts=(Text("taskset", "A list or mask of taskset, such as 0-7 or 0xff."),),
    mask=read_taskset,
    anew=True,
    write_process=write_taskset,
)
