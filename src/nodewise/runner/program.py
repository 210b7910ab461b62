# SPDX-License-Identifier: BSD-3-Clause
"""Program: what a command's file is, and so how its threads can be bound."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from nodewise.base.bounded_json import read_bounded
from nodewise.base.elf import Elf
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.late import late
from nodewise.base.native import native_path

#: How the files of OpenMP runtimes are called.
RUNTIMES = ("libgomp", "libiomp5", "libomp")
_THREADS = {"pthread_create", "thrd_create"}
#: What a program that is linked statically with an OpenMP runtime holds.
_OPENMP_MARKS = (b"GOMP_parallel", b"__kmpc_fork_call", b"OMP_PROC_BIND")
_INTERPRETERS = late(
    r"(python|pypy|perl|ruby|lua|node|java|julia|R|octave|bash|dash|sh|zsh|mpirun|mpiexec)[\d.]*(-cli|\.hydra)?"
)
_STANDARD = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib")
#: Larger files are read no further.
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Program:
    """`kind` is `elf`, `script` or `unknown`; `linkage` `dynamic`, `static` or empty; `openmp` a runtime's library, or empty.

    `threads` says whether it makes threads itself, `guarded` whether the system drops LD_PRELOAD for it (set-user-ID),
    `interpreter` whether it runs other people's code, that may bring a runtime of its own. `foreign` says, in words, why
    this installation's preload library is not made for it; empty where it is. `libraries` are those that it names,
    with theirs.
    """

    kind: str
    linkage: str = ""
    openmp: str = ""
    threads: bool = False
    guarded: bool = False
    interpreter: bool = False
    foreign: str = ""
    libraries: tuple[str, ...] = ()


def inspect_program(path: Path, environment: Mapping[str, str] | None = None) -> Program:
    """What a file is; `unknown` where it cannot be read. Libraries are followed as the loader would, two steps deep."""
    try:
        state = path.stat()
    except OSError:
        return Program("unknown")
    if not stat.S_ISREG(state.st_mode):
        # a pipe would be waited for
        return Program("unknown")
    return _inspect(path, (environment or {}).get("LD_LIBRARY_PATH", ""), state.st_mtime_ns, state.st_mode)


@lru_cache(maxsize=64)
def _inspect(path: Path, library_path: str, changed_ns: int, mode: int) -> Program:
    """As `inspect_program`, once for each state of the file: a search asks for the same program again and again."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except OSError:
        return Program("unknown")
    guarded = bool(mode & (stat.S_ISUID | stat.S_ISGID))
    if data[:2] == b"#!":
        return Program("script", guarded=guarded)
    try:
        elf = Elf(data)
        foreign = _why_foreign(elf)
        if not elf.dynamic:
            openmp = "static" if any(mark in data for mark in _OPENMP_MARKS) else ""
            return Program("elf", "static", openmp, threads=b"pthread_create" in data, guarded=guarded)
        imports = set(elf.imports())
        libraries = _libraries(path, elf, library_path)
    except InputError:
        return Program("unknown", guarded=guarded)
    openmp = next((r for r in RUNTIMES for name in libraries if name.startswith(r)), "")
    # std::thread and Intel's threading library make threads for their callers
    makers = any(name.startswith(("libtbb", "libpthread")) for name in libraries)
    makers |= any("_M_start_thread" in name for name in imports)
    interpreter = _INTERPRETERS.fullmatch(path.resolve().name) is not None
    threads = bool(imports & _THREADS) or makers
    return Program("elf", "dynamic", openmp, threads, guarded, interpreter, foreign, tuple(libraries))


def libraries_of(path: Path, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names of what a program or a shared library needs, two steps deep; none of what cannot be read."""
    try:
        elf = Elf(read_bounded(path, _MOST_BYTES))
        return tuple(_libraries(path, elf, (environment or {}).get("LD_LIBRARY_PATH", "")))
    except (OSError, ValueError, InputError):
        return ()


@lru_cache(maxsize=1)
def _own() -> Elf:
    """The program that is installed next to the preload library, and is linked as it is."""
    return Elf(native_path("nodewise-runner").read_bytes())


def _why_foreign(elf: Elf) -> str:
    own = _own()
    if elf.machine != own.machine:
        return "it is made for another kind of processor"
    if elf.bits != own.bits:
        return f"it is a program of {elf.bits} bits"
    # another C library, or another build of the same one, which may be older than what the library was linked with
    if elf.interpreter and os.path.realpath(elf.interpreter) != os.path.realpath(own.interpreter):
        return f"its loader is {elf.interpreter}"
    return ""


def _libraries(path: Path, elf: Elf, library_path: str) -> list[str]:
    """The names of the libraries that a program needs, with those that they need in turn where they are found."""
    found = list(elf.needed)
    for name in elf.needed:
        if name.startswith(("libc.", "libm.", "libstdc++", "libgcc_s", "ld-linux")):
            continue
        place = _find_library(name, path, elf, library_path)
        if place is not None:
            try:
                found += Elf(read_bounded(place, _MOST_BYTES)).needed
            except (OSError, ValueError, InputError):
                continue
    return found


def _find_library(name: str, path: Path, elf: Elf, library_path: str) -> Path | None:
    origin = str(path.resolve().parent)
    own = [d.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for d in elf.search]
    named = [d for d in library_path.split(":") if d]
    standard = [s for d in _STANDARD for s in (f"{d}/{os.uname().machine}-linux-gnu", d)]
    return next((p for d in [*own, *named, *standard] if (p := Path(d, name)).is_file()), None)


def find_on_path(name: str, environment: Mapping[str, str]) -> Path | None:
    """The file that a command's name means."""
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    return None if found is None else Path(found)
