# SPDX-License-Identifier: BSD-3-Clause
"""What is reported of each loop: by compiler how many instances were vectorized, how widely, and why the others were not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.runner.compilers.attempt import Attempt, Outcome
from nodewise.runner.compilers.functions import function_name
from nodewise.runner.compilers.toolchain import Compiler
from nodewise.vectorization.causes import UNKNOWN, Causes, Found, find_cause, find_notes, find_widening
from nodewise.vectorization.loops import Examined, Loop, Unseen

_NAME = re.compile(r"[A-Za-z_]\w*")


class Status(StrEnum):
    """What became of all instances of a loop together, with one compiler."""

    VECTORIZED = "vectorized"
    PARTLY = "partly vectorized"
    MISSED = "not vectorized"
    GONE = "no loop any more"
    OUTER = "outer loop"
    COLLAPSED = "collapsed"
    LEFT_OUT = "not compiled"
    UNSEEN = "not seen"


#: What is reported of a loop of which a compiler reports nothing, by what else is known of it.
_UNSEEN = {
    Unseen.LEFT_OUT: (Status.LEFT_OUT, "left out by the preprocessor (#if)"),
    Unseen.NO_FUNCTION: (
        Status.LEFT_OUT,
        "its function has no machine code: a template or inline function that nothing uses here, or one that was removed",
    ),
    Unseen.NO_CODE: (
        Status.GONE,
        "no machine code is of its lines: it was removed, or became part of what is around it",
    ),
    Unseen.STRAIGHT: (
        Status.GONE,
        "its machine code is no loop: it was unrolled, or goes round once at most",
    ),
    Unseen.LOOP: (
        Status.UNSEEN,
        "the compiler reports nothing about it, though its machine code is still a loop or part of one; why cannot be known",
    ),
    Unseen.UNKNOWN: (
        Status.UNSEEN,
        "the compiler reports nothing about it, and objdump (package binutils), which could show what became of it, is not there",
    ),
}
_CLANGS_SILENCE = (
    "Clang reports nothing about it, though its machine code is still a loop or part of one: it does so of loops around others, "
    "also around one of a function that was inlined"
)
#: A call, which may bring a loop with it.
_CALL = re.compile(r"\b(?!(?:for|while|do|if|switch|return|sizeof)\b)[A-Za-z_]\w*\s*(?:<[^;<>()]*>\s*)?\(")
_OUTER_WORDS = "a loop around others, of which the compiler vectorizes the innermost"


@dataclass(frozen=True)
class Reason:
    """Why `count` instances were not vectorized; `line` and `column` are of the statement that it is about, or 0."""

    found: Found
    count: int
    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class CompilerReport:
    """One loop and one compiler; `how` says how instances were vectorized, each with its count.

    `why` says why nothing is reported of it; `simd` whether an `omp simd` on it was honoured, None where there is none or no loop.
    """

    compiler: str
    status: Status
    instances: int
    how: tuple[tuple[str, int], ...] = ()
    reasons: tuple[Reason, ...] = ()
    notes: tuple[Found, ...] = ()
    why: str = ""
    simd: bool | None = None


@dataclass(frozen=True)
class LoopReport:
    """One loop with what all compilers made of it."""

    loop: Loop
    functions: tuple[str, ...]
    by_compiler: tuple[CompilerReport, ...]

    @property
    def missed(self) -> bool:
        """Whether a compiler left an instance of it scalar."""
        return any(t.status in (Status.MISSED, Status.PARTLY) for t in self.by_compiler)

    @property
    def vectorized(self) -> bool:
        """Whether a compiler vectorized an instance of it."""
        return any(t.status in (Status.VECTORIZED, Status.PARTLY) for t in self.by_compiler)


def report_loops(found: Examined, causes: Causes) -> list[LoopReport]:
    """All loops in the file's order."""
    return [
        LoopReport(loop, function_names(loop), tuple(_of_compiler(loop, c, causes, found) for c in found.compilers))
        for loop in found.loops
    ]


