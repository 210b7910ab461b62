# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise tune`: the fastest way to run a program here, with the proof."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.api.given import split_variables, unfilled
from nodewise.base.errors import InputError
from nodewise.base.lists import listed
from nodewise.cli.completion import axes, completer
from nodewise.cli.experiments import again_in, check_target, place_for_command, print_note
from nodewise.cli.help import JOB, MEASUREMENT, OUTPUT, Command, option
from nodewise.cli.job_options import array_option, without
from nodewise.cli.keeping import hand_out, kept_in, print_answer
from nodewise.cli.kinds import (
    allow_option,
    budget_option,
    json_option,
    machine_option,
    out_option,
    refuse_ignored,
    resume_option,
    seed_option,
    within_option,
)
from nodewise.cli.options import parse_pair, run_options, same_output_options
from nodewise.cli.typed import options_left_out
from nodewise.runner.same_output import Kind

if TYPE_CHECKING:
    from nodewise.api.options import RunChoice
    from nodewise.api.tune import Tuning
    from nodewise.tuning.outline import Outline


SECTION = "Measure"
#: What may be given again when a tune is resumed.
_ANEW = ("as_json", "budget", "max_runs", "script")


def _read_script(context: click.Context, option: click.Parameter, text: str | None) -> tuple[str, Path | None] | None:
    del context, option
    if text is None:
        return None
    from nodewise.jobs.script import read_form

    return read_form(text)


#: What `--axes` takes without other packages, as `tools/manual.py` writes it: the axes themselves take long to load.
AXES_HELP = Path(__file__).parents[1] / "axes.txt"


def _what_may_be_changed() -> str:
    from nodewise.base.installed import entry_points_of

    return axes_help() if entry_points_of("nodewise.axes") else AXES_HELP.read_text().strip()


def axes_help() -> str:
    """What `--axes` takes, with what installed packages bring."""
    from nodewise.tuning.known_axes import axes_in_words, tried_by_default

    return (
        f"What may be changed: {axes_in_words()}, knobs (what is worth trying of the libraries that it loads) or knobs by "
        f"name. [default: of {listed([*tried_by_default(), 'knobs'])} those that can matter here]"
    )


