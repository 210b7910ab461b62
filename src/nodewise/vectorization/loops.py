# SPDX-License-Identifier: BSD-3-Clause
"""What compilers made of the loops of a file: each loop once, with all its instances of all compilers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.runner.compilers.attempt import Attempt, Outcome
from nodewise.runner.compilers.database import Command, optimises, own_flags, says_how
from nodewise.runner.compilers.source_loops import SourceLoop, innermost, loops_of, without_noise
from nodewise.runner.compilers.toolchain import (
    DRIVERS,
    PACKAGES,
    Compiled,
    Compiler,
    compile_recorded,
    default_flags,
    demangled,
    find_compiler,
    identify,
    language_of,
)

KINDS = ("gcc", "clang")
#: Clang looks for OpenMP's header beside itself, where Debian has it in a package of its own.
_OPENMP = "libomp-dev"


@dataclass
class Loop:
    """A loop of the source with its instances by compiler; `own` is its own text without comments and literals.

    `in_source` is whether its keyword was found; a loop of a macro, or an array statement of Fortran, has none.
    """

    line: int
    column: int
    end_line: int
    text: str
    own: str = ""
    depth: int = 0
    nest: bool = False
    in_source: bool = True
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)

    @property
    def functions(self) -> tuple[str, ...]:
        """Those that it stands in, as far as compilers say; where it was inlined, its own first."""
        names = [a.chain[0] if a.chain else a.function for found in self.attempts.values() for a in found]
        return tuple(dict.fromkeys(names))

    def outcomes(self, compiler: str) -> set[Outcome]:
        """What became of its instances."""
        return {a.outcome for a in self.attempts.get(compiler, ())}


@dataclass
class Examined:
    """A file's loops, and how that was found out; `elsewhere` counts loops of other files by file."""

    file: Path
    language: str
    flags: tuple[str, ...]
    flags_from: str
    remarks: list[str]
    compiled: list[Compiled]
    loops: list[Loop] = field(default_factory=list)
    straight: list[Attempt] = field(default_factory=list)
    elsewhere: dict[str, int] = field(default_factory=dict)

    @property
    def compilers(self) -> list[Compiler]:
        """Those that compiled it."""
        return [c.compiler for c in self.compiled if not c.problem]


def examine(
    file: Path, flags: Sequence[str], wanted: Sequence[str] = KINDS, command: Command | None = None
) -> Examined:
    """Compile `file` with each of the compilers, which are kinds or programs, and bring their loops together.

    Raises InputError where the file cannot be read or compiled, or no compiler is there.
    """
    if not file.is_file():
        raise InputError(f"no such file: {file}", "name the source of a program in C, C++ or Fortran")
    language = language_of(file)
    remarks: list[str] = []
    used, origin = _flags(flags, command, remarks, file)
    compilers = _compilers(wanted, language, remarks)
    folder = command.folder if command else None
    compiled = [compile_recorded(c, file.absolute(), used, folder) for c in compilers]
    for done in compiled:
        if done.dropped:
            remarks.append(f"{done.compiler.name} does not know {' '.join(done.dropped)}: left out")
        if done.problem:
            hint = f" (package {_OPENMP} brings it)" if "'omp.h' file not found" in done.problem else ""
            remarks.append(f"{done.compiler.name} does not compile it: {done.problem}{hint}")
    if all(done.problem for done in compiled):
        raise InputError(f"{compiled[0].compiler.name} does not compile {file}: {compiled[0].problem}", _hint(command))
    found = Examined(file, language, tuple(used), origin, remarks, compiled)
    attempts = [a for done in compiled for a in done.attempts]
    if not attempts and not optimises(used):
        remarks.append("no compiler looked for loops with these flags: -O3 makes them")
    names = demangled([a.function for a in attempts])
    _gather(found, [replace(a, function=names.get(a.function, a.function)) for a in attempts], folder)
    return found


def _hint(command: Command | None) -> str:
    if command is None:
        return "correct it, or give the flags that it needs after --, or a compile database with -p build"
    return "these are the flags of the compile database; is what it includes still there?"


