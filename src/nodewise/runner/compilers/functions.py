# SPDX-License-Identifier: BSD-3-Clause
"""The functions of a source, by reading its words, for loops of which no compiler names the function."""

from __future__ import annotations

import re

from nodewise.base.frozen import dataclass
from nodewise.runner.compilers.source_loops import without_noise

#: What may stand before a brace without being a function's name.
_CONTROL = frozenset(
    [
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "do",
        "else",
        "try",
        "return",
        "sizeof",
        "decltype",
        "noexcept",
        "alignas",
        "requires",
        "operator",
    ]
)
_SCOPES = re.compile(r"^\s*(?:inline\s+)?(?:namespace|class|struct|union|enum|extern\s*$)\b")
_NAME = re.compile(
    r"((?:[A-Za-z_]\w*\s*(?:<[^<>()]*>)?\s*::\s*)*(?:operator\s*[^\s\w(]+|operator\s*\(\s*\)|~?[A-Za-z_]\w*))\s*\("
)
_BEGIN = re.compile(r"^(?!\s*end\b)\s*(?:[\w*()=, ]+\s+)?(?:subroutine|function|program)\s+(\w+)", re.IGNORECASE)
_END = re.compile(r"^\s*end(?:\s*(?:subroutine|function|program)\b.*|\s*)$", re.IGNORECASE)


#: What compilers add to the name of a part of a function that they make one of its own.
_PART = re.compile(
    r"(?:\.{1,2}(?:_?omp_fn|omp_outlined|omp_par|omp_task_entry|constprop|isra|part|cold|lto_priv|clone)\b[\w.]*)+$"
)
_GFORTRAN = re.compile(r"__(\w+?)_MOD_(\w+)$")
_FLANG = re.compile(r"_Q[A-Z][A-Za-z0-9_]*$")


def function_name(name: str) -> str:
    """The name in the source of a function as it is in a record, empty where that does not say it.

    Such as `add` of `__fields_MOD_add._omp_fn.0` and `_QMfieldsPadd..omp_par`, and nothing of `.omp_outlined.`.
    """
    name = re.sub(r" \[(?:with|clone)\b.*", "", name)
    name = _PART.sub("", name)
    if name.startswith(".omp"):
        return ""
    if module := _GFORTRAN.match(name):
        return module[2]
    if _FLANG.match(name):
        # capital letters stand for kinds of scopes
        return re.split(r"[A-Z]+", name)[-1]
    return name


@dataclass(frozen=True)
class SourceFunction:
    """A function's name and the lines that it is on."""

    name: str
    line: int
    end_line: int


def functions_of(text: str, fortran: bool = False) -> tuple[SourceFunction, ...]:
    """The outermost functions of a text, in its order; lambdas and functions in functions belong to these."""
    return tuple(_in_fortran(text) if fortran else _in_c(text))


def function_at(functions: tuple[SourceFunction, ...], line: int) -> str:
    """The name of the function that a line is in, empty where it is in none."""
    inside = [f for f in functions if f.line <= line <= f.end_line]
    return max(inside, key=lambda f: f.line).name if inside else ""


def _in_c(text: str) -> list[SourceFunction]:
    clean = without_noise(text)
    found: list[SourceFunction] = []
    depth, inside, begun, name, head = 0, 0, 0, "", 0
    for match in re.finditer(r"[{};]", clean):
        sign = match[0]
        if sign == "{":
            depth += 1
            if not inside and (named := _name(clean[head : match.start()])):
                name, inside, begun = named, depth, clean.count("\n", 0, match.start()) + 1
        elif sign == "}":
            if inside and depth == inside:
                found.append(SourceFunction(name, begun, clean.count("\n", 0, match.start()) + 1))
                inside = 0
            depth = max(0, depth - 1)
        head = match.end()
    return found


def _name(head: str) -> str:
    if _SCOPES.match(head) or ")" not in head or head.rstrip().endswith("="):
        return ""
    for match in _NAME.finditer(head):
        name = re.sub(r"\s+", "", match[1])
        if name not in _CONTROL and not name.startswith("__attribute"):
            return name
    return ""


def _in_fortran(text: str) -> list[SourceFunction]:
    found: list[SourceFunction] = []
    begun: list[tuple[str, int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _BEGIN.match(line):
            begun.append((match[1], number))
        elif begun and _END.match(line):
            name, first = begun.pop()
            found.append(SourceFunction(name, first, number))
    return sorted(found, key=lambda f: f.line)