def _of_compiler(loop: Loop, compiler: Compiler, causes: Causes, found: Examined) -> CompilerReport:
    attempts = loop.attempts.get(compiler.name, [])
    if not attempts:
        return CompilerReport(compiler.name, *_nothing(loop, compiler, found.loops))
    done = [a for a in attempts if a.outcome is Outcome.VECTORIZED]
    missed = [a for a in attempts if a.outcome is Outcome.MISSED]
    gone = [a for a in attempts if a.outcome in (Outcome.LIBRARY, Outcome.UNROLLED, Outcome.REMOVED)]
    status = (
        Status.PARTLY if done and missed else Status.VECTORIZED if done else Status.MISSED if missed else Status.GONE
    )
    why = ""
    if status is Status.GONE and compiler.kind == "clang" and all(a.outcome is not Outcome.UNROLLED for a in gone):
        # Clang reports nothing of a loop around others, and yet of a copy of it that became something else
        if _around_seen(loop, compiler, found.loops):
            status, why = Status.OUTER, _OUTER_WORDS
        elif compiler.name in loop.still and not loop.depth and _CALL.search(loop.own):
            status, why = Status.UNSEEN, _CLANGS_SILENCE
    how = Counter(how_words(a) for a in (*done, *gone))
    notes = {n.name: n for a in done for n in find_notes(causes, compiler.kind, a.notes)}
    if (done or missed) and compiler.name in loop.widens and not loop.nest:
        notes |= {n.name: n for n in find_widening(causes, loop.own)}
    asked = loop.directive is not None and loop.directive.simd and status is not Status.GONE
    return CompilerReport(
        compiler.name,
        status,
        len(attempts),
        tuple(how.most_common()),
        tuple(_reasons(loop, missed, compiler, causes, found)),
        tuple(notes.values()),
        why,
        simd=found.simd and status is Status.VECTORIZED if asked else None,
    )


def _nothing(
    loop: Loop, compiler: Compiler, loops: Sequence[Loop]
) -> tuple[Status, int, tuple[()], tuple[()], tuple[()], str]:
    """The status of a loop of which the compiler reports nothing, and why, after the fields that are empty then."""
    unseen = loop.unseen.get(compiler.name, Unseen.UNKNOWN)
    if unseen is Unseen.COLLAPSED:
        status, why = Status.COLLAPSED, f"one loop with that of line {loop.collapsed}, by its directive's collapse"
    elif unseen is not Unseen.LEFT_OUT and _around_seen(loop, compiler, loops):
        status, why = Status.OUTER, _OUTER_WORDS
    elif gone := _gone_around(loop, compiler, loops):
        status, why = Status.GONE, f"gone with the loop around it, of line {gone.line}"
    elif not loop.in_source:
        status, why = Status.UNSEEN, "the compiler reports no loop here"
    elif unseen is Unseen.LOOP and compiler.kind == "clang":
        status, why = Status.UNSEEN, _CLANGS_SILENCE
    else:
        status, why = _UNSEEN[unseen]
    return status, 0, (), (), (), why


def _gone_around(loop: Loop, compiler: Compiler, loops: Sequence[Loop]) -> Loop | None:
    """The loop around it that became a library call or nothing, and it with that."""
    for o in loops:
        around = o is not loop and o.depth < loop.depth and o.line <= loop.line and loop.end_line <= o.end_line
        if around and (outcomes := o.outcomes(compiler.name)) and outcomes <= {Outcome.LIBRARY, Outcome.REMOVED}:
            return o
    return None


def _around_seen(loop: Loop, compiler: Compiler, loops: Sequence[Loop]) -> bool:
    """Whether within it is a loop of which the compiler reported something."""
    if not loop.nest:
        return False
    inside = (i for i in loops if i.depth > loop.depth and loop.line <= i.line and i.end_line <= loop.end_line)
    return any(i.attempts.get(compiler.name) for i in inside)


def _around_kept(loop: Loop, attempt: Attempt, loops: Sequence[Loop]) -> bool:
    """Whether within it is a loop that is still one in the same function."""
    return any(
        a.function == attempt.function and a.outcome in (Outcome.VECTORIZED, Outcome.MISSED)
        for i in loops
        if loop.nest and i.depth > loop.depth and loop.line <= i.line and i.end_line <= loop.end_line
        for a in i.attempts.get(attempt.compiler, ())
    )


