# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise scale`: how a program scales, and what that lets expect."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.api.given import split_variables, unfilled
from nodewise.base.errors import InputError
from nodewise.cli.experiments import again_in, place_for_command, print_note
from nodewise.cli.help import MEASUREMENT, Command, option
from nodewise.cli.keeping import hand_out, kept_in, print_answer
from nodewise.cli.kinds import (
    allow_option,
    budget_option,
    json_option,
    machine_option,
    out_option,
    resume_option,
    seed_option,
)
from nodewise.cli.options import run_options
from nodewise.cli.typed import options_left_out

if TYPE_CHECKING:
    from nodewise.api.options import RunChoice

SECTION = "Measure"
#: What may be given again when a scaling is resumed.
_ANEW = ("as_json", "budget")


@click.command(
    cls=Command,
    examples={
        "nodewise scale --to 64 -- ./app": "speedup and efficiency, and the time with 64 threads",
        "nodewise scale --weak -- mpirun -n 16 ./app --cells {ranks}000000": "weak scaling over ranks",
        "nodewise scale --by 08:00 --times 1000 -- ./app --steps 10": "how many threads it takes to be done by 8 o'clock",
    },
    context_settings={"allow_interspersed_args": False},
)
@option(
    "--over",
    type=click.Choice(["threads", "ranks", "nodes"]),
    help="What is varied. [default: ranks where COMMAND starts some, else threads]",
    group="Scaling",
)
@option(
    "--counts",
    metavar="LIST",
    help="How many of them: 1,2,4,8 or 1..64*2. [default: up to what runs here at once, or to COMMAND's ranks]",
    group="Scaling",
)
@option("--weak", is_flag=True, help="The work of COMMAND grows with the number.", group="Scaling")
@option(
    "--to",
    metavar="LIST",
    default="",
    help="Predict the time with so many, up to 4 times the most measured.",
    group="Scaling",
)
@option(
    "--by",
    metavar="TIME",
    help="How many are needed to end by this time: 08:00, or a date with a time.",
    group="Scaling",
)
@option(
    "--times",
    type=float,
    metavar="N",
    default=1.0,
    show_default=True,
    help="What has to end by then is N times COMMAND.",
    group="Scaling",
)
@option(
    "--blocks",
    type=int,
    metavar="N",
    default=10,
    show_default=True,
    help="Blocks of runs, each of one run of each number.",
    group=MEASUREMENT,
)
@budget_option("10min")
@machine_option
@allow_option
@seed_option
@out_option()
@resume_option()
@json_option()
@run_options(None)
@click.argument("command_words", nargs=-1, metavar="[--] COMMAND...")
@click.pass_context
def command(
    context: click.Context,
    /,
    resume: Path | None,
    out: Path | None,
    as_json: bool,
    machine_spec: str | None,
    run: RunChoice,
    command_words: tuple[str, ...],
    **given: Any,
) -> None:
    """Show how COMMAND scales, and what to expect of it.

    It is measured with several numbers of threads, ranks or nodes: speedup, efficiency, and the law they follow.

    {threads}, {ranks} or {nodes} in COMMAND stands for the number. Without it threads are set by OMP_NUM_THREADS or what
    else the program reads. A law takes five numbers; more threads or ranks than processors are not run.

    Exit codes: 0 answered; 2 bad input, what cannot be answered by these numbers, or COMMAND does not run.
    """
    if resume is not None and not context.obj:
        again_in(context, resume, "scale", _ANEW)
        return
    from nodewise.api.scale import prepare_scale
    from nodewise.cli.progress import ProgressLine
    from nodewise.records.experiment import read_experiment
    from nodewise.report.pages.write import write_page
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.stored import stored

    if not command_words:
        raise InputError("there is no command to scale", "name it: nodewise scale -- ./app")
    if left_out := options_left_out(context.command.params, sys.argv[1:], split_variables(command_words)[1]):
        print(f"note: {left_out}", file=sys.stderr)
    scaling = prepare_scale(
        command_words,
        run,
        resume or out or place_for_command(command_words),
        **given,
        machine=machine_spec,
        resume=resume is not None,
        asked=("nodewise", *sys.argv[1:]),
    )
    if literal := unfilled(
        command_words, ("threads", "ranks", "nodes"), "{{threads}}, {{ranks}} or {{nodes}} would stand for the number"
    ):
        print(f"note: {literal}", file=sys.stderr)
    question = scaling.question
    with ProgressLine(question.budget) as line, kept_in(question.out, "scale"):
        verdict = scaling.answer(line.show, print_note)

    def answer() -> None:
        print_answer(stored(read_experiment(question.out), verdict))

    def print_json(page: Path | None) -> None:
        print(json.dumps(encode(verdict, report=page), indent=1))

    hand_out(question.out, write_page, answer, print_json if as_json else None)
