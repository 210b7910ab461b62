# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise snapshot`: what a node is and how it is set, as one line of JSON that `nodewise check` compares."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.cli.asked_nodes import AskedNodes, asked_nodes, nodes_options
from nodewise.cli.asked_speed import AskedSpeed, asked_speed, speed_options
from nodewise.cli.help import NODES, OUTPUT, Command, option
from nodewise.cli.kinds import PATH, PLACE, refuse_ignored

SECTION = "Nodes"


@click.command(
    cls=Command,
    examples={
        "nodewise snapshot -o n1.json": "keep what this node is, for a later check",
        "nodewise snapshot --hosts 'n[1-4]' --speed dgemm,bandwidth -o nodes": "four nodes, with their measured speed, in a folder",
    },
)
@option(
    "-o",
    "--output",
    type=PLACE,
    metavar="FILE",
    help="Write it here, or into this folder (DIR/ is made) under the node's name; of several nodes DIR, with a file for each. [default: standard output]",
    group=OUTPUT,
)
@option(
    "--root", type=PATH, metavar="DIR", help="Read this copy of another system's /proc, /sys and /etc.", group="Node"
)
@option(
    "--node",
    metavar="NAME",
    help="The node's name. [default: Slurm's, or the system's without its domain]",
    group="Node",
)
@option(
    "--fact",
    "facts",
    multiple=True,
    metavar="NAME=VALUE",
    help="Add a fact of your own, such as a speed that you measured; rules read it as own.NAME. May be given again.",
    group="Node",
)
@option("--indent", is_flag=True, help="Write it to be read by people, over several lines.", group=OUTPUT)
@speed_options
@nodes_options
@option("--meet", metavar="TEXT", help="The nodes to ping, as --hosts with --speed gives it to each.", group=NODES)
@option(
    "--framed", is_flag=True, help="Write it in the short lines by which --hosts gets it from a node.", group=OUTPUT
)
@click.pass_context
def command(
    context: click.Context,
    /,
    output: str | None,
    root: Path | None,
    node: str | None,
    facts: tuple[str, ...],
    indent: bool,
    framed: bool,
    **asked: Any,
) -> int:
    """Write down what this node is and how it is set.

    Kept are hardware, firmware, kernel, clocks, memory, mounts, links, software.

    It only reads, and takes less than two seconds, but for --speed, which measures. What is not known is null, with the reason under
    `absent`; no user, serial number, address or value of a variable is in it. `nodewise check` compares such snapshots.

    With --hosts each node's is written as it comes; of one that gives none, why. Exit code 1: some gave none.
    """
    import nodewise
    from nodewise.base.files import write_whole
    from nodewise.nodes.asking.frames import framed as framed_lines
    from nodewise.nodes.take import take_snapshot

    if node is not None and not re.fullmatch(r"\w[\w.-]{0,63}", node):
        raise InputError(
            f"--node: not a name: {node[:80]!r}",
            "letters, digits, points, dashes and underscores, a letter or digit first",
        )
    own = dict(map(_fact, facts))
    speed = asked_speed(context, asked)
    if nodes := asked_nodes(context, asked):
        refuse_ignored(context, "other nodes are asked", ("root", "node", "indent", "framed", "meet"))
        return _of_nodes(nodes, facts, speed, None if output is None or output == "-" else Path(output))
    if speed:
        refuse_ignored(context, "speed is measured on this node", ("root",))
    made = take_snapshot(root or Path("/"), nodewise.__version__, node or _slurm_name(root), own)
    made = speed.measured(made) if speed else made
    if not framed:
        for fact, reason in made.absent.items():
            if fact.startswith("speed."):
                print(f"note      {fact.removeprefix('speed.')}: not measured: {reason}", file=sys.stderr)
    shown = json.dumps(made.to_json(), indent=1 if indent else None, separators=None if indent else (",", ":"))
    if framed:
        refuse_ignored(context, "its lines go to standard output", ("output", "indent"))
        for line in framed_lines(made.node, shown):
            # each by a call of its own: what passes it on cuts between calls, if anywhere
            print(line.decode(), end="", flush=True)
    elif output is None or output == "-":
        print(shown)
    else:
        if output.endswith("/"):
            _make(Path(output))
        write_whole(Path(output) / f"{made.node}.json" if Path(output).is_dir() else Path(output), shown + "\n")
    return 0


def _slurm_name(root: Path | None) -> str | None:
    """What Slurm calls this node, where it started this: of several slurmd on one system each has a name."""
    name = os.environ.get("SLURMD_NODENAME", "") if root is None else ""
    return name if re.fullmatch(r"[\w.-]{1,64}", name) else None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"--output {folder}: {problem.strerror}", "of several nodes, and with / at its end, it is a folder"
        ) from problem


def _of_nodes(nodes: AskedNodes, facts: Sequence[str], speed: AskedSpeed | None, folder: Path | None) -> int:
    from nodewise.base.files import write_whole

    if folder is not None:
        _make(folder)

    def kept(node: str, line: str, _reason: str) -> None:
        if folder is None:
            print(line, flush=True)
        else:
            write_whole(folder / f"{node}.json", line + "\n")

    words = [f"--fact={fact}" for fact in facts]
    return 1 if nodes.collect(words, kept, speed) else 0


def _fact(text: str) -> tuple[str, str | float | bool]:
    name, equals, value = text.partition("=")
    if not equals or not value.strip() or not re.fullmatch(r"[A-Za-z][\w-]{0,60}", name):
        # a program that failed leaves a script's variable empty
        why = f"--fact {name}: it has no value" if equals and not value.strip() else f"--fact: not NAME=VALUE: {text!r}"
        raise InputError(why, "such as --fact dgemm=812.3")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        number = float(value)
    except ValueError:
        if re.fullmatch(r"\d[\d.]*(e[+-]?\d+)? ?[kKMGT]?i?(B|b|Hz|W|F|FLOPS?|FLOP)?(/s)?", value):
            print(
                f"note      --fact {name}: {value} is kept as a text, and rules of numbers pass over it",
                file=sys.stderr,
            )
        return name, value[:200]
    if not abs(number) <= 1e100:
        raise InputError(f"--fact {name}: not a finite number: {value!r}")
    return name, number
