# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise confirm`: whether what a tune or a comparison promised still holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.base.errors import InputError
from nodewise.cli.experiments import again_in, place_for, print_note
from nodewise.cli.help import MEASUREMENT, Command, option
from nodewise.cli.keeping import hand_out, kept_in, print_answer
from nodewise.cli.kinds import (
    PATH,
    budget_option,
    given_options,
    json_option,
    out_option,
    refuse_ignored,
    resume_option,
    seed_option,
    within_option,
)
from nodewise.cli.masked_terminal import hide
from nodewise.cli.options import run_keywords, run_options, same_output_keywords, same_output_options
from nodewise.cli.trust import check_owner
from nodewise.runner.same_output import Kind

if TYPE_CHECKING:
    from nodewise.api.options import RunChoice

SECTION = "Measure"
BROKEN = 1


@click.command(
    cls=Command,
    examples={
        "nodewise confirm nodewise-experiments/solver-20261121-145510": "does the gain still hold",
        "nodewise confirm nodewise-experiments/solver-20261121-145510 -- real-input.dat": "does it hold with another input, too",
    },
)
@option(
    "-r",
    "--runs",
    type=click.IntRange(1),
    metavar="N",
    help="N runs of each, and up to N more for those that a passing load disturbed.",
    group=MEASUREMENT,
)
@option(
    "-w",
    "--warmup",
    type=click.IntRange(0),
    metavar="N",
    default=1,
    show_default=True,
    help="Runs of each that come first and are not counted.",
    group=MEASUREMENT,
)
@budget_option("60s")
@option(
    "-M",
    "--max-runs",
    type=click.IntRange(1),
    metavar="N",
    help="At most N runs of each, and no fewer than seven.",
    group=MEASUREMENT,
)
@within_option("as then")
@seed_option
@out_option()
@resume_option("--budget and --max-runs")
@json_option()
@run_options(None)
@same_output_options(Kind.OFF)
@click.argument("directory", required=False, type=PATH, metavar="DIR")
@click.argument("other", nargs=-1, metavar="[-- OTHER ARGUMENTS]")
@click.pass_context
def command(
    context: click.Context, /, run: RunChoice, directory: Path | None, other: tuple[str, ...], **given: Any
) -> int:
    """Measure again what an experiment promised.

    Run again what the tune or compare in DIR promised, in the same blocks as what it was compared with, and say whether it holds.

    Both settings run exactly as recorded, in fresh interleaved blocks, in the directory and with the options of that time;
    options given now replace those. OTHER ARGUMENTS replace the program's arguments, or the whole command where they begin
    as it does.

    Exit codes: 0 it holds; 1 it is smaller, gone, reversed or undecided; 2 bad input.
    """
    if given["resume"] is not None and not context.obj:
        again_in(context, given["resume"], "confirm", ("as_json", "budget", "max_runs"))
        return int(context.meta.get("nodewise.exit_code", 0))
    del run  # what was asked then is put beneath it
    from nodewise.api.confirm import prepare_confirm
    from nodewise.cli.progress import ProgressLine
    from nodewise.records.experiment import read_experiment
    from nodewise.records.secret_file import Revealed
    from nodewise.report.pages.write import write_page
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.stored import stored

    if given["runs"] is not None:
        refuse_ignored(context, "--runs says how many there are", ("max_runs",))
    if directory is None:
        raise InputError(
            "no experiment to confirm", "name its directory: nodewise confirm nodewise-experiments/solver-…"
        )
    check_owner(directory, context)
    through = Revealed(directory)
    hide(through.masks)
    asked = prepare_confirm(
        directory,
        other,
        given["resume"] or given["out"] or place_for("confirm"),
        budget=given["budget"],
        runs=given["runs"],
        warmup=given["warmup"],
        max_runs=given["max_runs"],
        within=given["within"],
        seed=given["seed"],
        **same_output_keywords(context.params),
        resume=given["resume"] is not None,
        asked=("nodewise", *(str(directory.absolute()) if w == str(directory) else w for w in sys.argv[1:])),
        through=through,
        how=run_keywords(context.params, given_options(context)),
    )
    question = asked.question
    with ProgressLine(question.budget) as line, kept_in(question.out, "confirm"):
        verdict = asked.answer(line.show, print_note)
    code = 0 if verdict.verdict.value == "holds" else BROKEN
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code

    def print_json(page: Path | None) -> None:
        print(json.dumps(encode(verdict, report=page), indent=1))

    def answer() -> None:
        print()
        print_answer(stored(read_experiment(question.out), verdict))

    hand_out(question.out, write_page, answer, print_json if given["as_json"] else None)
    return code
