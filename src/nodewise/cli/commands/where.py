# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise where`: where every thread of a program really ran, and whether that was asked for."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.masking import Masks

if TYPE_CHECKING:
    from nodewise.runner.observe import Observation


@click.command()
@click.option("--pid", type=int, help="Watch a process that runs already, and what it starts.")
@click.option("--seconds", type=float, default=5.0, show_default=True, help="How long to watch with --pid.")
@click.option("--interval", type=float, default=0.01, show_default=True, help="Seconds between samples, at least.")
@click.option("--expect", type=click.Path(path_type=Path), help="Hold it against a plan: what `place --json` printed.")
@click.option("--memory", metavar="POLICY", help="Hold its pages against a policy, such as bind:0 or interleave:all.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all that was seen into this file.")
@click.option("--svg", type=click.Path(path_type=Path), help="Draw it over time into this file.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def command(
    pid: int | None,
    seconds: float,
    interval: float,
    expect: Path | None,
    memory: str | None,
    json_file: Path | None,
    svg: Path | None,
    words: tuple[str, ...],
) -> None:
    """Run COMMAND, or watch --pid, and report where each thread ran; the table goes to standard error.

    Exits as COMMAND does.
    """
    from nodewise.api.where import observer_of, prepare_where, watch_for
    from nodewise.base.files import write_whole
    from nodewise.cli.experiments import say_note
    from nodewise.report.where_drawing import where_svg
    from nodewise.report.where_table import where_table
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.where import where_output

    if (pid is None) == (not words):
        raise InputError("name either a command after -- or a process with --pid")
    asked = prepare_where(interval, expect, memory)
    if pid is None:
        seen, status = _run(words, interval)
    else:
        observer, status = observer_of(pid, seconds, interval, say_note), 0
        with contextlib.suppress(KeyboardInterrupt):
            watch_for(observer, seconds)
        seen = observer.seen
    _mask(seen, words)
    agreed = asked.judge(seen)
    print(where_table(seen, agreed), file=sys.stderr)
    if json_file is not None:
        write_whole(json_file, json.dumps(encode(where_output(seen, agreed)), indent=1))
    if svg is not None:
        write_whole(svg, where_svg(seen, agreed))
    if status:
        raise click.exceptions.Exit(status)


def _mask(seen: Observation, words: tuple[str, ...]) -> None:
    """Mask what looks like a secret in the commands and variables of processes."""
    masks = Masks()
    masks.masked(list(words))
    for process in seen.processes.values():
        process.command = masks.masked(process.command)
        process.environment = masks.masked(process.environment)


def _run(words: tuple[str, ...], interval: float) -> tuple[Observation, int]:
    from nodewise.runner.guarded import Guarded
    from nodewise.runner.observe import Observer
    from nodewise.runner.proc_files import children_of

    program = shutil.which(words[0])
    if program is None:
        raise ProgramError(f"no such program: {words[0]}", "give its path, or a name that is found on PATH")
    with _interrupts_are_the_programs():
        try:
            child = Guarded(words, program)
        except OSError as problem:
            raise ProgramError(f"{words[0]} cannot be executed: {problem.strerror}") from problem
        with child:
            observer = Observer(child.pid, interval, lambda: children_of(child.guard))
            seen = observer.watch(lambda wait: child.wait(wait) is not None)
            status = child.wait() or 0
    return seen, status if status >= 0 else 128 - status


@contextlib.contextmanager
def _interrupts_are_the_programs() -> Iterator[None]:
    """The terminal's Ctrl-C and Ctrl-\\ end the program, and what was seen is still reported."""
    before = {s: signal.signal(s, lambda *_: None) for s in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
