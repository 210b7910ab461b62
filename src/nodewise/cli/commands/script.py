# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise script`: a launch script for a batch system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError, ProgramError
from nodewise.cli.completion import completer, forms
from nodewise.cli.help import Command, option
from nodewise.cli.kinds import refuse_ignored
from nodewise.cli.masked_terminal import show_as_it_is
from nodewise.cli.options import START, start_options

if TYPE_CHECKING:
    from nodewise.api.options import RunChoice


SECTION = "Keep"


def _check_meant(words: tuple[str, ...], run: RunChoice) -> None:
    """Raises InputError for one word that is neither an experiment's directory nor a program here; of a whole command that is a warning."""
    from nodewise.api.options import with_variables
    from nodewise.base.note import Note
    from nodewise.cli.experiments import print_note
    from nodewise.runner.find_program import find_program

    chosen, program = with_variables(run, words)
    environment = chosen.environment
    try:
        find_program(program, environment, run.options.cwd)
    except ProgramError as problem:
        word = program[0]
        if len(words) > 1 or (Path(word).is_absolute() and not Path(word).exists()):
            print_note(Note("warning", f"{problem.what}; the script starts it where it runs"))
        elif Path(word).is_dir():
            raise InputError(f"{word} holds no experiment", "name the directory of a tune, or a program") from problem
        else:
            raise InputError(
                f"{word} is neither the directory of an experiment nor a program here: {problem.what}",
                "name a tune's directory, or the program by its whole path on the nodes",
            ) from problem


@click.command(
    cls=Command,
    examples={
        "nodewise script --for slurm -- ./solver input.dat": "a job script that starts a program",
        "nodewise script --for pbs nodewise-experiments/solver-20261121-145510": "the best start that a tune found, for PBS",
    },
    context_settings={"allow_interspersed_args": False},
)
@option(
    "--for",
    "form",
    required=True,
    metavar="FORM",
    shell_complete=completer(forms),
    help="sh, slurm, pbs (ranks by mpiexec), pbs-alps (ranks by aprun) or lsf.",
    group="Script",
)
@start_options
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="DIR | [--] COMMAND...")
@click.pass_context
def command(context: click.Context, form: str, run: RunChoice, words: tuple[str, ...]) -> None:
    """Write a script for a shell or a batch system.

    Print a script that starts COMMAND, or the best start that the tune in DIR found, under a batch system.

    It asks for the ranks and processors that the start takes, and starts ranks by what that system has: srun, mpiexec or aprun.
    How long it may run, and in which queue, is for you to add, as options of sbatch, qsub or bsub.
    """
    from nodewise.api.script import script_of_command, script_of_experiment
    from nodewise.jobs.script import form_of

    form_of(form, "--for")
    if not words:
        raise InputError(
            "there is nothing to write a script of", f"name a program, or a tune's directory: --for {form} -- ./app"
        )
    if len(words) == 1 and (Path(words[0]) / "question.json").exists():
        refuse_ignored(context, "the script starts what was measured", START)
        text = script_of_experiment(form, Path(words[0]))
    else:
        refuse_ignored(context, "the script only starts it", ("timeout", "expect"))
        _check_meant(words, run)
        text = script_of_command(form, words, run)
    # secrets are variables in it already, and what asks for these is no secret of its own
    show_as_it_is(line for line in text.splitlines() if line.startswith(': "${'))
    print(text, end="")
