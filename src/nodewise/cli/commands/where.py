# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise where`: where every thread of a program really ran, and whether that was asked for."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.masking import Masks
from nodewise.base.units import format_seconds
from nodewise.cli.help import Command, option
from nodewise.cli.kinds import PATH, TIME, TIME_OR_NONE, json_option, refuse_ignored, svg_option

if TYPE_CHECKING:
    from nodewise.runner.observe import Observation


SECTION = "Place"


@click.command(
    cls=Command,
    examples={
        "nodewise where -- ./solver input.dat": "where each thread ran, and whether that was asked for",
        "nodewise where --pid 1234 --seconds 10s": "look at a process that runs already",
    },
)
@option(
    "--pid",
    type=int,
    metavar="N",
    help="Watch a process that runs already, and what it starts.",
    group="What is watched",
)
@option(
    "--seconds",
    type=TIME_OR_NONE,
    metavar="TIME",
    default="5s",
    show_default=True,
    help="How long to look, with --pid.",
    group="What is watched",
)
@option(
    "--interval",
    type=TIME,
    metavar="TIME",
    default="10ms",
    show_default=True,
    help="Between samples, at least.",
    group="What is watched",
)
@option(
    "--plan", type=PATH, metavar="FILE", help="Compare it with a plan: what `place --json` printed.", group="Comparison"
)
@option(
    "--memory",
    metavar="POLICY",
    help="Compare its pages with a policy, such as bind:0 or interleave:all.",
    group="Comparison",
)
@option(
    "--timeout",
    type=TIME,
    metavar="TIME",
    help="End COMMAND after this time; what was seen is still reported.",
    group="What is watched",
)
@json_option("all that was seen", "; what COMMAND prints goes to standard error then")
@svg_option("Draw it over time into this file.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.pass_context
def command(
    context: click.Context,
    pid: int | None,
    seconds: float,
    interval: float,
    plan: Path | None,
    memory: str | None,
    timeout: float | None,
    as_json: bool,
    svg: Path | None,
    words: tuple[str, ...],
) -> None:
    """Report where each thread of a program really ran.

    Run COMMAND, or watch --pid, and report where each thread ran; the table goes to standard error.

    Exits as COMMAND does.
    """
    from nodewise.api.given import through_env
    from nodewise.api.where import observer_of, prepare_where, watch_for
    from nodewise.base.files import write_whole
    from nodewise.cli.experiments import check_target, print_note
    from nodewise.report.drawings.where import where_svg
    from nodewise.report.text.where import where_table
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.where import where_output

    if (pid is None) == (not words):
        raise InputError(
            "name either a command after -- or a process with --pid", "nodewise where -- ./app, or --pid 4711"
        )
    if svg is not None:
        check_target(svg, "--svg")
    if pid is None:
        refuse_ignored(context, "COMMAND is watched until it ends", ("seconds",))
    else:
        refuse_ignored(context, "--seconds says how long a process is watched", ("timeout",))
    asked = prepare_where(interval, plan, memory)
    words = through_env(words)
    if pid is None:
        seen, status = _run(words, interval, as_json, timeout)
    else:
        observer, status = observer_of(pid, seconds, interval, print_note), 0
        with contextlib.suppress(KeyboardInterrupt):
            watch_for(observer, seconds)
        seen = observer.seen
    _mask(seen, words)
    agreed = asked.judge(seen)
    print(where_table(seen, agreed), file=sys.stderr)
    if as_json:
        print(json.dumps(encode(where_output(seen, agreed)), indent=1))
    if svg is not None:
        write_whole(svg, where_svg(seen, agreed))
    if status is None:
        raise ProgramError(
            f"{words[0]} was ended after {format_seconds(timeout or 0.0)}", "a longer --timeout lets it go on"
        )
    if status:
        raise click.exceptions.Exit(status)


def _mask(seen: Observation, words: tuple[str, ...]) -> None:
    """Mask what looks like a secret in the commands and variables of processes."""
    masks = Masks()
    masks.masked(list(words))
    for process in seen.processes.values():
        process.command = masks.masked(process.command)
        process.environment = masks.masked(process.environment)


def _run(words: tuple[str, ...], interval: float, quiet: bool, timeout: float | None) -> tuple[Observation, int | None]:
    """What was seen of the command, and its exit code; None where it was ended after `timeout` seconds."""
    from nodewise.cli.foreground import interrupts_are_the_programs, note_left, output_to_errors, start_in_foreground
    from nodewise.runner.observe import Observer
    from nodewise.runner.proc_files import children_of

    with interrupts_are_the_programs() as children:
        with output_to_errors() if quiet else contextlib.nullcontext():
            child = start_in_foreground(words)
        children.append(child)
        with child:
            observer = Observer(child.pid, interval, lambda: children_of(child.guard))
            seen = observer.watch(lambda wait: child.wait(wait) is not None, timeout)
            status = child.wait(0.0 if timeout is not None and seen.seconds >= timeout else None)
    note_left(child)
    return seen, 128 - status if status is not None and status < 0 else status
