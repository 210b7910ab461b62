# SPDX-License-Identifier: BSD-3-Clause
"""What a program of this benchmark is, and which there are: a function in a file of `programs/` adds one, no list elsewhere."""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Sources and input files of the programs, which belong to this benchmark.
INPUTS = Path(__file__).parent / "inputs"
#: The library behind Debian's `libblas.so.3`; without it that is the reference, which nobody would tune.
OPENBLAS = {"/usr/lib/*/openblas-pthread/libblas.so.3": "libopenblas0-pthread"}


@dataclass(frozen=True)
class Case:
    """One question to `nodewise tune`: a command as its user would type it, with one input and one set of options.

    `command` may hold `{name}` for what an option `-P name=…` tries; the first value is the one in use now. `options` go
    to tune, `environment` is set for tune and for every repetition. `known` says why a gain is there by construction,
    and `cure` is the line for `sh` that has it. `metric` is a regular expression whose first group is compared instead
    of the seconds; more of it is better. `served` says that a service works for it outside of its processes.
    """

    name: str
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    known: str = ""
    cure: str = ""
    metric: str = ""
    served: bool = False

    @property
    def axes(self) -> str:
        """What tune may change, in a few words."""
        named = [b.partition("=")[0] for a, b in zip(self.options, self.options[1:], strict=False) if a == "-P"]
        asked = [b for a, b in zip(self.options, self.options[1:], strict=False) if a == "--axes"]
        return " + ".join([*(asked or ["default"]), *named])

    @property
    def plain(self) -> str:
        """The line for `sh` that starts the program as now."""
        return shlex.join(self.having())

    def having(self, **values: str) -> list[str]:
        """The command with these values, and else the first, of its parameters."""
        given = [b.partition("=") for a, b in zip(self.options, self.options[1:], strict=False) if a == "-P"]
        now = {name: texts.split(",")[0] for name, _, texts in given} | values
        return [re.sub(r"\{(\w+)\}", lambda m: now.get(m[1], m[0]), word) for word in self.command]


def handicapped(
    name: str,
    command: Sequence[str],
    variable: str,
    value: str,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Case:
    """A case whose user has `variable` set to what slows the program down, so that a gain is known to be there."""
    return Case(
        name,
        tuple(command),
        tuple(options),
        {**(environment or {}), variable: value},
        f"{variable}={value} is in the environment",
        f"env -u {variable} {shlex.join(command)}",
    )


def with_parameter(name: str, command: Sequence[str], parameter: str, values: Sequence[str], best: str = "") -> Case:
    """A case with one `-P`; where `best` is said, the gain of it over the first value is known to be there."""
    case = Case(name, tuple(command), ("-P", f"{parameter}={','.join(values)}"))
    if not best:
        return case
    cure = shlex.join(case.having(**{parameter: best}))
    return Case(name, case.command, case.options, known=f"{parameter}={values[0]} is given", cure=cure)


class Missing(Exception):  # noqa: N818
    """What keeps a program from being tried here, in words."""


@dataclass
class Room:
    """Where a program's inputs are made and its cases run: `folder`, with `stack` for what must be ended afterwards."""

    folder: Path
    inputs: Path
    stack: contextlib.ExitStack

    def write(self, name: str, text: str) -> Path:
        """A file of this text in the folder."""
        path = self.folder / name
        path.write_text(text)
        return path

    def do(self, *command: str | Path, environment: Mapping[str, str] | None = None) -> str:
        """Run a step of the preparation here and return its output. Raises Missing where it fails."""
        words = [str(word) for word in command]
        try:
            done = subprocess.run(
                words,
                cwd=self.folder,
                env={**os.environ, **(environment or {})},
                text=True,
                errors="replace",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=300,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise Missing(f"its inputs cannot be made: {problem}") from problem
        if done.returncode:
            last = " / ".join(done.stdout.strip().splitlines()[-3:])
            raise Missing(f"its inputs cannot be made: {shlex.join(words)}: exit code {done.returncode}: {last}")
        return done.stdout


@dataclass(frozen=True)
class Program:
    """A program: the `commands` that it needs with the Debian package of each, Python `modules`, and what makes its cases."""

    name: str
    commands: Mapping[str, str]
    modules: tuple[str, ...]
    cases: Callable[[Room], list[Case]]

    def packages(self) -> list[str]:
        """Debian's packages that are missing here."""
        return sorted({package for command, package in self.commands.items() if find(command) is None})

    def distributions(self) -> list[str]:
        """Python's distributions that are missing in this environment."""
        return [name for name in self.modules if not _is_installed(name)]

    def missing(self) -> str:
        """What is not here, in words; empty where all of it is."""
        commands = [f"{c} (package {p})" for c, p in self.commands.items() if find(c) is None]
        return ", ".join([*commands, *(f"{name} (from PyPI)" for name in self.distributions())])


_PROGRAMS: dict[str, Program] = {}


def program(
    name: str, commands: Mapping[str, str] | None = None, modules: Sequence[str] = ()
) -> Callable[[Callable[[Room], list[Case]]], Callable[[Room], list[Case]]]:
    """Mark a function as what makes the cases of the program `name`.

    A key of `commands` is a name on the path, a full path, or a pattern of paths.
    """

    def mark(make: Callable[[Room], list[Case]]) -> Callable[[Room], list[Case]]:
        _PROGRAMS[name] = Program(name, commands or {}, tuple(modules), make)
        return make

    return mark


def known_programs() -> dict[str, Program]:
    """All programs, by name."""
    from benchmarks._real import programs

    for found in pkgutil.iter_modules(programs.__path__):
        importlib.import_module(f"{programs.__name__}.{found.name}")
    return dict(sorted(_PROGRAMS.items(), key=lambda item: item[0].lower()))


def find(command: str) -> str | None:
    """Where a command of `Program.commands` lies, the newest where a pattern fits several; None where it is not there."""
    if "/" not in command:
        return shutil.which(command)
    fitting = sorted(Path("/").glob(command.lstrip("/")), key=lambda path: (len(str(path)), str(path)))
    return str(fitting[-1]) if fitting else None


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True
