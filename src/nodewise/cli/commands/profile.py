# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise profile`: where a program's time goes, by function, line and thread."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError
from nodewise.cli.foreground import (
    interrupts_are_the_programs,
    note_left,
    output_to_errors,
    start_in_foreground,
)
from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, json_option, refuse_ignored

if TYPE_CHECKING:
    from nodewise.api.profile import Prepared
    from nodewise.profile.result import Profiled

SECTION = "Understand"
_FOLDER = Path("nodewise-profiles")


@click.command(
    cls=Command,
    examples={
        "nodewise profile -- ./solver input.dat": "where the time goes, with a flame graph",
        "nodewise profile --only-ranks 0,3 -- mpirun -n 4 ./solver": "two ranks of an MPI program",
    },
)
@option(
    "--rate",
    type=int,
    default=99,
    show_default=True,
    metavar="N",
    help="Samples a second on each processor. Not 100, so that it keeps no step with what a program does by the clock.",
    group="Recording",
)
@option(
    "--call-graph",
    "chains",
    metavar="dwarf[,SIZE]|fp|none",
    help="How callers are found: by unwinding a copy of the stack (of 8192 bytes, or of SIZE, such as 32KiB), by frame pointers, or not. [default: what the program allows]",
    group="Recording",
)
@option(
    "--off-cpu", is_flag=True, help="Report, too, in which functions threads wait, and for how long.", group="Recording"
)
@option(
    "--only-ranks",
    "ranks",
    default="",
    metavar="LIST",
    help="The ranks of an MPI program that are recorded, such as 0,8-11 or every:64; the others run as they are. [default: all]",
    group="Recording",
)
@option(
    "--max-size",
    default="",
    metavar="SIZE",
    help="End a recording, and the program with it, at that size, such as 500MB; each rank has one of its own.",
    group="Recording",
)
@option(
    "--top",
    type=click.IntRange(1, 60),
    default=15,
    show_default=True,
    metavar="N",
    help="How many rows a table has.",
    group=OUTPUT,
)
@option(
    "--collapsed",
    type=PATH,
    metavar="FILE",
    help="Write collapsed stacks, as flame graph tools read them.",
    group=OUTPUT,
)
@option("--speedscope", type=PATH, metavar="FILE", help="Write a profile for speedscope.", group=OUTPUT)
@option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="Directory of the profile. [default: a new one in nodewise-profiles]",
    group=OUTPUT,
)
@option(
    "--read",
    "stored",
    type=PATH,
    metavar="DIR",
    help="Report a stored profile again instead of running a command.",
    group=OUTPUT,
)
@option(
    "--against",
    type=PATH,
    metavar="DIR",
    help="Say which functions' shares changed since the profile in DIR, and colour the flame graph by it.",
    group=OUTPUT,
)
@option(
    "--script",
    metavar="FORM[=FILE]",
    help="Print a script that profiles the chosen ranks under a batch system, or write it: slurm, pbs, pbs-alps or lsf.",
    group=OUTPUT,
)
@option("--walltime", metavar="TIME", help="How long the script's job may take. [default: 00:30:00]", group=OUTPUT)
@json_option("the profile", "; what COMMAND prints goes to standard error then")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.pass_context
def command(
    context: click.Context,
    rate: int,
    chains: str | None,
    off_cpu: bool,
    ranks: str,
    max_size: str,
    top: int,
    collapsed: Path | None,
    speedscope: Path | None,
    out: Path | None,
    stored: Path | None,
    against: Path | None,
    script: str | None,
    walltime: str | None,
    as_json: bool,
    words: tuple[str, ...],
) -> None:
    """Report where a program's time goes.

    Run COMMAND under Linux perf and report where its time goes: functions and source lines with 95% intervals, threads with how
    long they waited, and a page with a flame graph. The recording is kept.

    Exits as COMMAND does.
    """
    from nodewise.api.given import through_env
    from nodewise.api.profile import keep_profile
    from nodewise.api.stored_profile import read_profile
    from nodewise.base.files import write_whole
    from nodewise.cli.experiments import check_target
    from nodewise.cli.keeping import hand_out
    from nodewise.cli.outputs.profile import profile_output
    from nodewise.profile.changes import since
    from nodewise.profile.stacks import collapsed as collapsed_text
    from nodewise.profile.stacks import speedscope as speedscope_text
    from nodewise.profile.stacks import summed
    from nodewise.report.pages.profile import by_thread, profile_page
    from nodewise.report.text.profile import profile_text
    from nodewise.verdicts.encoding import encode

    if (stored is None) == (not words):
        raise InputError(
            "name either a command after -- or a stored profile with --read", "nodewise profile -- ./app, or --read DIR"
        )
    words = through_env(words)
    if script is not None:
        ignored = ("off_cpu", "top", "collapsed", "speedscope", "against", "as_json", "stored")
        refuse_ignored(context, "--script only writes a script", ignored)
        _write_script(script, words, rate, chains, ranks, max_size, out, walltime or "00:30:00")
        return
    refuse_ignored(context, "no --script is asked for", ("walltime",))
    for target, name in ((collapsed, "--collapsed"), (speedscope, "--speedscope")):
        # the directory of the profile is made first
        if target is not None and (out is None or target.absolute().parent != out.absolute()):
            check_target(target, name)
    before = None if against is None else read_profile(against)
    if stored is not None:
        refuse_ignored(
            context, "--read reports what was recorded", ("rate", "chains", "off_cpu", "ranks", "max_size", "out")
        )
        profiled, folder = read_profile(stored), stored
    else:
        profiled, folder = _record(words, rate, chains, off_cpu, ranks, max_size, out, as_json)
    result = profiled.result
    changed = None if before is None else since(before, profiled)

    def write_page(folder: Path) -> Path:
        if stored is None:
            keep_profile(profiled, folder)
        if collapsed is not None:
            write_whole(collapsed, collapsed_text(summed(profiled.samples)))
        if speedscope is not None:
            write_whole(speedscope, speedscope_text(by_thread(profiled), result.rate, " ".join(result.command)))
        write_whole(page := folder / "report.html", profile_page(profiled, changed))
        return page

    def answer() -> None:
        width = min(120, shutil.get_terminal_size((100, 24)).columns)
        print(profile_text(result, top, width, changed), file=sys.stderr)

    def print_json(page: Path | None) -> None:
        print(json.dumps(encode(profile_output(result, changed), report=page), indent=1))

    hand_out(folder, write_page, answer, print_json if as_json else None, sys.stderr, _again(folder))
    if result.exit_code and stored is None:
        raise click.exceptions.Exit(result.exit_code)