def _flags(flags: Sequence[str], command: Command | None, remarks: list[str], file: Path) -> tuple[list[str], str]:
    kept, left_out = own_flags(flags, file)
    origin = "given"
    if command is not None:
        kept = [*command.flags, *kept]
        left_out = [*command.left_out, *left_out]
        origin = "compile database" + (" and given" if flags else "")
    if left_out:
        remarks.append(f"left out, because loops would only be compiled when linking: {' '.join(left_out)}")
    if not says_how(kept):
        kept = [*default_flags(), *kept]
        origin = "default, as there is no -O and no -march" if not flags and not command else f"default and {origin}"
    return kept, origin


def _compilers(wanted: Iterable[str], language: str, remarks: list[str]) -> list[Compiler]:
    found: list[Compiler] = []
    missing: list[str] = []
    for name in wanted:
        compiler = find_compiler(name, language) if name in KINDS else identify(name)
        if compiler is not None:
            found.append(compiler)
        elif name in KINDS:
            program = DRIVERS[name, language][0]
            missing.append(f"{program} is not installed (package {PACKAGES[program]})")
        else:
            raise InputError(f"no compiler that is known: {name}", "name gcc, clang, or a program such as g++-13")
    if not found:
        raise InputError("; ".join(missing), "install one of them: apt-get install " + _package(wanted, language))
    remarks += missing
    return found


def _package(wanted: Iterable[str], language: str) -> str:
    first = next((name for name in wanted if name in KINDS), "gcc")
    return PACKAGES[DRIVERS[first, language][0]]


def _gather(found: Examined, attempts: Iterable[Attempt], folder: Path | None) -> None:
    text = found.file.read_text(errors="replace")
    lines = text.splitlines()
    clean = text.splitlines() if found.language == "fortran" else without_noise(text).splitlines()
    sources = loops_of(text, found.language == "fortran")
    loops = {s: _loop_of(s, sources, lines, clean) for s in sources}
    loose: dict[int, Loop] = {}
    wanted = found.file.resolve()
    files: dict[str, bool] = {}
    for attempt in attempts:
        name = attempt.place.file
        if name not in files:
            files[name] = _is(name, wanted, (folder or Path.cwd()).resolve())
        if not files[name]:
            found.elsewhere[name] = found.elsewhere.get(name, 0) + (attempt.outcome is not Outcome.STRAIGHT)
        elif attempt.outcome is Outcome.STRAIGHT:
            found.straight.append(attempt)
        else:
            source = innermost(sources, attempt.place.line, attempt.place.column)
            loop = loops[source] if source else _loose_loop(loose, attempt.place.line, lines)
            loop.attempts.setdefault(attempt.compiler, []).append(attempt)
    for loop in loops.values():
        for compiler, seen in loop.attempts.items():
            loop.attempts[compiler] = _without_removed(seen)
    found.loops = sorted([*loops.values(), *loose.values()], key=lambda loop: (loop.line, loop.column))


def _is(name: str, wanted: Path, folder: Path) -> bool:
    """Whether a name in a record is the file's; Clang writes it from the folder that both it and the compile are in."""
    return any((base / name).resolve() == wanted for base in (folder, *folder.parents))


def _without_removed(attempts: list[Attempt]) -> list[Attempt]:
    """A loop that became a library call is removed then: that is told once."""
    if any(a.outcome is not Outcome.REMOVED for a in attempts):
        return [a for a in attempts if a.outcome is not Outcome.REMOVED]
    return attempts


def _loop_of(source: SourceLoop, sources: Sequence[SourceLoop], lines: Sequence[str], clean: Sequence[str]) -> Loop:
    own = list(clean[source.line - 1 : source.end_line])
    if own:
        own[-1] = own[-1][: source.end_column]
        own[0] = " " * (source.column - 1) + own[0][source.column - 1 :]
    nest = any(s is not source and source.holds(s.line, s.column) for s in sources)
    return Loop(
        source.line,
        source.column,
        source.end_line,
        lines[source.line - 1].strip() if source.line <= len(lines) else "",
        "\n".join(own),
        source.depth,
        nest,
    )


def _loose_loop(loose: dict[int, Loop], line: int, lines: Sequence[str]) -> Loop:
    if line not in loose:
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        loose[line] = Loop(line, 1, line, text, text, in_source=False)
    return loose[line]
