# SPDX-License-Identifier: BSD-3-Clause
"""The file that a command's first word stands for, and what to do where there is none."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.base.errors import ProgramError

#: By the suffix of a source the command that compiles it.
_SOURCES = {
    **dict.fromkeys((".c",), "cc"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".C"), "c++"),
    **dict.fromkeys((".f", ".for", ".f90", ".f95", ".f03", ".f08", ".F", ".F90"), "gfortran"),
    ".cu": "nvcc",
}
_GIVE_A_PATH = "give its path, or a name that is found on PATH"
#: What only a shell carries out: pipelines, redirections, several commands, variables, patterns and assignments.
_OF_A_SHELL = re.compile(r"[|<>;&$`*?\n]|^\s*[A-Za-z_]\w*=")


def find_program(command: Sequence[str], environment: Mapping[str, str], directory: Path | None) -> str:
    """The file to execute: a path as it stands (seen from the run's directory), else the first of that name on PATH. Raises ProgramError."""
    name = command[0]
    if directory is not None and not directory.is_dir():
        raise ProgramError(f"no such directory to run in: {directory}")
    if "/" in name:
        path = Path(directory or ".", name)
        if not path.exists():
            raise ProgramError(f"no such program: {name}", _typed_as_one(command) or _GIVE_A_PATH)
        if path.is_dir():
            raise ProgramError(f"{name} is a directory, not a program")
        if not os.access(path, os.X_OK):
            raise ProgramError(*_not_executable(name, path))
        return name
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    if found is None:
        here = f" (there is a file of that name here: write ./{name})" if _is_here(name) else ""
        raise ProgramError(f"no such program on PATH: {name}{here}", _typed_as_one(command) or _GIVE_A_PATH)
    # a PATH may hold relative directories, which mean this process's directory and not the run's
    return str(Path(found).absolute())


def _is_here(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:
        # no file has a name that long
        return False


def _not_executable(name: str, path: Path) -> tuple[str, str]:
    """What is said of a file that is there and may not be executed, and what to do about it."""
    if (compiler := _SOURCES.get(path.suffix)) is not None:
        program = shlex.quote(name.removesuffix(path.suffix))
        return (
            f"{name} is a source, not a program",
            f"compile it first: {compiler} -O3 -o {program} {shlex.quote(name)}",
        )
    with contextlib.suppress(OSError), path.open("rb") as file:
        if not file.read(4).startswith((b"\x7fELF", b"#!")):
            return f"{name} is not a program", "name the program first, and its files behind it"
    return f"{name} is not executable", f"make it so with: chmod +x {shlex.quote(name)}"


def _typed_as_one(command: Sequence[str]) -> str:
    """The hint, with all words, where a line stands in the place of a program's name; empty where it does not look like one."""
    line, rest = command[0], command[1:]
    if _OF_A_SHELL.search(line):
        return f"a line for a shell is given to one: -- sh -c {shlex.quote(' '.join([line, *map(shlex.quote, rest)]))}"
    with contextlib.suppress(ValueError):
        if len(words := shlex.split(line)) > 1:
            return f"write a program and its arguments as words of their own: -- {shlex.join([*words, *rest])}"
    return ""