def _write_script(
    script: str,
    words: tuple[str, ...],
    rate: int,
    chains: str | None,
    ranks: str,
    max_size: str,
    out: Path | None,
    walltime: str,
) -> None:
    from nodewise.api.profile_script import script_of_profile
    from nodewise.base.files import write_whole
    from nodewise.base.units import parse_bytes
    from nodewise.cli.experiments import check_target
    from nodewise.cli.masked_terminal import show_as_it_is

    form, equals, file = script.partition("=")
    if equals and not file:
        raise InputError(f"--script {script!r} names no file", "such as: --script slurm=profile.sbatch")
    if file:
        check_target(Path(file), "--script")
    text, notes = script_of_profile(
        form,
        words,
        ranks=ranks,
        rate=rate,
        chains=chains,
        walltime=walltime,
        folder=out,
        most_bytes=parse_bytes(max_size, "--max-size") if max_size else 0,
    )
    for note in notes:
        print(f"note      {note}", file=sys.stderr)
    if file:
        write_whole(Path(file), text.encode("utf-8", "surrogateescape"))
        Path(file).chmod(Path(file).stat().st_mode | 0o111)
    else:
        show_as_it_is(line for line in text.splitlines() if line.startswith(': "${'))
        print(text, end="")


def _record(
    words: tuple[str, ...],
    rate: int,
    chains: str | None,
    off_cpu: bool,
    ranks: str,
    max_size: str,
    out: Path | None,
    quiet: bool,
) -> tuple[Profiled, Path]:
    from nodewise.api.profile import NothingRecordedError, conclude_profile, prepare_profile
    from nodewise.api.stored_profile import KEPT, recordings_in
    from nodewise.base.ends import tell_first
    from nodewise.base.units import parse_bytes
    from nodewise.cli.experiments import named_place, place_for_command
    from nodewise.cli.keeping import print_note

    most = parse_bytes(max_size, "--max-size") if max_size else 0
    folder = place_for_command(words, _FOLDER) if out is None else named_place(out)
    if recordings_in(folder):
        what = "a profile already" if (folder / KEPT).exists() else "a recording that was broken off, or still goes on"
        raise InputError(f"{folder} holds {what}", "name another directory with --out")
    prepared = prepare_profile(words, folder, rate=rate, chains=chains, off_cpu=off_cpu, ranks=ranks, most_bytes=most)
    for note in prepared.notes:
        print(f"note      {note}", file=sys.stderr)
    begin = time.monotonic()
    try:
        status = _run(prepared, quiet)
        profiled = conclude_profile(prepared, time.monotonic() - begin, status)
        tell_first(lambda: True)
    except NothingRecordedError as problem:
        print(f"error: {problem}", file=sys.stderr)
        raise click.exceptions.Exit(status) from None
    except KeyboardInterrupt:
        kept = f"the recording is kept: {_again(folder)} reports it"
        print_note(f"interrupted: {kept if (folder / KEPT).exists() else 'nothing was recorded to its end'}")
        raise
    return profiled, folder


def _again(folder: Path) -> str:
    from nodewise.runner.launch import quoted

    return f"nodewise profile --read {quoted(str(folder))}"


def _run(prepared: Prepared, quiet: bool) -> int:
    """The status of what was recorded; a signal's number is negative."""
    from nodewise.api.profile import broken_off, ended_by_size, shell_code

    with interrupts_are_the_programs() as children:
        with output_to_errors() if quiet else contextlib.nullcontext():
            child = start_in_foreground(prepared.words)
        children.append(child)
        with child:
            status = child.wait()
            assert status is not None
            if ended_by_size(prepared, shell_code(status)) or broken_off(prepared, status):
                # perf ends the process that it started, not what that has started; where it is killed, nothing
                child.end_rest()
    note_left(child)
    return status
