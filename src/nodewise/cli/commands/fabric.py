# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise fabric`: what carries messages here, and what of it works."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.base.meant import meant
from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, TIME, json_option, refuse_ignored
from nodewise.cli.masked_terminal import redrawn

SECTION = "Nodes"
_LINK, _PORTS, _TRANSLATE = "link", "ports", "translate"


@click.command(
    cls=Command,
    examples={
        "nodewise fabric link 4X QDR 1X SDR": "what two ends of a cable signal, and what of it is data",
        "nodewise fabric translate I_MPI_FABRICS=shm:tmi job.sh": "what takes the place of old settings of Intel MPI",
    },
)
@option(
    "--timeout",
    type=TIME,
    metavar="TIME",
    help="Give up on a provider's ping-pong after this. [default: 5s]",
    group="Fabric",
)
@option("--no-run", is_flag=True, help="Start no ping-pong and no rank: only ask what there is.", group="Fabric")
@option(
    "--root",
    type=PATH,
    metavar="DIR",
    help="Of ports: read this copy of another system's /, or its /sys.",
    group="Fabric",
)
@option(
    "--all",
    "everything",
    is_flag=True,
    help="Show capabilities, layers' traps and all that could be built in.",
    group=OUTPUT,
)
@json_option("what is found")
@click.argument("words", nargs=-1, metavar="[link [WIDTH RATE] | ports | translate SETTING|FILE...]")
@click.pass_context
def command(
    context: click.Context,
    timeout: float | None,
    no_run: bool,
    root: Path | None,
    everything: bool,
    as_json: bool,
    words: tuple[str, ...],
) -> int:
    """Show what carries messages here, and whether it works.

    libfabric's providers, each proved by a ping-pong between two processes; what each MPI takes, why, and the lines that have it take
    another; ports and their links. Nothing is changed.

    `nodewise fabric link 4X QDR` says what a link signals and what of it is data; two links are two ends of a cable. Without a link all are shown.
    `nodewise fabric ports` looks at the ports alone, with exit code 1 where one is wrong.
    `nodewise fabric translate` says what takes the place of Intel MPI's OFA, DAPL and TMI settings, given as NAME=VALUE or in a job script.
    """
    from nodewise.api.fabric import ask_links, ask_translation, examine_fabric, examine_ports

    asked = words[0] if words else ""
    width = min(120, shutil.get_terminal_size((100, 24)).columns)
    if asked == _LINK:
        refuse_ignored(context, "a link is a matter of numbers", but=("as_json",))
        links = ask_links(words[1:])
        _show(links, as_json, lambda text: text.links_text(links))
    elif asked == _TRANSLATE:
        refuse_ignored(context, "settings are words", but=("as_json",))
        translation = ask_translation(words[1:])
        _show(translation, as_json, lambda text: text.translation_text(translation, width))
    elif asked == _PORTS:
        refuse_ignored(context, "ports are only read", but=("as_json", "root"))
        _no_more(words)
        ports = examine_ports(root or Path("/"))
        _show(ports, as_json, lambda text: text.ports_text(ports, width, _colour()))
        return 1 if any(f.severity == "wrong" for f in ports.findings) else 0
    elif asked:
        raise InputError(
            f"nothing of a fabric is called {asked[:40]!r}{meant(asked, (_LINK, _PORTS, _TRANSLATE))}",
            "write: nodewise fabric, or nodewise fabric link 4X QDR, fabric ports, fabric translate NAME=VALUE",
        )
    else:
        refuse_ignored(
            context, "of another system the ports alone are read: nodewise fabric ports --root DIR", ("root",)
        )
        if no_run:
            refuse_ignored(context, "no ping-pong is started with --no-run", ("timeout",))
        fabric = examine_fabric(5.0 if timeout is None else timeout, not no_run, say=_progress)
        _progress("")
        _show(fabric, as_json, lambda text: text.fabric_text(fabric, width, _colour(), everything))
    return 0


def _no_more(words: tuple[str, ...]) -> None:
    if len(words) > 1:
        raise InputError(f"nothing is named behind {words[0]}: {words[1][:40]!r}", "another system is --root DIR")


def _colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _progress(what: str) -> None:
    """What is being looked at, on a terminal's one line."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what and f'asking {what} …'}", end="", file=redrawn(sys.stderr), flush=True)


def _show(found: Any, as_json: bool, drawn: Any) -> None:
    if as_json:
        from nodewise.verdicts.encoding import encode

        print(json.dumps(encode(found), indent=1))
        return
    from nodewise.report.text import fabric as text

    print(drawn(text))
