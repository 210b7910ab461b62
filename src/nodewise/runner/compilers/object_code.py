# SPDX-License-Identifier: BSD-3-Clause
"""Which lines of a file have machine code, and whether that code is in a loop, by what objdump lists.

Compilers report nothing of loops that are gone before their vectorizer comes; the object code shows which these are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.runner.commands import run_whole

_FUNCTION = re.compile(r"[0-9a-f]+ <(.*)>:$")
_LINE = re.compile(r"(\S.*):(\d+)(?: \(discriminator \d+\))?$")
_CODE = re.compile(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)")
#: Jumps of x86, and branches of Arm that do not call.
_JUMP = re.compile(r"j\w+$|b$|b\.\w+$|cbn?z$|tbn?z$|b(?:eq|ne|lt|gt|le|ge|cc|cs|hi|ls|mi|pl)(?:\.n)?$")
_TARGET = re.compile(r"\b([0-9a-f]+) <([^>+]*)(?:\+0x[0-9a-f]+)?>")
#: What makes a double of a float, on x86 and Arm.
_WIDENS = re.compile(r"v?cvt(?:ps2pd|ss2sd)$|fcvtl2?$")
_WIDENS_SCALAR = re.compile(r"d\d+,\s*s\d+$")
_LIMIT_S = 60.0


@dataclass(frozen=True)
class LineCode:
    """What a line's machine code is: whether some of it is in a loop, and whether floats become doubles in that loop."""

    in_loop: bool
    widens: bool = False


def code_lines(
    objects: Path, is_file: Callable[[str], bool], begun: Callable[[str], None] = lambda _: None
) -> dict[int, LineCode] | None:
    """What code each line of the file has in an object, as far as it has some; None where it cannot be read.

    `is_file` knows the file's names. The object needs a table of lines (-g1). `begun` is that of `run_whole`.
    """
    program = shutil.which("objdump") or shutil.which("llvm-objdump")
    if program is None:
        return None
    try:
        words = [program, "-d", "-l", "--no-show-raw-insn", str(objects)]
        done = run_whole(words, _LIMIT_S, begun, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return None
    return read_listing(done.stdout.splitlines(), is_file) if done.returncode == 0 else None


def read_listing(listing: Iterable[str], is_file: Callable[[str], bool]) -> dict[int, LineCode]:
    """The same of a listing."""
    lines: dict[int, LineCode] = {}
    known: dict[str, bool] = {}
    code: list[tuple[int, int]] = []
    loops: list[tuple[int, int]] = []
    widened: list[int] = []
    function, at = "", 0
    for text in listing:
        if begun := _FUNCTION.match(text):
            _add(lines, code, loops, widened)
            code, loops, widened, function, at = [], [], [], begun[1], 0
        elif found := _CODE.match(text):
            address = int(found[1], 16)
            if at:
                code.append((address, at))
            if _WIDENS.match(found[2]) or (found[2] == "fcvt" and _WIDENS_SCALAR.match(found[3])):
                widened.append(address)
            target = _TARGET.search(found[3]) if _JUMP.match(found[2]) else None
            if target and target[2] == function and int(target[1], 16) <= address:
                loops.append((int(target[1], 16), address))
        elif place := _LINE.match(text.removeprefix("; ")):
            if place[1] not in known:
                known[place[1]] = is_file(place[1])
            at = int(place[2]) if known[place[1]] else 0
    _add(lines, code, loops, widened)
    return lines


def _add(
    lines: dict[int, LineCode],
    code: Iterable[tuple[int, int]],
    loops: Iterable[tuple[int, int]],
    widened: Iterable[int],
) -> None:
    # what widens may be an inlined function's of another file: it counts for the lines of the innermost loop around it
    ranges = sorted(set(loops), key=lambda one: one[1] - one[0])
    widening = {loop for address in widened if (loop := _innermost(ranges, address)) is not None}
    within = _joined(ranges)
    which = 0
    for address, line in code:
        while which < len(within) and within[which][1] < address:
            which += 1
        in_loop = which < len(within) and within[which][0] <= address
        widens = in_loop and bool(widening) and _innermost(ranges, address) in widening
        before = lines.get(line, LineCode(in_loop=False))
        lines[line] = LineCode(before.in_loop or in_loop, before.widens or widens)


def _innermost(ranges: Iterable[tuple[int, int]], address: int) -> tuple[int, int] | None:
    """The first of the ranges, shortest first, that holds an address."""
    return next((one for one in ranges if one[0] <= address <= one[1]), None)


def _joined(loops: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(loops):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def code_of(lines: Mapping[int, LineCode], own: Iterable[int]) -> tuple[bool, bool]:
    """Whether any of these lines has code, and whether any of it is in a loop."""
    there = [lines[n] for n in own if n in lines]
    return bool(there), any(one.in_loop for one in there)
