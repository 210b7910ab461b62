# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a program before it is recorded: which call chains it allows, and what would spoil its profile."""

from __future__ import annotations

import mmap
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodewise.base.elf import Elf
from nodewise.base.errors import InputError

_PYTHON = re.compile(r"python(\d+)\.(\d+)$")
_PERF_MAPS = (3, 12)


@dataclass(frozen=True)
class Chains:
    """Which kind of call chains is recorded, and why."""

    kind: str
    why: str


def read_sections(program: Path) -> list[str] | None:
    """The sections of a program's file; None where it is no ELF file, such as a script."""
    try:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return Elf(data).sections()
    except (OSError, ValueError, InputError):
        return None


def choose_chains(program: Path, environment: Mapping[str, str]) -> Chains:
    """Chains by unwinding a copy of the stack where the program has what that needs, else by frame pointers."""
    if environment.get("PYTHONPERFSUPPORT"):
        return Chains("fp", "Python's own functions are seen by frame pointers alone (PYTHONPERFSUPPORT)")
    sections = read_sections(program)
    if sections is None:
        return Chains("dwarf", "it is a script: what its interpreter calls has unwind tables, as packages mostly do")
    if ".eh_frame" in sections or ".debug_frame" in sections:
        return Chains(
            "dwarf", "it has unwind tables, by which the caller of a leaf is right, as by frame pointers it is not"
        )
    return Chains("fp", "it has no unwind tables: only code compiled with -fno-omit-frame-pointer has whole chains")


def python_environment(program: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variable that lets Python 3.12 or newer name its own functions to perf; nothing for other programs."""
    version = _PYTHON.search(program.resolve().name)
    if version is None or (int(version[1]), int(version[2])) < _PERF_MAPS or "PYTHONPERFSUPPORT" in environment:
        return {}
    return {"PYTHONPERFSUPPORT": "1"}


def traps(program: Path, folder: Path, environment: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """What would spoil the profile of a program that is recorded into a folder, each in a sentence."""
    found = []
    sections = read_sections(program)
    if sections is not None and ".symtab" not in sections and ".dynsym" not in sections:
        found.append(f"{program.name} is stripped and static: its functions have no names here")
    elif sections is not None and ".symtab" not in sections:
        found.append(
            f"{program.name} is stripped: of its functions only those that it exports have names; link without -s"
        )
    elif sections is not None and ".dynsym" not in sections:
        found.append(f"{program.name} is static: libraries' functions are counted as its own")
    if (version := _PYTHON.search(program.resolve().name)) and (int(version[1]), int(version[2])) < _PERF_MAPS:
        found.append(
            "Python before 3.12 shows perf its interpreter's functions, not those of the script; py-spy shows these"
        )
    if preloads := environment.get("LD_PRELOAD", "").strip():
        found.append(f"other libraries are preloaded and are part of what is seen: {preloads}")
    if not _can_map(folder):
        found.append(
            f"files in {folder} cannot be mapped into memory, which perf needs to read them: choose another with --out"
        )
    if environment.get("PMI_NO_FORK") != "1" and Path(command[0]).name == "aprun":
        found.append("under aprun set PMI_NO_FORK=1: the program is started by perf, not by the launcher itself")
    return found


def _can_map(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
            file.flush()
            with mmap.mmap(file.fileno(), 4096):
                return True
    except (OSError, ValueError):
        return False


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))
