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
from functools import cache
from pathlib import Path

import pytest

from nodewise.base.processors import format_processors, parse_processors
from nodewise.machine.model import Machine
from nodewise.placement.job import within
from nodewise.placement.objects import last_level_caches, objects

HERE = Path(__file__).parent


@cache
def _built(folder: Path) -> tuple[Path, Path, Path]:
    """The preload, and a program with one parallel region for Intel's runtime and for GNU's."""
    preload, intel, gnu, team = (folder / name for name in ("pretend.so", "intel", "gnu", "team.o"))
    library = Path(sys.prefix, "lib", "libiomp5.so")
    assert library.exists(), "the runtime of the package intel-openmp, which ./dev test installs, is missing"
    compiler = ["g++", "-O1", "-x", "c"]
    subprocess.run([*compiler, "-shared", "-fPIC", str(HERE / "pretend.c"), "-o", str(preload), "-ldl"], check=True)
    subprocess.run([*compiler, "-fopenmp", "-c", str(HERE / "team.c"), "-o", str(team)], check=True)
    rpath = f"-Wl,-rpath,{library.parent}"
    subprocess.run(["g++", str(team), str(library), rpath, "-o", str(intel)], check=True)
    subprocess.run(["g++", "-fopenmp", str(team), "-o", str(gnu)], check=True)
    return preload, intel, gnu


@pytest.fixture(scope="session")
def runtime_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runtimes")


def _run(program: Path, preload: Path, machine: Machine, env: dict[str, str]) -> tuple[str, int]:
    pretended = {
        "LD_PRELOAD": str(preload),
        "PRETEND_PROCESSORS": format_processors(machine.allowed),
        "PRETEND_EXISTING": format_processors(machine.pus),
    }
    done = subprocess.run(
        [str(program)],
        check=False,
        env={"PATH": os.environ["PATH"], **pretended, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stderr + done.stdout, done.returncode


def ask_intel(folder: Path, machine: Machine, env: dict[str, str], threads: int) -> list[tuple[int, ...]] | None:
    """The places of the threads; None where the runtime binds nothing, and says so.

    Raises RuntimeError where it ends by a fault of its own.
    """
    preload, program, _ = _built(folder)
    said = env.get("KMP_AFFINITY")
    asked = {**env, "KMP_AFFINITY": f"verbose,{said}" if said else "verbose", "OMP_NUM_THREADS": str(threads)}
    source = {
        "HWLOC_SYNTHETIC": machine.source.removeprefix("synthetic:"),
        "HWLOC_THISSYSTEM": "1",
        "KMP_TOPOLOGY_METHOD": "hwloc",
    }
    text, status = _run(program, preload, machine, {**source, **asked})
    if status:
        raise RuntimeError(text)
    found = {int(t): places for t, places in re.findall(r"thread (\d+) bound to OS proc set (\S+)", text)}
    if not found or any("empty" in places for places in found.values()):
        return None
    return [parse_processors(found[t]) for t in range(threads)]


class Ended(RuntimeError):
    """The runtime ended the program, as where a thread cannot be created: its message."""


def ask_gnu(folder: Path, machine: Machine, env: dict[str, str], threads: int) -> list[tuple[int, ...]]:
    """The places of the threads, as libgomp shows them; the files that it reads are made up below `folder`.

    Raises Ended where libgomp ends the program.
    """
    preload, _, program = _built(folder)
    system = _file(folder, "system", machine, _system)
    shown = {"OMP_DISPLAY_AFFINITY": "true", "OMP_AFFINITY_FORMAT": "%n bound to %A"}
    asked = {"PRETEND_SYSTEM": str(system), "OMP_NUM_THREADS": str(threads), **shown, **env}
    text, status = _run(program, preload, machine, asked)
    if status:
        raise Ended(text)
    found = {int(t): parse_processors(places) for t, places in re.findall(r"(\d+) bound to (\S+)", text)}
    # bound to nothing that is there, the main thread stays as it was, whatever libgomp shows
    if not set(found[0]) & set(machine.pus):
        found[0] = tuple(sorted(machine.allowed))
    return [found[t] for t in range(threads)]


def _file(folder: Path, name: str, machine: Machine, write: Callable[[Machine], str]) -> Path:
    path = folder / f"{name}-{hashlib.sha256(machine.source.encode()).hexdigest()[:24]}"
    if not path.exists():
        path.write_text(write(machine))
    return path


def _system(machine: Machine) -> str:
    """What libgomp reads of /sys: siblings of each processor, its caches' levels and the last one, and the memory nodes."""
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
    lines += [f"/sys/devices/system/node/node{number}/cpulist\t{format_processors(pus)}" for number, pus in nodes.items()]
    if nodes:
        lines.append(f"/sys/devices/system/node/online\t{format_processors(nodes)}")
    return "\n".join(lines) + "\n"
