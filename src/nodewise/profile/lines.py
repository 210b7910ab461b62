# SPDX-License-Identifier: BSD-3-Clause
"""Source lines of addresses, by addr2line of the GNU binutils."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from nodewise.profile.target import read_sections

_MOST_SECONDS = 30


@lru_cache(maxsize=1)
def addr2line() -> str | None:
    """The program, None where it is not here."""
    return shutil.which("addr2line")


def places_of(name: str, addresses: Sequence[int]) -> Mapping[int, tuple[str, int]]:
    """File and line of addresses in an object; those without are left out, all of an object without debug information."""
    program, path = addr2line(), Path(name)
    if program is None or not path.is_file() or ".debug_line" not in (read_sections(path) or ()):
        return {}
    words = [program, "-e", name]
    asked = "".join(f"{address:#x}\n" for address in addresses)
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
