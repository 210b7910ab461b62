# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP directives of a source, by reading its words: which loops they are about, and what they ask for.

Compilers place a loop that OpenMP shares out, or one that they made for it, on the directive's line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from nodewise.base.frozen import dataclass
from nodewise.runner.compilers.source_loops import SourceLoop, without_noise

#: Words that name constructs (OpenMP 5.2); the first word that is not one begins the clauses.
_CONSTRUCTS = frozenset(
    [
        "parallel",
        "for",
        "do",
        "simd",
        "taskloop",
        "distribute",
        "teams",
        "target",
        "loop",
        "masked",
        "master",
        "tile",
        "unroll",
        "sections",
        "section",
        "task",
        "single",
        "workshare",
        "scope",
        "critical",
        "ordered",
        "end",
        "declare",
        "cancel",
        "cancellation",
        "barrier",
        "atomic",
    ]
)
_ABOUT_LOOPS = frozenset(["for", "do", "simd", "taskloop", "distribute", "loop", "tile", "unroll"])
_NOT_ABOUT_LOOPS = frozenset(["end", "declare", "cancel", "cancellation", "ordered"])
_COLLAPSE = re.compile(r"\bcollapse\s*\(\s*(\d+)\s*\)", re.IGNORECASE)
_WORD = re.compile(r"\s*([A-Za-z_]+)\b(?!\s*\()")
_NO_CODE = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+omp\b(?P<own>(?:\\\r?\n|[^\n])*)", re.MULTILINE)
_OPERATOR = re.compile(r"\b_Pragma\s*\(\s*\"\s*omp\b(?P<own>[^\"\n]*)\"\s*\)")
_ATTRIBUTE = re.compile(r"\[\[\s*omp\s*::\s*directive\s*\((?P<own>.*?)\)\s*\]\]", re.DOTALL)
_FORTRAN = re.compile(r"^\s*[!cC*]\$omp&?(?P<own>[^!\n]*)", re.IGNORECASE)
_FORTRAN_CODE = re.compile(r"^(?![cC*!])\s*[^!\s]")


@dataclass(frozen=True)
class Directive:
    """A directive on lines `line` to `end_line`; `loop` is the outermost of the `collapse` loops that it makes one.

    `statement` is the line of the one array statement that a `workshare` shares out, 0 where there are none or several.
    """

    line: int
    end_line: int
    text: str
    constructs: tuple[str, ...]
    collapse: int = 1
    loop: SourceLoop | None = None
    statement: int = 0

    @property
    def about_loops(self) -> bool:
        """Whether it is about the loop below it."""
        return not _NOT_ABOUT_LOOPS & set(self.constructs[:1]) and bool(_ABOUT_LOOPS & set(self.constructs))

    @property
    def simd(self) -> bool:
        """Whether it asks for vectors."""
        return self.about_loops and "simd" in self.constructs


def directives_of(text: str, loops: Sequence[SourceLoop], fortran: bool = False) -> tuple[Directive, ...]:
    """The directives of a text in its order, each with its loop among `loops`, which are those of this text."""
    found = _in_fortran(text) if fortran else _in_c(text)
    lines = text.splitlines()
    read: list[Directive] = []
    for i, d in enumerate(found):
        if d.about_loops:
            read.append(replace(d, loop=_loop_below(d, loops, lines, fortran)))
        elif "workshare" in d.constructs and d.constructs[0] != "end":
            last = found[i + 1].line if i + 1 < len(found) else len(lines) + 1
            shared = [n for n in range(d.end_line + 1, last) if _FORTRAN_CODE.match(lines[n - 1])]
            read.append(replace(d, statement=shared[0] if len(shared) == 1 else 0))
        else:
            read.append(d)
    return tuple(read)


def _directive(line: int, end_line: int, words: str) -> Directive:
    text = " ".join(words.replace("\\\n", " ").replace("\\\r\n", " ").split())
    constructs, at = [], 0
    while (word := _WORD.match(text, at)) and word[1].lower() in _CONSTRUCTS:
        constructs.append(word[1].lower())
        at = word.end()
    collapse = _COLLAPSE.search(text)
    return Directive(line, end_line, f"omp {text}", tuple(constructs), int(collapse[1]) if collapse else 1)


def _in_c(text: str) -> list[Directive]:
    # the operator's text is a literal, so that literals are blanked for the others only
    bare = _NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    matches = [*_PRAGMA.finditer(bare), *_ATTRIBUTE.finditer(bare)]
    matches += [m for m in _OPERATOR.finditer(text) if bare.startswith("_Pragma", m.start())]
    matches.sort(key=lambda match: match.start())
    return [_directive(text.count("\n", 0, m.start()) + 1, text.count("\n", 0, m.end()) + 1, m["own"]) for m in matches]


def _in_fortran(text: str) -> list[Directive]:
    found: list[Directive] = []
    goes_on = False
    for number, line in enumerate(text.splitlines(), start=1):
        match = _FORTRAN.match(line)
        if match is None:
            goes_on = False
            continue
        own = match["own"]
        fixed_more = line[:1] in "cC*!" and len(line) > 5 and line[5] not in " 0"
        if (goes_on or fixed_more) and found:
            last = found.pop()
            own = line[6:].partition("!")[0] if fixed_more else own
            own = f"{last.text.removeprefix('omp ').rstrip('& ')} {own.lstrip('& ')}"
            found.append(_directive(last.line, number, own.rstrip("& \t")))
        else:
            found.append(_directive(number, number, own.rstrip("& \t")))
        goes_on = own.rstrip().endswith("&")
    return found


def _loop_below(d: Directive, loops: Sequence[SourceLoop], lines: Sequence[str], fortran: bool) -> SourceLoop | None:
    after = (loop for loop in loops if loop.line > d.end_line or (loop.line == d.end_line == d.line))
    loop = next(after, None)
    if loop is None:
        return None
    between = lines[d.end_line : loop.line - 1]
    code = between if fortran else without_noise("\n".join(between)).splitlines()
    if fortran:
        return None if any(_FORTRAN_CODE.match(line) for line in code) else loop
    start = lines[loop.line - 1][: loop.column - 1] if loop.line > d.end_line else ""
    rest = _ATTRIBUTE.sub("", _OPERATOR.sub("", "\n".join([*between, start])))
    return None if without_noise(rest).strip() else loop


def directive_at(directives: Iterable[Directive], line: int) -> Directive | None:
    """The directive that a line is part of."""
    return next((d for d in directives if d.line <= line <= d.end_line), None)


def collapsed_into(directives: Iterable[Directive], loops: Sequence[SourceLoop]) -> dict[SourceLoop, SourceLoop]:
    """For each inner loop that a directive makes one with an outer one, that outer one."""
    into: dict[SourceLoop, SourceLoop] = {}
    for d in directives:
        top = d.loop
        for loop in loops if top is not None and d.collapse > 1 else ():
            if top is not None and 0 < loop.depth - top.depth < d.collapse and top.holds(loop.line, loop.column):
                into[loop] = top
    return into


#: Whether each flag turns directives on; the last of them counts, and `simd` alone is half of it.
_ON = re.compile(r"-f(no-)?(openmp(?:-simd)?)(?:=.*)?$")


def openmp_of(flags: Iterable[str]) -> tuple[bool, bool]:
    """Whether flags turn on OpenMP, and whether `omp simd` counts."""
    on = {"openmp": False, "openmp-simd": False}
    for flag in flags:
        if match := _ON.match(flag):
            on[match[2]] = not match[1]
    return on["openmp"], on["openmp"] or on["openmp-simd"]
