# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI a launcher and a program belong to, and whether they match: else each rank runs alone, and nothing reports it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path
from nodewise.runner.family import Family, families, library_family, starters_of
from nodewise.runner.program import find_on_path, inspect_program, libraries_of

_ASK_S = 20.0
_PROBE_S = 60.0
#: What an MPI says that finds no job of its own, as Open MPI does by another interface than PMIx.
_NO_JOB = re.compile(r"not built with SLURM's PMI|OPAL ERROR: Unreachable|error occurred in MPI_Init")
#: How much of a script is looked through.
_MOST_BYTES = 1 << 20
#: What mpi4py itself is asked, by the interpreter that the program has.
_ASK_MPI4PY = (
    "from mpi4py import MPI; print('nodewise-mpi-probe', MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, flush=True)"
)


@cache
def _version_of(path: str, slurm_conf: str | None) -> str:
    """What a launcher says of itself; Slurm's says nothing where it does not find its configuration."""
    own = {} if slurm_conf is None else {"SLURM_CONF": slurm_conf}
    return _printed([path, "--version"], _ASK_S, {**os.environ, **own})[0]


def _path_of(word: str, environment: Mapping[str, str], cwd: Path | None = None) -> Path | None:
    """The file that a command's first word means, seen from the run's directory, by its whole path."""
    if "/" in word:
        path = Path(cwd or ".", word).absolute()
        return path if path.is_file() else None
    found = find_on_path(word, environment)
    return None if found is None else found.absolute()


def family_of(launcher: str, environment: Mapping[str, str], cwd: Path | None = None) -> Family | None:
    """Which launcher a command's first word is, by what it says of itself; None where that is not known."""
    found = _path_of(launcher, environment, cwd)
    if found is None:
        return None
    own = [
        f
        for f in families().values()
        if re.search(f.says, _version_of(str(found), environment.get("SLURM_CONF")), re.MULTILINE)
    ]
    return own[0] if len(own) == 1 else None


def find_launcher(name: str, environment: Mapping[str, str]) -> tuple[Family, str]:
    """The launcher of that name and its program here. Raises InputError where there is none."""
    family = families().get(name)
    if family is None:
        raise InputError(f"--launcher: no such launcher: {name!r}", f"the launchers are: {', '.join(families())}")
    for program in family.programs:
        if family_of(program, environment) is family:
            return family, program
    there = [f.name for f in families().values() if any(family_of(p, environment) is f for p in f.programs)]
    raise InputError(
        f"--launcher {name}: {family.title} is not here: no {' nor '.join(family.programs[:2])} of it is on PATH",
        (f"install it ({family.package})" if family.package else "it comes with the system that it is of")
        + (f", or take one that is here: {', '.join(there)}" if there else ""),
    )


