# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise doctor`: what works here, what is off, and what brings it."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap

import click

from nodewise.cli.help import Command
from nodewise.cli.kinds import json_option
from nodewise.cli.masked_terminal import redrawn

SECTION = "Understand"


@click.command(
    cls=Command,
    examples={
        "nodewise doctor": "what works here, and which package brings the rest",
        "nodewise doctor --json": "the same for a script",
    },
)
@json_option("it")
def command(as_json: bool) -> None:
    """Report which optional parts work here, and what brings others.

    Nothing is changed. What `quiet` finds of the machine is about noise; this is about what can be used at all.
    """
    from nodewise.api.doctor import WORKS, diagnose

    # a guest that is emulated takes seconds to start, and a runtime that hangs is waited for
    shown = "" if not sys.stderr.isatty() else "\r\x1b[Ktrying {} …"
    terminal = redrawn(sys.stderr)
    found = diagnose(on_part=lambda name: print(shown.format(name), end="", file=terminal, flush=True))
    print("\r\x1b[K" if shown else "", end="", file=terminal, flush=True)
    if as_json:
        from nodewise.verdicts.encoding import encode

        print(json.dumps(encode(found), indent=1))
        return
    names = max(len(part.name) for part in found.parts)
    width = max(60, shutil.get_terminal_size((80, 24)).columns)
    indent = " " * (names + 11)
    for part in found.parts:
        print(f"{part.state:<8} {part.name:<{names}}  {part.needed_for}")
        for text in filter(None, (part.found, part.remedy)):
            print(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False))
    off = sum(part.state != WORKS for part in found.parts)
    print(f"\n{len(found.parts) - off} of {len(found.parts)} parts work; all others of nodewise need none of these")
