# SPDX-License-Identifier: BSD-3-Clause
"""What works here and what does not: the optional parts, what each is for, and what brings it."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping

from nodewise.base.distributions import how_to_install
from nodewise.base.errors import UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.isolation.kind import Kind, all_kinds, search_path
from nodewise.isolation.probe import ELSEWHERE, working_way
from nodewise.runner.local import LocalLauncher
from nodewise.runner.setting import Setting

#: How long a program may take to tell its version.
_ASK_S = 20.0
#: Of a part that is here, that can be had, or that this system does not have.
WORKS, MISSING, OFF = "works", "missing", "off"


@dataclass(frozen=True)
class Part:
    """An optional part: what it is `needed_for`, its `state` (`works`, `missing`, `off`), what was `found`, and what to do where it does not
    work (`remedy`).
    """

    name: str
    needed_for: str
    state: str
    found: str
    remedy: str


@dataclass(frozen=True)
class Diagnosis:
    """All parts, in the order in which they are shown."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class _Program:
    """A program, by the first of its names that is on PATH."""

    names: tuple[str, ...]
    needed_for: str
    package: str
    remedy: str = "install it anew, or see what it says: it is there and does not start"


_PROGRAMS = (
    _Program(("g++",), "vec, studies of your own", "g++"),
    _Program(("clang",), "vec: what Clang says", "clang"),
    _Program(("perf",), "profile", "linux-perf (Ubuntu: linux-tools-generic)"),
    _Program(("addr2line",), "profile: source lines", "binutils"),
    _Program(("git",), "history by commit", "git"),
    _Program(("mpirun.openmpi", "ompi_info"), "ranks by Open MPI", "openmpi-bin"),
    _Program(("mpiexec.mpich", "mpiexec.hydra"), "ranks by MPICH", "mpich"),
    _Program(
        ("srun",),
        "ranks by Slurm, tune --submit",
        "slurm-client",
        "see that its configuration is found: SLURM_CONF, or /etc/slurm/slurm.conf",
    ),
)
_PACKAGES = (
    ("nodewise-studies", "dgemm, hash, store and other studies", how_to_install("nodewise-studies")),
    ("vl-convert-python", "figures as files: report --png, --svg", "pip install 'nodewise[figures]'"),
    ("psycopg", "history on a PostgreSQL server", "pip install 'nodewise[postgres]'"),
)


def diagnose(
    environment: Mapping[str, str] | None = None, on_part: Callable[[str], None] = lambda _: None
) -> Diagnosis:
    """Every optional part, tried; `on_part` is called with the name of each that may take seconds. Changes nothing."""
    search = (os.environ if environment is None else environment).get("PATH", "")
    return Diagnosis(
        (
            *(_program(one, search) for one in _PROGRAMS),
            *(_package(*one) for one in _PACKAGES),
            *_isolation(on_part),
            *_of_a_run(),
            *(part() for part in _OF_THE_SYSTEM),
        )
    )


def _program(one: _Program, search: str) -> Part:
    path = next((found for name in one.names if (found := shutil.which(name, path=search))), None)
    if path is None:
        return Part(one.names[0], one.needed_for, MISSING, "not on PATH", f"apt-get install {one.package}")
    if why := _failing(path):
        return Part(one.names[0], one.needed_for, OFF, f"{path} --version fails: {why}", one.remedy)
    return Part(one.names[0], one.needed_for, WORKS, path, "")


def _failing(path: str) -> str:
    """The last that a program says where it does not even tell its version; empty where it does."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, stdin=subprocess.DEVNULL, timeout=_ASK_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it does not answer within {_ASK_S:g} s"
    except OSError as problem:
        return problem.strerror or str(problem)
    lines = [line for line in (done.stdout + b"\n" + done.stderr).decode(errors="replace").splitlines() if line.strip()]
    return (lines[-1].strip() if lines else f"exit code {done.returncode}") if done.returncode else ""


def _package(name: str, needed_for: str, remedy: str) -> Part:
    try:
        return Part(name, needed_for, WORKS, importlib.metadata.version(name), "")
    except importlib.metadata.PackageNotFoundError:
        return Part(name, needed_for, MISSING, "not installed in this Python", remedy)


def _isolation(on_part: Callable[[str], None]) -> list[Part]:
    """The kinds of isolation, each by a start of `true` where no answer was kept."""
    found = []
    for kind in all_kinds().values():
        if kind.start is not None:
            on_part(kind.name)
            found.append(_kind(kind))
    return found


#: This is where others are sent to.
_ISOLATION = "docs/isolation.md says what it needs"


def _kind(kind: Kind) -> Part:
    needed_for = f"--isolation {kind.name}: {kind.title}"
    try:
        way = working_way(kind)
    except UnavailableError as problem:
        there = all(shutil.which(name, path=search_path()) for name in kind.programs)
        why = problem.what.removeprefix(f"{kind.name} does not work here: ")
        remedy = problem.hint or ""
        return Part(
            kind.name, needed_for, OFF if there else MISSING, why, _ISOLATION if remedy == ELSEWHERE else remedy
        )
    how = f", {way.name}" if way.name else ""
    emulated = ": its times mean nothing, and it is not ranked" if way.emulated else ""
    return Part(kind.name, needed_for, WORKS, f"it starts programs{how}{emulated}", "")


def _of_a_run() -> tuple[Part, Part]:
    """What the runner says of hardware counters and energy after a run of `true`."""
    with LocalLauncher() as launcher:
        launcher.run(Setting(command=(shutil.which("true") or sys.executable,)))
        counters, energy = launcher.counters_missing, launcher.energy_missing
    return (
        Part(
            "hardware counters",
            "cycles and clock of each run",
            OFF if counters else WORKS,
            counters or "cycles are counted",
            "a virtual machine shows none unless its host does; else: sysctl kernel.perf_event_paranoid=2"
            if counters
            else "",
        ),
        Part(
            "energy",
            "energy_j: --minimize energy_j",
            OFF if energy else WORKS,
            energy or "the kernel's counters",
            "a virtual machine has none; else, as root: chmod a+r /sys/class/powercap/*/energy_uj" if energy else "",
        ),
    )


def _file(name: str, needed_for: str, path: str, remedy: str) -> Callable[[], Part]:
    def part() -> Part:
        there = os.access(path, os.R_OK)
        return Part(
            name,
            needed_for,
            WORKS if there else OFF,
            path if there else f"{path} is not there",
            "" if there else remedy,
        )

    return part


_OF_THE_SYSTEM: tuple[Callable[[], Part], ...] = (
    _file(
        "pressure",
        "marks of runs that waited for memory or disks",
        "/proc/pressure/memory",
        "a kernel with CONFIG_PSI, started with psi=1",
    ),
    _file(
        "waiting", "marks of runs that waited for processors", "/proc/self/schedstat", "a kernel with CONFIG_SCHED_INFO"
    ),
    _file(
        "clock",
        "quiet: governors and limits of the clock",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "a virtual machine does not show it",
    ),
)
