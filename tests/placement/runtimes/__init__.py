# SPDX-License-Identifier: BSD-3-Clause
"""Real OpenMP runtimes asked where they bind threads, on machines that are not here.

A preloaded library tells the runtime that the kernel has other processors. Intel's reads the machine from hwloc's
synthetic description or XML, GNU's from files as of /sys, LLVM's from one as /proc/cpuinfo, both made up here.
"""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from nodewise.base.processors import format_processors, parse_processors
from nodewise.machine.model import Machine
from nodewise.placement.job import within
from nodewise.placement.objects import last_level_caches, objects

HERE = Path(__file__).parent


#: Where the package intel-openmp, which ./dev test installs, and Debian's libomp5 have their libraries.
INTEL = Path(sys.prefix, "lib", "libiomp5.so")
LLVM = Path("/usr/lib/llvm-14/lib/libomp.so.5")


@cache
def _built(folder: Path, library: Path | None) -> tuple[Path, Path]:
    """The preload, and a program with a parallel region for that library, or for GNU's runtime."""
    name = "gnu" if library is None else hashlib.sha256(str(library).encode()).hexdigest()[:12]
    preload, team, program = (folder / name for name in ("pretend.so", "team.o", f"team-{name}"))
    compiler = ["g++", "-O1", "-x", "c"]
    if not preload.exists():
        subprocess.run([*compiler, "-shared", "-fPIC", str(HERE / "pretend.c"), "-o", str(preload), "-ldl"], check=True)
        subprocess.run([*compiler, "-fopenmp", "-c", str(HERE / "team.c"), "-o", str(team)], check=True)
    linked = ["-fopenmp"] if library is None else [str(library), f"-Wl,-rpath,{library.parent}"]
    subprocess.run(["g++", str(team), *linked, "-o", str(program)], check=True)
    return preload, program


@pytest.fixture(scope="session")
def runtime_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runtimes")


class EndedError(RuntimeError):
    """The runtime ended the program, as where a thread cannot be created: its message."""


@dataclass(frozen=True)
class Reported:
    """What each thread of the innermost region may use, in the order of its teams, and what the runtime warned of."""

    places: list[tuple[int, ...]]
    warnings: str


def _ask(
    folder: Path, library: Path | None, machine: Machine, env: dict[str, str], threads: int, levels: int
) -> Reported:
    preload, program = _built(folder, library)
    pretended = {
        "LD_PRELOAD": str(preload),
        "PRETEND_PROCESSORS": format_processors(machine.allowed),
        "PRETEND_EXISTING": format_processors(machine.pus),
        "TEAM_LEVELS": str(levels),
        # more threads than processors that spin would take minutes
        "GOMP_SPINCOUNT": "0",
    }
    done = subprocess.run(
        [str(program)],
        check=False,
        env={"PATH": os.environ["PATH"], "OMP_NUM_THREADS": str(threads), **pretended, **env},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )
    if done.returncode:
        raise EndedError(done.stderr + done.stdout)
    said = re.findall(r"thread ([\d.]+) may use (\S+)", done.stdout)
    said.sort(key=lambda one: [int(number) for number in one[0].split(".")])
    return Reported([parse_processors(mask) for _, mask in said], done.stderr)


def ask_intel(folder: Path, machine: Machine, env: dict[str, str], threads: int, levels: int = 1) -> Reported:
    """What each thread may use by Intel's runtime, which takes the machine from hwloc. Raises EndedError."""
    kind, _, text = machine.source.partition(":")
    assert INTEL.exists(), "the runtime of the package intel-openmp, which ./dev test installs, is missing"
    source = {
        "HWLOC_SYNTHETIC" if kind == "synthetic" else "HWLOC_XMLFILE": text,
        "HWLOC_THISSYSTEM": "1",
        "KMP_TOPOLOGY_METHOD": "hwloc",
    }
    again = 12
    while True:
        try:
            return _ask(folder, INTEL, machine, {**source, **env}, threads, levels)
        except EndedError as problem:
            # now and then it starts on a mask of its own that was never filled
            again -= 1
            if not again or "hwloc_set_cpubind() failed" not in str(problem):
                raise


def ask_llvm(folder: Path, machine: Machine, env: dict[str, str], threads: int, levels: int = 1) -> Reported:
    """What each thread may use by LLVM's runtime, which takes the machine from a file as /proc/cpuinfo. Raises EndedError."""
    source = {"KMP_CPUINFO_FILE": str(_file(folder, "cpuinfo", machine, _cpuinfo))}
    return _ask(folder, LLVM, machine, {**source, **env}, threads, levels)


def ask_gnu(folder: Path, machine: Machine, env: dict[str, str], threads: int, levels: int = 1) -> Reported:
    """What each thread may use by libgomp, which takes the machine from files as below /sys. Raises EndedError."""
    source = {"PRETEND_SYSTEM": str(_file(folder, "system", machine, _system))}
    return _ask(folder, None, machine, {**source, **env}, threads, levels)


def _cpuinfo(machine: Machine) -> str:
    """As /proc/cpuinfo on x86: the socket and the core within it of each processor."""
    packages = objects(within(machine, machine.pus), "package") or [machine.pus]
    place = {}
    for number, package in enumerate(packages):
        inside = [core for core in objects(within(machine, machine.pus), "core") if core[0] in package]
        place |= {p: (number, i) for i, core in enumerate(inside) for p in core}
    return "".join(
        f"processor\t: {p}\nphysical id\t: {place[p][0]}\ncore id\t\t: {place[p][1]}\n\n" for p in sorted(machine.pus)
    )


def _file(folder: Path, name: str, machine: Machine, write: Callable[[Machine], str]) -> Path:
    path = folder / f"{name}-{hashlib.sha256(machine.source.encode()).hexdigest()[:24]}"
    if not path.exists():
        path.write_text(write(machine))
    return path


def _system(machine: Machine) -> str:
    """What libgomp reads of /sys: siblings of each processor, its caches' levels and the last one, and the NUMA nodes."""
    whole = within(machine, machine.pus)
    kinds = {
        "topology/thread_siblings_list": objects(whole, "core"),
        "topology/core_siblings_list": objects(whole, "package") or [machine.pus],
        "cache/index0/shared_cpu_list": objects(whole, "core"),
        "cache/index1/shared_cpu_list": last_level_caches(whole),
    }
    lines = []
    for name, groups in kinds.items():
        for group in groups:
            for p in group:
                path = f"/sys/devices/system/cpu/cpu{p}/{name}"
                lines.append(f"{path}\t{format_processors(group)}")
                if name.startswith("cache"):
                    lines.append(f"{path.rpartition('/')[0]}/level\t{3 if 'index1' in name else 1}")
    nodes = {n.os_index: n.pus for n in machine.numa_nodes if n.pus}
    lines += [
        f"/sys/devices/system/node/node{number}/cpulist\t{format_processors(pus)}" for number, pus in nodes.items()
    ]
    if nodes:
        lines.append(f"/sys/devices/system/node/online\t{format_processors(nodes)}")
    return "\n".join(lines) + "\n"
