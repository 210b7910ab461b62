# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise vec`: which loops of a file compilers vectorize, how widely, why not, and what to change."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError
from nodewise.cli.help import Command, option
from nodewise.cli.kinds import PATH, json_option

if TYPE_CHECKING:
    from nodewise.vectorization.loop_reports import LoopReport


#: The most lines that are named where none of them was meant.
_MOST_LINES = 12
SECTION = "Understand"


@click.command(
    cls=Command,
    examples={
        "nodewise vec solver.c": "which loops become vectors, and why the others do not",
        "nodewise vec --compiler gcc --loops missed solver.c -- -O2 -march=znver4": "only what GCC misses with these flags",
    },
)
@option(
    "--compiler",
    multiple=True,
    metavar="NAME",
    help="gcc, clang, both (the default), or a program such as g++-13; may be repeated.",
    group="Compilers",
)
@option(
    "-p",
    "--commands",
    "database",
    type=PATH,
    metavar="PATH",
    help="A compile database (compile_commands.json), or the folder that has it: the file's flags are taken from it.",
    group="Compilers",
)
@option(
    "--loops",
    "only",
    type=click.Choice(["missed", "vectorized"]),
    help="Only loops that some compiler missed, or vectorized.",
    group="Loops",
)
@option(
    "--function", "function", metavar="NAME", help="Only loops in functions whose name has NAME in it.", group="Loops"
)
@option("--lines", metavar="A-B", help="Only loops that begin on these lines.", group="Loops")
@option(
    "--causes",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="A file with causes of your own; may be repeated.",
    group="Compilers",
)
@json_option("all of it")
@click.argument("file", type=PATH)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED, metavar="[-- FLAGS...]")
def command(
    compiler: tuple[str, ...],
    database: Path | None,
    only: str | None,
    function: str | None,
    lines: str | None,
    causes: tuple[Path, ...],
    as_json: bool,
    file: Path,
    flags: tuple[str, ...],
) -> None:
    """Report which loops of a FILE become vectors, and why not.

    Report for each loop in a C, C++ or Fortran FILE whether compilers vectorize it, how widely, why not, and what to change.

    FILE is compiled, and nothing is kept. FLAGS are the compiler's; where they say neither -O… nor -march=…, -O3 and
    -march=native are added.
    """
    from nodewise.cli.outputs.vec import vec_output
    from nodewise.report.text.vectorization import vectorization_text
    from nodewise.runner.compilers.database import find_command
    from nodewise.vectorization.causes import load_causes
    from nodewise.vectorization.loop_reports import report_loops
    from nodewise.vectorization.loops import KINDS, examine
    from nodewise.verdicts.encoding import encode

    wanted = [kind for name in compiler or ("both",) for kind in (KINDS if name == "both" else (name,))]
    span = _span(lines) if lines else None
    known = load_causes(causes)
    chosen = find_command(database, file) if database else None
    found = examine(file, flags, tuple(dict.fromkeys(wanted)), chosen)
    reports = report_loops(found, known)
    shown = _shown(reports, only, function, span)
    if as_json:
        print(json.dumps(encode(vec_output(found, shown)), indent=1))
        return
    width = min(120, shutil.get_terminal_size((100, 24)).columns)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(vectorization_text(found, reports, shown, width, colour))


def _span(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if not match or int(match[2] or match[1]) < int(match[1]):
        raise InputError(f"--lines: no span of lines: {text!r}", "write it such as 40 or 40-80")
    return int(match[1]), int(match[2] or match[1])


def _shown(
    reports: Sequence[LoopReport], only: str | None, function: str | None, span: tuple[int, int] | None
) -> list[LoopReport]:
    shown = [t for t in reports if span is None or span[0] <= t.loop.line <= span[1]]
    if span is not None and not shown:
        begins = sorted({t.loop.line for t in reports})
        listed = ", ".join(map(str, begins[:_MOST_LINES])) + ", …" * (len(begins) > _MOST_LINES)
        raise InputError(
            f"--lines: no loop begins on line{'s' * (span[0] != span[1])} {'-'.join(map(str, dict.fromkeys(span)))}",
            f"loops begin on {listed}" if begins else "there is no loop in it",
        )
    if function is not None:
        named = [t for t in shown if any(function in name for name in (*t.functions, *t.loop.functions))]
        if not named:
            there = sorted({name for t in reports for name in t.functions})
            raise InputError(
                f"no loop in a function whose name has {function!r} in it", f"there are loops in {', '.join(there)}"
            )
        shown = named
    return [t for t in shown if only is None or (t.missed if only == "missed" else t.vectorized)]