def _reasons(
    loop: Loop, missed: Sequence[Attempt], compiler: Compiler, causes: Causes, examined: Examined
) -> Iterable[Reason]:
    counted: dict[tuple[str, str], list[Any]] = {}
    for a in missed:
        # in the text there may be a loop within that is gone, or another function's; GCC does not always say that there is one
        nest = loop.nest if compiler.kind == "clang" else a.nest or _around_kept(loop, a, examined.loops)
        found = find_cause(causes, compiler.kind, a.why, loop.own, nest, _named(loop, a), examined.openmp)
        entry = counted.setdefault((found.name, found.words), [found, 0, a])
        entry[1] += 1
    for found, count, a in sorted(counted.values(), key=lambda e: -e[1]):
        at = a.at if a.at is not None and a.at.file == a.place.file else None
        yield Reason(found, count, at.line if at else 0, at.column if at else 0)


def _named(loop: Loop, attempt: Attempt) -> str:
    """The name that stands in the loop where the compiler points."""
    at = attempt.at
    lines = loop.own.splitlines()
    if at is None or at.file != attempt.place.file or not 0 <= at.line - loop.line < len(lines) or at.column < 1:
        return ""
    words = _NAME.match(lines[at.line - loop.line], at.column - 1)
    if words is None:
        return ""
    qualified = re.compile(r"(?:::\s*~?\w+)*").match(lines[at.line - loop.line], words.end())
    return words[0] + (qualified[0] if qualified else "")


def how_words(a: Attempt) -> str:
    """How an instance was vectorized, or what else became of it."""
    if a.outcome is Outcome.LIBRARY:
        return "made a call of memset or memcpy"
    if a.outcome is Outcome.UNROLLED:
        return f"unrolled, all {a.elements} iterations" if a.elements else "unrolled completely"
    if a.outcome is Outcome.REMOVED:
        return "removed: nothing uses its results, or it became a formula"
    atleast = "at least " if a.scalable else ""
    parts = []
    if a.width_bytes:
        parts.append(f"{a.width_bytes}-byte vectors")
    elif a.scalable:
        parts.append("vectors of the processor's own length")
    if a.elements:
        parts.append(f"{atleast}{a.elements} element{'s' * (a.elements != 1)} a step")
    if a.interleave and a.interleave > 1:
        parts.append(f"{a.interleave} steps at once")
    if a.epilogues:
        parts.append(f"the rest with {', '.join(f'{b}-byte' if b else 'shorter' for b in a.epilogues)} vectors")
    return ", ".join(parts) or "vectors"


def function_names(loop: Loop) -> tuple[str, ...]:
    """Short names of the functions that a loop is written in: one, or several of a template.

    A compiler's name says more (its class, its template's types) where it is of that function and not of one that it was
    inlined into.
    """
    names = dict.fromkeys(
        short for name in loop.functions[bool(loop.function) :] if (short := short_name(function_name(name)))
    )
    own = re.sub(r".*::", "", loop.function).lower()
    of_own = [n for n in names if re.sub(r"<.*>$|.*::(?![^<]*>)", "", n).rpartition("::")[2].lower() == own]
    if not loop.function:
        return tuple(names)
    return tuple(of_own) or (loop.function,)


def short_name(name: str) -> str:
    """`N::f<int>` of `void N::f<int>(int*, int) const [with T = int]`."""
    name = re.sub(r" \[(with|clone|clone \.).*", "", name)
    depth = 0
    for i, letter in enumerate(name):
        depth += letter in "<[" and not name[:i].endswith("operator")
        depth -= letter in ">]" and depth > 0
        if letter == "(" and depth == 0 and i > 0 and not name[:i].endswith(("operator", " ", ":", "<")):
            name = name[:i]
            break
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        depth += name[i] in ">)"
        depth -= name[i] in "<("
        if name[i] == " " and depth <= 0 and "operator" not in name[:i]:
            return name[i + 1 :].lstrip("*&")
    return name


def counts(reports: Sequence[LoopReport], compiler: str) -> dict[Status, int]:
    """How many loops have which status with a compiler."""
    seen = Counter(t.status for loop in reports for t in loop.by_compiler if t.compiler == compiler)
    return {status: seen[status] for status in Status if seen[status]}


def unknown_reasons(reports: Sequence[LoopReport]) -> int:
    """How many reasons the catalogue of causes does not know."""
    return sum(r.found.name == UNKNOWN for loop in reports for t in loop.by_compiler for r in t.reasons)
