# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a program before it is recorded: its file's sections, and which call chains it allows."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from nodewise.base.elf import Elf
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.profile.interpreter import Python
from nodewise.profile.perf import read_chains
from nodewise.profile.unwinding import Tables, tables_of

#: A program with less code leaves the work to its libraries, so that theirs counts, too, in bytes.
_THIN = 4096


@dataclass(frozen=True)
class Chains:
    """Which kind of call chains is recorded, and why; `lacks` is what keeps perf from unwinding the program, empty where nothing does."""

    kind: str
    why: str
    lacks: str = ""


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
    try:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            elf = Elf(data)
            dynamic, tables = elf.dynamic, tables_of(elf)
            libraries = _libraries(program, elf, environment)
    except (OSError, ValueError, InputError):
        return Chains("dwarf", "it is a script: what its interpreter calls has unwind tables, as packages mostly do")
    if not dynamic:
        static = "it is linked statically, where perf unwinds nothing"
        return Chains("fp", f"{static}: only code with frame pointers has chains", static)
    if tables.covered + tables.bare < _THIN:
        tables = sum(_tables_of_libraries(libraries), tables)
    if tables.enough:
        return Chains("dwarf", "it has unwind tables, which name the callers of small functions, too")
    bare = "most of its code has no unwind tables"
    return Chains("fp", f"{bare}: only what is compiled with -fno-omit-frame-pointer has whole chains", bare)


def _libraries(path: Path, elf: Elf, environment: Mapping[str, str]) -> list[Path]:
    """The libraries beside a program that it names, or that the user has it take; the system's, found elsewhere, all have tables."""
    origin = str(path.resolve().parent)
    own = [d.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for d in elf.search]
    folders = [*own, *(d for d in environment.get("LD_LIBRARY_PATH", "").split(":") if d)]
    found = []
    for name in elf.needed:
        # one that is named by its path is looked for nowhere
        places = [Path(name)] if "/" in name else [Path(d, name) for d in folders]
        found += [p for p in places if p.is_file()][:1]
    return found


def _tables_of_libraries(libraries: Sequence[Path]) -> Iterator[Tables]:
    for path in libraries:
        with (
            suppress(OSError, ValueError, InputError),
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            yield tables_of(Elf(data))


def chains_of(program: Path, environment: Mapping[str, str], asked: str | None) -> Chains:
    """The chains that are asked for (as `profile.perf.read_chains` reads them), or where none are those that the program allows. Raises InputError."""
    chosen = choose_chains(program, environment)
    return chosen if asked is None else Chains(read_chains(asked), "asked for", chosen.lacks)


def python_environment(python: Python | None, environment: Mapping[str, str]) -> dict[str, str]:
    """The variable that lets Python 3.12 or newer name its own functions to perf; nothing for other programs."""
    if python is None or not python.shows_perf or "PYTHONPERFSUPPORT" in environment:
        return {}
    return {"PYTHONPERFSUPPORT": "1"}


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))