@click.command(
    cls=Command,
    examples={
        "nodewise tune -- ./solver input.dat": "search, verdict, launch line and report",
        "nodewise tune --axes threads,placement --budget 10min -- ./solver input.dat": "only threads and their pinning, for ten minutes",
        "nodewise tune --submit='partition=long time=4:00:00' -- ./solver input.dat": "the same as a job of Slurm",
    },
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@budget_option("2min")
@option(
    "--max-runs",
    type=click.IntRange(1),
    metavar="N",
    help="At most N runs of the program, of all settings together, and no fewer than 15.",
    group=MEASUREMENT,
)
@option(
    "--axes",
    metavar="A,B",
    shell_complete=completer(axes, listed=True),
    help=_what_may_be_changed,
    group="Search",
)
@option(
    "--sweep",
    metavar="A,B",
    shell_complete=completer(axes, listed=True),
    help="Run every setting of these axes, and of -P and --env-axis, equally often, in place of a search: threads,placement.",
    group="Search",
)
@option(
    "-P",
    "--parameter",
    multiple=True,
    metavar="NAME=VALUES",
    help="Try values for {NAME} in COMMAND: 1,2,4 or 1..64*2.",
    group="Search",
)
@option(
    "--env-axis",
    multiple=True,
    metavar="NAME=VALUES",
    help="Try values of a variable; unset is one, too.",
    group="Search",
)
@option(
    "--build",
    metavar="COMMAND",
    help="Make the program with this shell command: 'cc {flags} -o app app.c'.",
    group="Search",
)
@option(
    "--constraint",
    multiple=True,
    metavar="CONDITION",
    help="What must hold between axes: 'ranks * threads <= 64'.",
    group="Search",
)
@option(
    "--no-history",
    is_flag=True,
    help="Start from nothing: do not look at earlier tunes of this program, or of its libraries.",
    group="Search",
)
@machine_option
@allow_option
@within_option()
@seed_option
@out_option()
@resume_option("--budget, --max-runs, --script and --submit")
@json_option()
@option(
    "--script",
    metavar="FORM[=FILE]",
    callback=_read_script,
    help="Write the launch line as a script, too: sh, slurm, pbs, pbs-alps or lsf [default FILE: in the experiment's directory].",
    group=OUTPUT,
)
@option(
    "--submit",
    is_flag=False,
    flag_value="",
    metavar="[OPTIONS]",
    help="Run it as one job of Slurm, which goes on by itself when it is requeued, killed or at its time limit; "
    "OPTIONS of sbatch: --submit='partition=long time=4:00:00'.",
    group=JOB,
)
@array_option(
    "With --submit: N tunes, each in a folder of its own, at most M at once; nodewise fleet shows their nodes side by side."
)
@option(
    "--dry-run",
    is_flag=True,
    help="Run the program once, say what would be tried and how long it takes, and end.",
    group="Search",
)
@run_options("Several are tried with --axes isolation.")
@same_output_options(Kind.AUTO)
@click.argument("command_words", nargs=-1, metavar="[--] COMMAND...")
@click.pass_context
def command(
    context: click.Context,
    budget: float,
    max_runs: int | None,
    axes: str | None,
    sweep: str | None,
    parameter: tuple[str, ...],
    env_axis: tuple[str, ...],
    build: str | None,
    constraint: tuple[str, ...],
    no_history: bool,
    machine_spec: str | None,
    allow: str | None,
    within: float,
    seed: int,
    out: Path | None,
    resume: Path | None,
    as_json: bool,
    script: tuple[str, Path | None] | None,
    submit: str | None,
    array: str | None,
    dry_run: bool,
    run: RunChoice,
    command_words: tuple[str, ...],
) -> None:
    """Find the fastest way to run COMMAND, and prove it.

    The settings of COMMAND are searched, and the best one is confirmed against the way it is started now.

    COMMAND is a program with its arguments, and NAME=VALUE before it as a shell has them, or study:NAME with that study's knobs (study:is class=A). Ctrl-C ends with
    the best so far.

    Exit codes: 0 answered, whatever the verdict; 2 bad input, or COMMAND does not run as it is.
    """
    from nodewise.api.script import write_launch_script
    from nodewise.api.tune import prepare_tune
    from nodewise.base.since_start import since_start_s
    from nodewise.cli.progress import ProgressLine
    from nodewise.cli.tune_text import introduce, print_outline
    from nodewise.experiments.contenders import parse_parameters
    from nodewise.records.experiment import read_experiment
    from nodewise.report.pages.write import write_page
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.stored import stored

    if array is not None and submit is None:
        raise InputError("--array is for jobs of Slurm", "add --submit")
    if submit is not None and not context.obj:
        _submit(context, submit, array, resume, out, command_words, run)
        return
    if resume is not None and not context.obj:
        again_in(context, resume, "tune", _ANEW)
        return
    if dry_run:
        refuse_ignored(context, "a dry run keeps nothing", ("out", "script"))
    _check_typed(context, command_words)
    tuning = prepare_tune(
        command_words,
        run,
        resume or out or place_for_command(command_words),
        budget=budget,
        max_runs=max_runs,
        axes=axes,
        sweep=sweep,
        parameters=parse_parameters(parameter),
        env_axes=dict(parse_pair(e, "--env-axis", "NAME=v1,v2") for e in env_axis),
        build=build,
        constraints=constraint,
        machine=machine_spec,
        allow=allow,
        within=within,
        seed=seed,
        history=not no_history,
        resume=resume is not None,
        asked=("nodewise", *sys.argv[1:]),
    )
    question = tuning.question
    if script is not None and script[1] is not None:
        check_target(script[1], "--script")
    if dry_run:
        _dry(tuning, as_json, build is not None)
        return

    def announce(outline: Outline) -> None:
        # not before the first run: what is wrong with what was asked is said alone
        if not as_json:
            introduce(question)
            print_outline(outline)

    with ProgressLine(question.budget) as line, kept_in(question.out, "tune"):
        verdict = tuning.answer(line.show, print_note, announce, since_start_s())

    def written() -> Path | None:
        return None if script is None else write_launch_script(verdict, *script)

    def answer() -> None:
        print()
        print_answer(stored(read_experiment(question.out), verdict))
        if (at := written()) is not None:
            print(f"script    {at}")

    def print_json(page: Path | None) -> None:
        script_at = {} if script is None else {"script": written()}
        print(json.dumps(encode(verdict, report=page, **script_at), indent=1))

    hand_out(question.out, write_page, answer, print_json if as_json else None)


def _check_typed(context: click.Context, command_words: tuple[str, ...]) -> None:
    """Say what of the COMMAND looks like something of ours. Raises InputError for an axis in the place of a program."""
    from shutil import which

    from nodewise.experiments.contenders import parse_parameters
    from nodewise.tuning.known_axes import axis_names

    given = context.params
    first = command_words[0] if command_words else ""
    if (named := given["axes"] or given["sweep"]) and first in axis_names() and not which(first):
        together = f"--{'axes' if given['axes'] else 'sweep'} {named},{first}"
        raise InputError(f"no such program: {first}", f"axes have commas between them: {together}")
    program = split_variables(command_words)[1]
    for note in (
        options_left_out(context.command.params, sys.argv[1:], program),
        unfilled(program, parse_parameters(given["parameter"]), "-P {}=1,2,4 would"),
    ):
        if note:
            print(f"note: {note}", file=sys.stderr)


def _submit(
    context: click.Context,
    options: str,
    array: str | None,
    resume: Path | None,
    out: Path | None,
    command_words: tuple[str, ...],
    run: RunChoice,
) -> None:
    """Hand the same command to Slurm, to be run there, and gone on with where it was."""
    from nodewise.api.submit import check_starts, submit_array, submit_tune, with_nodes
    from nodewise.experiments.first_run import check_runs
    from nodewise.jobs.submission import read_array

    refuse_ignored(context, "a job prints its answer when it ends", ("as_json", "dry_run"))
    if not command_words and resume is None:
        raise InputError("no program to run", "write it behind the options: tune --submit -- ./app")
    if command_words:
        check_starts(command_words, run, context.params["build"])
        check_runs(context.params["max_runs"])
        options = with_nodes(options, [command_words], run)
    folder = resume or out or place_for_command(command_words)
    own = sys.argv[1 : len(sys.argv) - len(command_words)]
    typed = without(own, valued=("--array", "--out") if array is not None else (), alone=("--submit",))
    at = typed.index("tune") + 1
    script = context.params["script"]
    also = [] if script is None else ["--script", "=".join([script[0], *([str(script[1])] if script[1] else [])])]

    def first(place: Path | None) -> tuple[str, ...]:
        return (*typed[:at], *(["--out", str(place.absolute())] if place else []), *typed[at:], *command_words)

    if array is not None:
        if resume is not None:
            raise InputError("an array begins anew", f"go on with one of its tasks: --resume {resume}/task-1 --submit")
        tasks = read_array(array)
        found = submit_array(folder, first, also, options, tasks)
        print(
            f"job       {found.job}, an array of {tasks.tasks} tunes, {tasks.told}; side by side: nodewise fleet {folder}"
        )
    else:
        found = submit_tune(folder, first(None if out or resume else folder), also, options, resume is not None)
        print(
            f"job       {found.job}, one for the whole experiment: it goes on when it is requeued or at its time limit"
        )
    print(f"kept in   {folder}")
    print(f"log       {found.log}")


def _dry(tuning: Tuning, as_json: bool, builds: bool) -> None:
    """One run, and what would be done."""
    from nodewise.cli.outputs.outline import outline_output
    from nodewise.cli.tune_text import introduce, print_outline, too_small
    from nodewise.verdicts.encoding import encode

    outline = tuning.preview(print_note)
    if as_json:
        print(json.dumps(encode(outline_output(outline)), indent=1))
    else:
        introduce(tuning.question)
        print_outline(outline)
        if short := too_small(outline):
            print(f"budget    {short}")
        built = "was built and ran once; of the run nothing" if builds else "ran once; nothing"
        print(f"dry run   the program {built} was kept")
