# SPDX-License-Identifier: BSD-3-Clause
"""Source lines of addresses, by addr2line of the GNU binutils."""

from __future__ import annotations

import mmap
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from nodewise.base.elf import Elf
from nodewise.base.errors import InputError

_MOST_SECONDS = 30


@lru_cache(maxsize=1)
def addr2line() -> str | None:
    """The program, None where it is not here."""
    return shutil.which("addr2line")


def places_of(name: str, addresses: Sequence[int]) -> Mapping[int, tuple[str, int]]:
    """File and line of addresses in an object, as perf has them, which are offsets in its file; those without are left out, all of an object without debug information."""
    program, linked = addr2line(), _as_linked(Path(name), addresses)
    if program is None or linked is None:
        return {}
    words = [program, "-e", name]
    asked = "".join(f"{address:#x}\n" for address in linked)
    try:
        done = subprocess.run(words, input=asked, capture_output=True, text=True, check=False, timeout=_MOST_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found = {}
    for address, line in zip(addresses, done.stdout.splitlines(), strict=False):
        file, _, number = line.partition(" (discriminator")[0].rpartition(":")
        if file and file != "??" and number.isdigit() and int(number):
            found[address] = (file, int(number))
    return found


def _as_linked(path: Path, offsets: Sequence[int]) -> list[int] | None:
    """The addresses that an object's debug information has for these offsets; None where it has no such information."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            elf = Elf(data)
            # a program that is not moved, or has text elsewhere than in its file
            return [elf.address(offset) for offset in offsets] if ".debug_line" in elf.sections() else None
    except (OSError, ValueError, InputError):
        return None
