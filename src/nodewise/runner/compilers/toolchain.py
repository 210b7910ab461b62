# SPDX-License-Identifier: BSD-3-Clause
"""Which compilers are there, and what a compile with one of them records about loops."""

from __future__ import annotations

import gzip
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.runner.commands import passing_folder, run_whole
from nodewise.runner.compilers.attempt import Attempt
from nodewise.runner.compilers.clang_record import PASSES, read_clang_record
from nodewise.runner.compilers.gcc_record import read_gcc_stream
from nodewise.runner.compilers.object_code import LineCode, code_lines
from nodewise.runner.compilers.preprocessed import Preprocessed, preprocess

SUFFIXES = {
    "c": {".c"},
    "c++": {".cpp", ".cc", ".cxx", ".C", ".c++", ".cp", ".CPP", ".hpp", ".hh", ".hxx"},
    "fortran": {".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08", ".F", ".F90", ".F95", ".F03", ".F08", ".FOR"},
}
DRIVERS = {
    ("gcc", "c"): ("gcc",),
    ("gcc", "c++"): ("g++",),
    ("gcc", "fortran"): ("gfortran",),
    ("clang", "c"): ("clang",),
    ("clang", "c++"): ("clang++",),
    ("clang", "fortran"): ("flang", "flang-new"),
}
#: What brings a compiler, for a hint.
PACKAGES = {"gcc": "gcc", "g++": "g++", "gfortran": "gfortran", "clang": "clang", "clang++": "clang", "flang": "flang"}
_NEWEST, _OLDEST = 30, 9
_COMPILE_LIMIT_S = 900.0
_OBJECT = "object.o"
_UNKNOWN_FLAG = re.compile(r"(?:unrecognized command-line option|unknown argument:|unsupported option) '?([^'\s;]+)'?")
_VERSION = re.compile(r"(\d+)\.\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Compiler:
    """A compiler's program; `kind` is gcc or clang, whose records differ."""

    kind: str
    program: str
    version: str

    @property
    def name(self) -> str:
        """Such as `g++ 12.2.0`."""
        return f"{Path(self.program).name} {self.version}"


@dataclass(frozen=True)
class Compiled:
    """What a compile said: the attempts, or `problem` where it failed; `dropped` are flags that this compiler does not know.

    `preprocessed` is None where the file is not preprocessed. `code` says of each line with machine code whether some of that is
    in a loop; None where the object could not be read.
    """

    compiler: Compiler
    flags: tuple[str, ...]
    attempts: tuple[Attempt, ...] = ()
    problem: str = ""
    dropped: tuple[str, ...] = ()
    preprocessed: Preprocessed | None = None
    code: Mapping[int, LineCode] | None = None


def language_of(file: Path) -> str:
    """The language by the file's suffix. Raises InputError."""
    for language, suffixes in SUFFIXES.items():
        if file.suffix in suffixes:
            return language
    raise InputError(f"{file} is no C, C++ or Fortran file by its name", "such as loop.c, loop.cpp or loop.f90")


def identify(program: str) -> Compiler | None:
    """Which compiler a program is, by what it prints for --version; None where it is not one."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=False, env=_environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    first = done.stdout.partition("\n")[0]
    kind = "clang" if re.search(r"clang|flang|LLVM", first) else "gcc" if "Free Software" in done.stdout else ""
    if done.returncode != 0 or not kind:
        return None
    without_package = re.sub(r"\([^)]*\)", "", first)
    version = _VERSION.search(without_package) or _VERSION.search(first)
    return Compiler(kind, program, version[0] if version else "")


def find_compiler(kind: str, language: str) -> Compiler | None:
    """The one that is called by its plain name, else the newest with a number in its name."""
    names = DRIVERS[kind, language]
    numbered = [f"{name}-{n}" for n in range(_NEWEST, _OLDEST - 1, -1) for name in names]
    for name in (*names, *numbered):
        found = identify(name) if shutil.which(name) else None
        if found is not None and found.kind == kind:
            return found
    return None


def default_flags() -> tuple[str, ...]:
    """What is added where the user says neither how much to optimise nor for which processor."""
    return ("-O3", "-mcpu=native" if platform.machine() == "aarch64" else "-march=native")


def names_of(file: Path, folder: Path) -> Callable[[str], bool]:
    """Whether a name is the file's; Clang writes it from the folder that both it and the compile in `folder` are in."""
    wanted, bases = file.resolve(), (folder.resolve(), *folder.resolve().parents)

    @cache
    def is_file(name: str) -> bool:
        return Path(name).name == wanted.name and any((base / name).resolve() == wanted for base in bases)

    return is_file


def compile_recorded(compiler: Compiler, file: Path, flags: Sequence[str], cwd: Path | None = None) -> Compiled:
    """Compile `file`, keep nothing, and read what was recorded. Flags that the compiler does not know are dropped."""
    used, dropped = list(flags), []
    is_file = names_of(file, cwd or Path.cwd())
    while True:
        with passing_folder("nodewise-vec-") as (folder, begun):
            problem, unknown = _compile(compiler, file, used, cwd, folder, begun)
            fresh = [flag for flag in unknown if flag in used]
            if problem and fresh:
                used = [flag for flag in used if flag not in fresh]
                dropped += fresh
                continue
            if problem:
                return Compiled(compiler, tuple(used), (), problem, tuple(dropped))
            attempts = tuple(_read(compiler, folder))
            seen = preprocess(compiler.program, file, used, cwd, is_file, begun)
            code = code_lines(folder / _OBJECT, is_file, begun)
            return Compiled(compiler, tuple(used), attempts, "", tuple(dropped), seen, code)


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def _compile(
    compiler: Compiler,
    file: Path,
    flags: Sequence[str],
    cwd: Path | None,
    folder: Path,
    begun: Callable[[str], None],
) -> tuple[str, list[str]]:
    """The first error, empty where there is none, and the flags that are said to be unknown."""
    if compiler.kind == "gcc":
        record = ["-fsave-optimization-record", "-g1"]
    else:
        record = [
            "-fsave-optimization-record",
            f"-foptimization-record-file={folder / 'record.yaml'}",
            f"-foptimization-record-passes={PASSES}",
            "-g1",
        ]
    words = [compiler.program, *flags, "-w", *record, "-c", str(file), "-o", str(folder / _OBJECT)]
    # a compiler that is killed leaves files between its parts behind
    environment = {**_environment(), "TMPDIR": str(folder)}
    try:
        done = run_whole(words, _COMPILE_LIMIT_S, begun, cwd=cwd, env=environment)
    except subprocess.TimeoutExpired:
        return f"it took longer than {_COMPILE_LIMIT_S:g} s", []
    except OSError as failure:
        return f"it cannot be started: {failure}", []
    if done.returncode == 0:
        return "", []
    return first_error(done.stderr), _UNKNOWN_FLAG.findall(done.stderr)


def first_error(printed: str) -> str:
    """The first line that says error, else the last that says anything."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    for line in lines:
        if re.search(r"\berror\b", line, re.IGNORECASE):
            return line
    return lines[-1] if lines else "it failed without a word"


def _read(compiler: Compiler, folder: Path) -> list[Attempt]:
    if compiler.kind == "gcc":
        attempts: list[Attempt] = []
        for path in sorted(folder.glob("*.json.gz")):
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as stream:
                attempts += read_gcc_stream(stream, compiler.name)
        return attempts
    record = folder / "record.yaml"
    if not record.exists():
        return []
    with record.open(encoding="utf-8", errors="replace") as stream:
        return read_clang_record(stream, compiler.name)


def demangled(names: Sequence[str]) -> dict[str, str]:
    """Names of functions as they are written, by c++filt where it is there; others stay as they are."""
    mangled = sorted({n for n in names if n.startswith(("_Z", "__Z"))})
    program = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if not mangled or program is None:
        return {}
    done = subprocess.run([program], input="\n".join(mangled), capture_output=True, text=True, check=False)
    written = done.stdout.splitlines()
    return dict(zip(mangled, written, strict=True)) if len(written) == len(mangled) else {}
