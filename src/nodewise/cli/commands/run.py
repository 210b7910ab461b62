# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise run`: one command, measured well."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.api.given import split_variables, unfilled
from nodewise.base.errors import InputError
from nodewise.cli.experiments import again_in, place_for_command, print_note
from nodewise.cli.help import MEASUREMENT, Command, option
from nodewise.cli.keeping import hand_out, kept_in
from nodewise.cli.kinds import allow_option, budget_option, json_option, out_option, resume_option
from nodewise.cli.options import run_options
from nodewise.cli.typed import options_left_out
from nodewise.cli.wrapping import print_wrapped

if TYPE_CHECKING:
    from nodewise.api.options import RunChoice

SECTION = "Measure"
FAILED = 1
#: What may be given again when a run is resumed.
_ANEW = ("as_json", "budget")


@click.command(
    cls=Command,
    examples={
        "nodewise run -- ./solver input.dat": "ten runs of a program, with time, memory and what disturbed them",
        "nodewise run --metric 'gflops=GFLOP/s: (\\S+)' --maximize gflops -- ./bench": "the rate that a program prints, instead of its time",
    },
    context_settings={"allow_interspersed_args": False},
)
@option(
    "-r",
    "--runs",
    type=click.IntRange(1),
    metavar="N",
    default=10,
    show_default=True,
    help="N runs, and up to N more for those that a passing load disturbed.",
    group=MEASUREMENT,
)
@option(
    "-w",
    "--warmup",
    type=click.IntRange(0),
    metavar="N",
    default=1,
    show_default=True,
    help="Runs that come first and are not counted.",
    group=MEASUREMENT,
)
@allow_option
@budget_option("10min")
@out_option()
@resume_option()
@json_option("every sample")
@run_options("It is given once: `nodewise compare` takes several.")
@click.argument("command_words", nargs=-1, metavar="[--] COMMAND...")
@click.pass_context
def command(
    context: click.Context,
    runs: int,
    warmup: int,
    allow: str | None,
    budget: float,
    out: Path | None,
    resume: Path | None,
    as_json: bool,
    run: RunChoice,
    command_words: tuple[str, ...],
) -> int:
    """Measure one command well.

    Run COMMAND without a shell and say how long it took, what it used and what disturbed it.

    NAME=VALUE before it sets a variable, as in a shell. Runs that fail have no time: the others are reported, with how many failed.

    Exit codes: 0 each run ended well; 1 some failed; 2 bad input, or none ended well.
    """
    if resume is not None and not context.obj:
        again_in(context, resume, "run", _ANEW)
        return int(context.meta.get("nodewise.exit_code", 0))
    from nodewise.api.run import prepare_run
    from nodewise.records.experiment import read_experiment
    from nodewise.report.pages.write import write_page
    from nodewise.report.text.ranks import titled_rank_lines
    from nodewise.report.text.run import summary_lines
    from nodewise.verdicts.encoding import encode

    if not command_words:
        raise InputError("no program to run", "name it: nodewise run -- ./app")
    if left_out := options_left_out(context.command.params, sys.argv[1:], split_variables(command_words)[1]):
        print(f"note: {left_out}", file=sys.stderr)
    if literal := unfilled(split_variables(command_words)[1], (), "`nodewise compare -P {}=1,2,4` fills it"):
        print(f"note: {literal}", file=sys.stderr)
    single = prepare_run(
        command_words,
        run,
        resume or out or place_for_command(command_words),
        runs=runs,
        warmup=warmup,
        allow=allow,
        budget=budget,
        resume=resume is not None,
        asked=("nodewise", *sys.argv[1:]),
    )
    folder = single.question.out
    with kept_in(folder, "run"):
        summary = single.answer(note=print_note)
    code = FAILED if summary.failed else 0
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code

    def print_json(page: Path | None) -> None:
        print(json.dumps(encode(summary, report=page), indent=1))

    def answer() -> None:
        ranks = titled_rank_lines(read_experiment(folder), single.question.contenders[0].setting.key)
        print_wrapped("\n".join([*summary_lines(summary, run.shown.currency, runs), *ranks]))

    hand_out(folder, write_page, answer, print_json if as_json else None)
    return code
