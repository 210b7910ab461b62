# SPDX-License-Identifier: BSD-3-Clause
"""What compilers made of the loops of a file: each loop once, with all its instances of all compilers."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.runner.compilers.attempt import Attempt, Outcome
from nodewise.runner.compilers.database import Command, optimises, own_flags, says_how
from nodewise.runner.compilers.directives import Directive, collapsed_into, directives_of, openmp_of
from nodewise.runner.compilers.functions import function_at, functions_of
from nodewise.runner.compilers.object_code import code_of
from nodewise.runner.compilers.preprocessed import lines_left_out, with_macros
from nodewise.runner.compilers.source_loops import SourceLoop, loops_of, without_noise
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
    names_of,
)
from nodewise.vectorization.places import Places

KINDS = ("gcc", "clang")
#: Clang looks for OpenMP's header next to itself, where Debian has it in a package of its own.
_OPENMP = "libomp-dev"


class Unseen(StrEnum):
    """Why a compiler reports nothing of a loop."""

    LEFT_OUT = "left out"
    COLLAPSED = "collapsed"
    NO_CODE = "no code"
    NO_FUNCTION = "no function"
    STRAIGHT = "straight"
    LOOP = "loop"
    UNKNOWN = "unknown"


@dataclass
class Loop:
    """A loop of the source with its instances by compiler; `own` is its own text without comments and literals, but with directives.

    `in_source` is whether its keyword was found; a loop of an array statement of Fortran has none. `function` is the name of
    the one that it is written in, `directive` the OpenMP directive that is about it, `collapsed` the line of the loop that
    such a directive makes one with it. `unseen` says of compilers that report nothing of it why that is so, `still` names those
    in whose machine code its lines are in a loop, `widens` those in whose code that loop makes doubles of floats.
    """

    line: int
    column: int
    end_line: int
    text: str
    own: str = ""
    depth: int = 0
    nest: bool = False
    in_source: bool = True
    function: str = ""
    directive: Directive | None = None
    collapsed: int = 0
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    unseen: dict[str, Unseen] = field(default_factory=dict)
    still: set[str] = field(default_factory=set)
    widens: set[str] = field(default_factory=set)

    @property
    def functions(self) -> tuple[str, ...]:
        """Those that it stands in, as far as compilers say; where it was inlined, its own first."""
        names = [a.chain[0] if a.chain else a.function for found in self.attempts.values() for a in found]
        return tuple(dict.fromkeys([*([self.function] if self.function else []), *names]))

    def outcomes(self, compiler: str) -> set[Outcome]:
        """What became of its instances."""
        return {a.outcome for a in self.attempts.get(compiler, ())}


@dataclass
class Examined:
    """A file's loops, and how that was found out; `elsewhere` counts loops of other files by file.

    `openmp` is whether OpenMP's directives mean anything with these flags, `simd` whether `omp simd` does.
    """

    file: Path
    language: str
    flags: tuple[str, ...]
    flags_from: str
    remarks: list[str]
    compiled: list[Compiled]
    loops: list[Loop] = field(default_factory=list)
    straight: list[Attempt] = field(default_factory=list)
    elsewhere: dict[str, int] = field(default_factory=dict)
    openmp: bool = False
    simd: bool = False

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
    if not any(done.attempts for done in compiled) and not optimises(used):
        remarks.append("no compiler looked for loops with these flags: -O3 makes them")
    found.openmp, found.simd = openmp_of(used)
    if _gather(found, folder or Path.cwd()) and not found.openmp:
        half = "only its simd directives count, by -fopenmp-simd" if found.simd else "its directives are ignored"
        line = shlex.join(["nodewise", "vec", str(file), "--", *flags, "-fopenmp"])
        how = f"as it runs: {line}" if command is None else "give it behind the file: -- -fopenmp"
        remarks.append(f"the file uses OpenMP and is compiled without -fopenmp: {half}; {how}")
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


def _gather(found: Examined, folder: Path) -> bool:
    """Bring together what the compilers report; whether the source has directives of OpenMP."""
    text = found.file.read_text(errors="replace")
    source = _Source(text, found)
    loops = {s: source.loop(s) for s in source.loops}
    loose: dict[int, Loop] = {}
    places = Places(source.loops, source.directives, names_of(found.file, folder), folder.resolve(), source.functions)
    for done in found.compiled:
        _take(found, done, places, loops, loose, source)
    for loop in loops.values():
        for compiler, seen in loop.attempts.items():
            loop.attempts[compiler] = _without_removed(seen)
    for written, loop in loops.items():
        for done in found.compiled:
            if done.code and code_of(done.code, range(loop.line, loop.end_line + 1))[1]:
                loop.still.add(done.compiler.name)
                if any(done.code[n].widens for n in range(loop.line, loop.end_line + 1) if n in done.code):
                    loop.widens.add(done.compiler.name)
            if not done.problem and done.compiler.name not in loop.attempts:
                loop.unseen[done.compiler.name] = source.unseen(written, loop, done)
    found.loops = sorted([*loops.values(), *loose.values()], key=lambda loop: (loop.line, loop.column))
    return any("omp" in d.text for d in source.directives)


def _take(
    found: Examined,
    done: Compiled,
    places: Places,
    loops: Mapping[SourceLoop, Loop],
    loose: dict[int, Loop],
    source: _Source,
) -> None:
    """Put what a compiler reports where it belongs."""
    names = demangled([name for a in done.attempts for name in (a.function, *a.chain)])
    lost = 0
    for one in places.of(done.attempts, done.compiler.kind):
        a = one.attempt
        chain = tuple(names.get(n, n) for n in a.chain)
        attempt = replace(a, function=names.get(a.function, a.function), chain=chain)
        if a.outcome is Outcome.STRAIGHT:
            if places.is_file(a.place.file):
                found.straight.append(attempt)
        elif one.loop or one.line:
            loop = loops[one.loop] if one.loop else _loose_loop(loose, one.line, source)
            loop.attempts.setdefault(a.compiler, []).append(attempt)
        elif a.place.line:
            found.elsewhere[a.place.file] = found.elsewhere.get(a.place.file, 0) + 1
        else:
            lost += 1
    if lost:
        found.remarks.append(f"{done.compiler.name} reports {lost} more loops without saying where they are")


class _Source:
    """A file's loops, directives and functions, with what the preprocessors make of them."""

    def __init__(self, text: str, found: Examined):
        fortran = found.language == "fortran"
        self.lines = text.splitlines()
        self._clean = self.lines if fortran else without_noise(text).splitlines()
        self.loops = loops_of(text, fortran)
        self.directives = directives_of(text, self.loops, fortran)
        self.functions = functions_of(text, fortran)
        for d in self.directives if not fortran else ():
            # they are part of what a loop does
            self._clean[d.line - 1 : d.end_line] = self.lines[d.line - 1 : d.end_line]
        self._left_out: dict[str, frozenset[int]] = {}
        for done in found.compiled:
            if done.preprocessed is not None:
                self._left_out[done.compiler.name] = lines_left_out(text, done.preprocessed.present)
                self.loops, self.directives = with_macros(text, self.loops, self.directives, done.preprocessed, fortran)
        self._collapsed = collapsed_into(self.directives, self.loops)

    def loop(self, source: SourceLoop) -> Loop:
        """A loop of the text, of which nothing is reported yet."""
        own = list(self._clean[source.line - 1 : source.end_line])
        if own:
            own[-1] = own[-1][: source.end_column]
            own[0] = " " * (source.column - 1) + own[0][source.column - 1 :]
        into = self._collapsed.get(source)
        return Loop(
            source.line,
            source.column,
            source.end_line,
            self.text_of(source.line),
            "\n".join(own),
            source.depth,
            any(source.around(s) for s in self.loops),
            function=function_at(self.functions, source.line),
            directive=next((d for d in self.directives if d.loop == source), None),
            collapsed=into.line if into else 0,
        )

    def text_of(self, line: int) -> str:
        """A line as it is written, without the blanks around it."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def unseen(self, source: SourceLoop, loop: Loop, done: Compiled) -> Unseen:
        """Why a compiler reports nothing of a loop, by what the preprocessor and the object code show."""
        if source.line in self._left_out.get(done.compiler.name, ()):
            return Unseen.LEFT_OUT
        if loop.collapsed:
            return Unseen.COLLAPSED
        if done.code is None:
            return Unseen.UNKNOWN
        there, in_loop = code_of(done.code, range(source.line, source.end_line + 1))
        if there:
            return Unseen.LOOP if in_loop else Unseen.STRAIGHT
        around = [f for f in self.functions if f.line <= source.line <= f.end_line]
        whole = [code_of(done.code, range(f.line, f.end_line + 1))[0] for f in around]
        return Unseen.NO_CODE if not around or any(whole) else Unseen.NO_FUNCTION


def _without_removed(attempts: list[Attempt]) -> list[Attempt]:
    """A loop that became a library call is removed then: that is reported once."""
    if any(a.outcome is not Outcome.REMOVED for a in attempts):
        return [a for a in attempts if a.outcome is not Outcome.REMOVED]
    return attempts


def _loose_loop(loose: dict[int, Loop], line: int, source: _Source) -> Loop:
    if line not in loose:
        text = source.text_of(line)
        function = function_at(source.functions, line)
        loose[line] = Loop(line, 1, line, text, text, in_source=False, function=function)
    return loose[line]
