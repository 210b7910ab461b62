# SPDX-License-Identifier: BSD-3-Clause
"""What would spoil a profile, named before the program is started."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.profile.interpreter import PERF_MAPS, Python
from nodewise.profile.target import read_sections

#: The capabilities (linux/capability.h) that lift what the kernel's settings forbid.
_SYS_PTRACE, _SYS_ADMIN, _PERFMON = 19, 21, 38
#: Programs that compile while they run, and with which options they write names for perf.
_COMPILERS = {
    "java": ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer"),
    "node": ("--perf-basic-prof",),
}
_PARANOID = "proc/sys/kernel/perf_event_paranoid"
_PTRACE = "proc/sys/kernel/yama/ptrace_scope"


def traps(
    program: Path,
    folder: Path,
    environment: Mapping[str, str],
    command: Sequence[str],
    python: Python | None = None,
    py_spy: bool = False,
    root: Path = Path("/"),
    py_spy_installed: bool = False,
) -> list[str]:
    """What would spoil the profile of a program that is recorded into a folder, each in a sentence.

    `command` is the whole of it, with what starts ranks; `python` what runs the program, `py_spy` whether that is what records it, which it
    may not be though it is installed. The kernel's settings are read
    below `root`.
    """
    found = [] if python is not None else _of_the_file(program)
    if python is not None and not python.shows_perf and not py_spy:
        found.append(_of_python(python, py_spy_installed))
    found += _of_compilers(command)
    if preloads := environment.get("LD_PRELOAD", "").strip():
        found.append(f"other libraries are preloaded and are part of what is seen: {preloads}")
    # one that is made for it is on the filesystem of what it is made in
    if not _can_map(next((p for p in (folder, *folder.parents) if p.is_dir()), folder)):
        found.append(
            f"files in {folder} cannot be mapped into memory, which perf needs to read them: choose another with --out"
        )
    if environment.get("PMI_NO_FORK") != "1" and command and Path(command[0]).name == "aprun":
        found.append("under aprun set PMI_NO_FORK=1: the program is started by perf, not by the launcher itself")
    found += _of_rights(root, py_spy)
    return found


def _of_python(python: Python, py_spy_installed: bool) -> str:
    """Why the functions of a script are not seen, and what shows them."""
    old = python.version < PERF_MAPS
    lacks = "" if old else ", having been compiled without frame pointers"
    remedy = "without --off-cpu, --call-graph and --max-size it records" if py_spy_installed else "pip install py-spy"
    newer = ", Python 3.12 or newer does by itself" if old else ""
    return (
        f"Python {_version(python)} shows perf its interpreter's functions, not those of the script{lacks}: "
        f"py-spy shows these ({remedy}){newer}"
    )


def _of_compilers(command: Sequence[str]) -> list[str]:
    """Of programs that compile while they run: what makes them say which function is where."""
    name = Path(command[0]).name if command else ""
    return [
        f"functions that {name} compiles while it runs have no names here but with {' '.join(needed)}"
        for compiler, needed in _COMPILERS.items()
        if name == compiler and not set(needed) <= set(command)
    ]


def _version(python: Python) -> str:
    return ".".join(map(str, python.version))


def _of_the_file(program: Path) -> list[str]:
    sections = read_sections(program)
    if sections is None:
        return []
    if ".symtab" not in sections and ".dynsym" not in sections:
        return [f"{program.name} is stripped and static: its functions have no names here"]
    if ".symtab" not in sections:
        return [f"{program.name} is stripped: of its functions only those that it exports have names; link without -s"]
    if ".dynsym" not in sections:
        return [f"{program.name} is static: libraries' functions are counted as its own"]
    return []


def _of_rights(root: Path, py_spy: bool) -> list[str]:
    """What the kernel does not let this process see."""
    capabilities = _capabilities(root)
    found = []
    paranoid = _number(root / _PARANOID)
    if not py_spy and paranoid is not None and paranoid > 1 and not capabilities & (1 << _PERFMON | 1 << _SYS_ADMIN):
        found.append(
            f"time in the kernel is not seen: kernel.perf_event_paranoid is {paranoid} (as root: sysctl kernel.perf_event_paranoid=1)"
        )
    scope = _number(root / _PTRACE)
    if py_spy and scope is not None and scope > 1 and not capabilities & 1 << _SYS_PTRACE:
        remedy = "as root: sysctl kernel.yama.ptrace_scope=1" if scope == 2 else "only a restart lifts that"
        found.append(f"py-spy may not read the program: kernel.yama.ptrace_scope is {scope} ({remedy})")
    return found


def _capabilities(root: Path) -> int:
    """Those in effect of this process, as bits."""
    try:
        lines = (root / "proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _can_map(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * os.sysconf("SC_PAGE_SIZE"))
            file.flush()
            with mmap.mmap(file.fileno(), 0):
                return True
    except (OSError, ValueError):
        return False
