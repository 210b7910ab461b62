# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise vec --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.vectorization.causes import Found
from nodewise.vectorization.loop_reports import CompilerReport, LoopReport, Reason, Status, unknown_reasons
from nodewise.vectorization.loops import Examined


@dataclass(frozen=True)
class CompilerOutput:
    """A compiler as it was asked; `problem` says why it did not compile the file, empty where it did."""

    name: str
    program: str
    version: str
    kind: str
    flags: tuple[str, ...]
    flags_left_out: tuple[str, ...]
    problem: str


@dataclass(frozen=True)
class HowOutput:
    """How so many instances of a loop were vectorized."""

    words: str
    count: int


@dataclass(frozen=True)
class ReasonOutput(Found):
    """Why `count` instances were not vectorized, with the place of the statement that it is about, or 0."""

    count: int = 0
    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class CompilerReportOutput:
    """One loop and one compiler."""

    compiler: str
    status: Status
    instances: int
    why: str
    simd_honoured: bool | None
    how: tuple[HowOutput, ...]
    reasons: tuple[ReasonOutput, ...]
    notes: tuple[Found, ...]


@dataclass(frozen=True)
class LoopOutput:
    """A loop, and what each compiler made of it."""

    line: int
    column: int
    end_line: int
    depth: int
    source: str
    directive: str | None
    functions: tuple[str, ...]
    compilers: tuple[CompilerReportOutput, ...]


@dataclass(frozen=True)
class StraightOutput:
    """Code that is no loop and was made into vectors."""

    line: int
    column: int
    compiler: str
    width_bytes: int | None


@dataclass(frozen=True)
class VecOutput:
    """A file's loops; `other_files` counts those of files that it includes."""

    file: Path
    language: str
    flags: tuple[str, ...]
    flags_from: str
    remarks: tuple[str, ...]
    compilers: tuple[CompilerOutput, ...]
    loops: tuple[LoopOutput, ...]
    reasons_unknown: int
    simd_directives_count: bool
    straight_line: tuple[StraightOutput, ...]
    other_files: Mapping[str, int]


def vec_output(found: Examined, reports: Sequence[LoopReport]) -> VecOutput:
    """The loops that are to be shown, and how they were found."""
    return VecOutput(
        file=found.file,
        language=found.language,
        flags=tuple(found.flags),
        flags_from=found.flags_from,
        remarks=tuple(found.remarks),
        compilers=tuple(
            CompilerOutput(
                name=c.compiler.name,
                program=c.compiler.program,
                version=c.compiler.version,
                kind=c.compiler.kind,
                flags=tuple(c.flags),
                flags_left_out=tuple(c.dropped),
                problem=c.problem,
            )
            for c in found.compiled
        ),
        loops=tuple(map(_loop, reports)),
        reasons_unknown=unknown_reasons(reports),
        simd_directives_count=found.simd,
        straight_line=tuple(
            StraightOutput(a.place.line, a.place.column, a.compiler, a.width_bytes) for a in found.straight
        ),
        other_files=found.elsewhere,
    )


def _loop(one: LoopReport) -> LoopOutput:
    loop = one.loop
    return LoopOutput(
        line=loop.line,
        column=loop.column,
        end_line=loop.end_line,
        depth=loop.depth,
        source=loop.text,
        directive=loop.directive.text if loop.directive else None,
        functions=tuple(one.functions),
        compilers=tuple(map(_of_compiler, one.by_compiler)),
    )


def _of_compiler(one: CompilerReport) -> CompilerReportOutput:
    return CompilerReportOutput(
        compiler=one.compiler,
        status=one.status,
        instances=one.instances,
        why=one.why,
        simd_honoured=one.simd,
        how=tuple(HowOutput(words, count) for words, count in one.how),
        reasons=tuple(map(_reason, one.reasons)),
        notes=one.notes,
    )


def _reason(one: Reason) -> ReasonOutput:
    found = one.found
    return ReasonOutput(
        found.name,
        found.words,
        found.do,
        found.risk,
        found.message,
        found.vague,
        count=one.count,
        line=one.line,
        column=one.column,
    )
