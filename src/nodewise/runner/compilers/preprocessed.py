# SPDX-License-Identifier: BSD-3-Clause
"""What the preprocessor leaves of a file: lines that #if takes out, and loops that macros bring."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.runner.commands import run_whole
from nodewise.runner.compilers.directives import Directive, directives_of
from nodewise.runner.compilers.source_loops import SourceLoop, loops_of, with_depths, without_comments

_MARKER = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"((?:\\.|[^"\\])*)"')
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")
_LIMIT_S = 120.0
#: By these suffixes a Fortran file goes through the preprocessor.
_FORTRAN_WITH = {".F", ".F90", ".F95", ".F03", ".F08", ".FOR"}


@dataclass(frozen=True)
class Preprocessed:
    """A file's own part of the preprocessor's output: its text, and of each line of that the line of the file."""

    text: str
    lines: tuple[int, ...]

    @property
    def present(self) -> frozenset[int]:
        """The lines of the file of which something is left."""
        return frozenset(n for n, line in zip(self.lines, self.text.splitlines(), strict=True) if line.strip())


def preprocess(
    program: str,
    file: Path,
    flags: Sequence[str],
    folder: Path | None,
    is_file: Callable[[str], bool],
    begun: Callable[[str], None] = lambda _: None,
) -> Preprocessed | None:
    """What `program` makes of `file` with -E; None where it is not preprocessed or that fails. `begun` is that of `run_whole`."""
    if file.suffix.lower().startswith(".f") and file.suffix not in _FORTRAN_WITH:
        return None
    try:
        words = [program, *flags, "-w", "-E", str(file)]
        done = run_whole(words, _LIMIT_S, begun, cwd=folder, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return None
    return own_part(done.stdout, is_file) if done.returncode == 0 else None


def own_part(output: str, is_file: Callable[[str], bool]) -> Preprocessed:
    """The part of a preprocessor's output that is of the file whose names `is_file` knows."""
    kept: list[str] = []
    numbers: list[int] = []
    number, inside = 1, False
    known: dict[str, bool] = {}
    for line in output.splitlines():
        if marker := _MARKER.match(line):
            number, name = int(marker[1]), marker[2]
            if name not in known:
                known[name] = is_file(name.replace('\\"', '"').replace("\\\\", "\\"))
            inside = known[name]
            continue
        if inside:
            kept.append(line)
            numbers.append(number)
        number += 1
    return Preprocessed("\n".join(kept), tuple(numbers))


def lines_left_out(text: str, present: frozenset[int]) -> frozenset[int]:
    """The lines between #if and #endif of which nothing is left.

    A line may be missing for another reason: a macro's arguments all end up on its first line. So a branch counts as a whole.
    """
    gone: set[int] = set()
    begun: list[int] = []
    code = without_comments(text).splitlines()
    for number, line in enumerate(code, start=1):
        found = _CONDITIONAL.match(line)
        if found is None:
            continue
        if begun and not found[1].startswith("if"):
            branch = range(begun.pop() + 1, number)
            plain = [n for n in branch if code[n - 1].strip() and not code[n - 1].lstrip().startswith("#")]
            if not any(n in present for n in plain):
                gone.update(branch)
        if found[1] != "endif":
            begun.append(number)
    return frozenset(gone)


def with_macros(
    text: str,
    loops: Sequence[SourceLoop],
    directives: Sequence[Directive],
    seen: Preprocessed,
    fortran: bool,
) -> tuple[tuple[SourceLoop, ...], tuple[Directive, ...]]:
    """The loops and directives of a text and those that macros bring, each at the line where the macro is used."""
    written: dict[int, list[SourceLoop]] = {}
    for loop in loops:
        written.setdefault(loop.line, []).append(loop)
    lines = text.splitlines()
    more: list[SourceLoop] = []
    known: dict[SourceLoop, SourceLoop] = {}
    met: dict[int, int] = {}
    physical = loops_of(seen.text, fortran)
    for loop in physical:
        line, end = seen.lines[loop.line - 1], seen.lines[loop.end_line - 1]
        nth = met[line] = met.get(line, 0) + 1
        there = written.get(line, [])
        if nth <= len(there):
            known[loop] = there[nth - 1]
        elif 0 < line <= end <= len(lines):
            begin = lines[line - 1]
            column = len(begin) - len(begin.lstrip()) + 1
            known[loop] = SourceLoop(loop.keyword, line, column, end, max(column, len(lines[end - 1])), macro=True)
            more.append(known[loop])
    if len({(m.line, m.column, m.end_line) for m in more}) < len(more):
        # several loops of one macro have one place: what is reported of them is reported together
        more = list({(m.line, m.column, m.end_line): m for m in more}.values())
    if not more:
        return tuple(loops), tuple(directives)
    every = with_depths([*loops, *more])
    by_place = {(s.line, s.column, s.end_line): s for s in every}

    def place(loop: SourceLoop | None) -> SourceLoop | None:
        return by_place.get((loop.line, loop.column, loop.end_line)) if loop else None

    found = [replace(d, loop=place(d.loop)) for d in directives]
    for d in directives_of(seen.text, physical, fortran):
        line = seen.lines[d.line - 1]
        owner = known.get(d.loop) if d.loop else None
        if owner is None or not owner.macro:
            continue
        if any(o.line <= line <= o.end_line for o in directives):
            # a directive of the source over a loop of a macro
            found = [replace(o, loop=place(owner)) if o.line <= line <= o.end_line else o for o in found]
        else:
            found.append(replace(d, line=line, end_line=line, loop=place(owner)))
    return every, tuple(found)
