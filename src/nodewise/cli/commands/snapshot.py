# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise snapshot`: what a node is and how it is set, as one line of JSON that `nodewise check` compares."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from nodewise.base.errors import InputError
from nodewise.cli.kinds import PATH, TARGET

SECTION = "Nodes"


@click.command()
@click.option("-o", "--output", type=TARGET, metavar="FILE", help="Write it here. [default: standard output]")
@click.option("--root", type=PATH, metavar="DIR", help="Read this copy of another system's /proc, /sys and /etc.")
@click.option("--node", metavar="NAME", help="The node's name. [default: the system's, without its domain]")
@click.option(
    "--fact",
    "facts",
    multiple=True,
    metavar="NAME=VALUE",
    help="Add a fact of your own, such as a speed that you measured; rules read it as own.NAME. May be given again.",
)
@click.option("--indent", is_flag=True, help="Write it to be read by people, over several lines.")
def command(output: Path | None, root: Path | None, node: str | None, facts: tuple[str, ...], indent: bool) -> int:
    """Write down what this node is and how it is set.

    Kept are hardware, firmware, kernel, clocks, memory, mounts, links, software.

    It only reads, measures no speed and takes less than two seconds. What is not known is null, with the reason under
    `absent`; no user, serial number, address or value of a variable is in it. `nodewise check` compares such snapshots.
    """
    import nodewise
    from nodewise.base.files import write_whole
    from nodewise.nodes.take import take_snapshot

    if node is not None and not re.fullmatch(r"[\w.-]{1,64}", node):
        raise InputError(f"--node: not a name: {node!r}", "letters, digits, points, dashes and underscores")
    made = take_snapshot(root or Path("/"), nodewise.__version__, node, dict(map(_fact, facts)))
    shown = json.dumps(made.to_json(), indent=1 if indent else None, separators=None if indent else (",", ":"))
    if output is None or str(output) == "-":
        print(shown)
    else:
        write_whole(output, shown + "\n")
    return 0


def _fact(text: str) -> tuple[str, str | float | bool]:
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z][\w-]{0,60}", name):
        raise InputError(f"--fact: not NAME=VALUE: {text!r}", "such as --fact dgemm=812.3")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        number = float(value)
    except ValueError:
        return name, value[:200]
    if not abs(number) <= 1e100:
        raise InputError(f"--fact {name}: not a finite number: {value!r}")
    return name, number