def start_words(name: str, ranks: int, per_node: int, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The words that a launcher starts ranks by, before those of their program. Raises InputError."""
    if ranks < 1 or per_node < 0 or per_node > ranks:
        raise InputError(
            f"{ranks} ranks, {per_node} on each node, cannot be started",
            "give --ranks 4, and --ranks-per-node at most that",
        )
    family, program = find_launcher(name, environment)
    return family.words(program, ranks, per_node)


def library_for(launcher: str, environment: Mapping[str, str]) -> str:
    """The MPI library that a program which is linked with none joins a launcher's ranks by, as the loader knows it."""
    family = families()[launcher]
    if family.file:
        return family.file
    # what Slurm starts by PMIx is Open MPI's (slurm.schedmd.com/mpi_guide.html); Cray's MPI is an MPICH
    by_pmix = family.name == "srun" and environment.get("SLURM_MPI_TYPE", "").startswith("pmix")
    return families()["openmpi" if by_pmix else "mpich"].file


@dataclass(frozen=True)
class Library:
    """The MPI library of a program: its family, its name, and the words that ask what it makes of a job."""

    family: str
    name: str
    probe: tuple[str, ...]


def library_of(program: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None) -> Library | None:
    """The MPI library that a program names, or mpi4py's where it is a script that imports it; None where there is none."""
    path = _path_of(program[0], environment, cwd)
    if path is None:
        return None
    for name in inspect_program(path, environment).libraries:
        if family := library_family(name):
            return Library(family, name, (str(native_path("nodewise-mpi-probe")), name))
    if not re.match(r"(python|pypy)[\d.]*$", path.name):
        return None
    scripts = [Path(cwd or ".", word) for word in program[1:] if word.endswith(".py")]
    texts = [_beginning(script) for script in scripts[:1] if script.is_file()]
    if "mpi4py" not in program and not any(b"mpi4py" in text for text in texts):
        return None
    return Library("", "mpi4py", (str(path), "-c", _ASK_MPI4PY))


def family_in(library: Path, environment: Mapping[str, str]) -> str:
    """The family of the MPI that a shared library needs; empty where it needs none."""
    names = libraries_of(library, environment)
    return next(filter(None, map(library_family, names)), "")


def _beginning(script: Path) -> bytes:
    with script.open("rb") as file:
        return file.read(_MOST_BYTES)


class Checked:
    """Looks at each kind of start once, before its first run: whether launcher and program make one job of the ranks."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, ...]] = set()

    def check(
        self, command: Sequence[str], at: int, ranks: int, environment: Mapping[str, str], cwd: Path | None
    ) -> None:
        """Raises InputError where the launcher is missing, refuses, or starts N ranks of size 1.

        `command[at:]` is what each rank runs.
        """
        # other numbers of ranks are started alike, other options need not be
        key = (*("" if word.isdecimal() else word for word in command[:at]), command[at])
        if key in self._seen:
            return
        head, program = command[:at], command[at:]
        launcher = _path_of(command[0], environment, cwd)
        if launcher is None:
            there = [f"--launcher {f.name}" for f in families().values() if family_of(f.programs[0], environment) is f]
            raise InputError(
                f"no such launcher on PATH: {command[0]}",
                f"take one that is here: {', '.join(there)}"
                if there
                else "install an MPI, such as openmpi-bin or mpich",
            )
        family = family_of(command[0], environment, cwd)
        _check_root(launcher, family, head, environment)
        library = library_of(program, environment, cwd)
        if family is not None and library is not None:
            if library.family and family.libraries and library.family not in family.libraries:
                raise _mismatch(command, at, ranks, family, library, environment)
            self._probe(command, at, ranks, family, library, environment, cwd)
        self._seen.add(key)

    def _probe(
        self,
        command: Sequence[str],
        at: int,
        ranks: int,
        family: Family,
        library: Library,
        environment: Mapping[str, str],
        cwd: Path | None,
    ) -> None:
        """Start the same ranks of a program that says how many there are."""
        words = [str(_path_of(command[0], environment, cwd)), *command[1:at], *library.probe]
        printed = asked(words, environment, cwd)
        sizes = [int(size) for size in re.findall(r"nodewise-mpi-probe \d+ (\d+)", printed)]
        if sizes and any(size != ranks for size in sizes):
            raise _mismatch(command, at, ranks, family, library, environment)
        if not sizes and (kind := re.search(r"Invalid MPI type '([^']*)'", printed)):
            raise InputError(
                f"{command[0]} cannot start ranks as its --mpi={kind[1]} says: it has none of that name that works here",
                f"name another: {_kind_said(command[:at], library)}{_kinds_there(command[0], environment)}",
            )
        if not sizes and family.name == "srun" and _NO_JOB.search(printed):
            raise InputError(
                f"{command[at]} is of {library.family or 'an MPI'} ({library.name}), which cannot begin by the interface that {command[0]} starts it by",
                f"name what its MPI speaks: {_kind_said(command[:at], library)}{_kinds_there(command[0], environment)}",
            )
        if not sizes and re.search(r"not enough slots|More processors requested than permitted", printed):
            raise InputError(
                f"{command[0]} has too few slots for {ranks} ranks",
                "start fewer, or allow more than there are cores: --env OMPI_MCA_rmaps_base_oversubscribe=1"
                if family.name == "openmpi"
                else "start fewer ranks, or ask for a larger allocation",
            )


def _line(words: Sequence[str]) -> str:
    return shlex.join(words)


def check_root(word: str, environment: Mapping[str, str], head: Sequence[str]) -> None:
    """Raises InputError where a launcher starts nothing for this user."""
    if (launcher := _path_of(word, environment)) is not None:
        _check_root(launcher, family_of(word, environment), head, environment)


def _check_root(launcher: Path, family: Family | None, head: Sequence[str], environment: Mapping[str, str]) -> None:
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} <= environment.keys()
    if family is not families()["openmpi"] or os.geteuid() != 0 or allowed or "--allow-run-as-root" in head:
        return
    # a site's own script of that name may allow it
    if "attempt to run as root" in asked([str(launcher), "-n", "1", "true"], environment):
        raise InputError(
            f"{launcher.name} is of Open MPI, which starts nothing for root",
            "run as another user, or allow it: --env OMPI_ALLOW_RUN_AS_ROOT=1 --env OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        )


def asked(words: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None) -> str:
    """All that a short command prints; nothing where it cannot be asked: the run itself will then show what is wrong."""
    return "".join(_printed(words, _PROBE_S, environment, cwd))


def _printed(
    words: Sequence[str], timeout_s: float, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> tuple[str, str]:
    """What a command prints to both its outputs; nothing where it cannot be started or does not end in time."""
    # not at the top: most commands start no ranks, and only read what launchers there are
    import subprocess

    try:
        ended = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            env=None if environment is None else dict(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return "", ""
    return ended.stdout, ended.stderr


def _mismatch(
    command: Sequence[str], at: int, ranks: int, family: Family, library: Library, environment: Mapping[str, str]
) -> InputError:
    program = _line(command[at:])
    own = f"{library.family} ({library.name})" if library.family else "another MPI, by mpi4py"
    what = (
        f"{command[at]} is of {own}, and {command[0]} of {family.title}: it would be {ranks} programs of one rank each, "
        f"not {ranks} ranks"
    )
    if not family.libraries:
        if family.name != "srun":
            return InputError(
                what, f"build it with the MPI that {command[0]} starts, or start it by the launcher of its own"
            )
        there = _kinds_there(command[0], environment)
        return InputError(what, f"name what its MPI speaks: {_kind_said(command[:at], library)}{there}")
    if not library.family and family.file:
        return InputError(
            what,
            f"have mpi4py take that one: --env MPI4PY_LIBMPI={family.file}; or start it by the launcher of its own",
        )
    able = starters_of(library.family)
    for other in able:
        for name in other.programs:
            if family_of(name, environment) is other:
                return InputError(what, f"start it by its own: {_line(other.words(name, ranks, 0))} {program}")
    package = f" (package {able[0].package})" if able else ""
    return InputError(what, f"start it by the launcher of its own MPI{package}")


def _kind_for(library: Library) -> str:
    """By which interface Slurm starts the programs of an MPI library."""
    return "pmix" if library.family == "Open MPI" else "pmi2"


def _kind_said(head: Sequence[str], library: Library) -> str:
    """How srun is told of that interface: an option on its line counts before the variable."""
    kind = _kind_for(library)
    if not any(word.partition("=")[0] == "--mpi" for word in head):
        return f"--env SLURM_MPI_TYPE={kind}"
    return f"--mpi={kind} in the place of its --mpi"


def _kinds_there(srun: str, environment: Mapping[str, str]) -> str:
    """What there is besides, in words; empty where srun does not say."""
    kinds = _srun_kinds(srun, environment)
    return f"; this srun has {', '.join(kinds)}" if kinds else ""


def _srun_kinds(srun: str, environment: Mapping[str, str]) -> list[str]:
    """What `srun --mpi=list` names."""
    printed = asked([str(_path_of(srun, environment) or srun), "--mpi=list"], environment)
    return list(re.findall(r"^\s*(?:srun: )?\s*(\w+)\s*$", printed, re.MULTILINE))
