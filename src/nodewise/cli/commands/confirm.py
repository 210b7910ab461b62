# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise confirm`: whether what a tune or a comparison promised still holds."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nodewise.api.options import RunChoice
from nodewise.base.errors import InputError
from nodewise.base.units import format_seconds, parse_seconds, parse_share
from nodewise.cli.experiments import again_in, environment_of, place_for
from nodewise.cli.keeping import hand_out, kept_in
from nodewise.cli.masked_terminal import hide
from nodewise.cli.options import run_choice, run_options, same_output_choice, same_output_options
from nodewise.cli.trust import check_owner
from nodewise.records.experiment import TELLING
from nodewise.records.secret_file import Revealed
from nodewise.runner.same_output import Kind

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import ConfirmVerdict
    from nodewise.verdicts.question import Question

BROKEN = 1


@click.command()
@click.option("--budget", default="60s", show_default=True, help="How long it may take: 60s, 10min.")
@click.option("-M", "--max-runs", type=click.IntRange(6), help="At most so many runs of each.")
@click.option("--within", help="A difference up to this counts as none. [default: as then]")
@click.option("--seed", type=int, default=0, help="Seed of the random order of runs.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Directory of the new experiment.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="DIR", help="Go on with a confirm that was cut off.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@run_options
@same_output_options(Kind.OFF)
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="DIR")
@click.argument("other", nargs=-1, metavar="[-- OTHER ARGUMENTS]")
@click.pass_context
def command(
    context: click.Context, /, run: RunChoice, directory: Path | None, other: tuple[str, ...], **given: Any
) -> int:
    """Run again what the tune or compare in DIR promised, beside what it was promised against, and say whether it holds.

    \b
      nodewise confirm nodewise-experiments/solver-20261121-145510
      nodewise confirm nodewise-experiments/solver-20261121-145510 -- real-input.dat

    Both settings run exactly as recorded, in fresh interleaved blocks, in the directory and with the options of then;
    options given now replace those. OTHER ARGUMENTS replace the program's arguments, or the whole command where they begin
    as it does.

    Exit codes: 0 it holds; 1 it is smaller, gone, reversed or undecided; 2 bad input.
    """
    if given["resume"] is not None and not context.obj:
        again_in(context, given["resume"], "confirm", ("as_json", "budget", "max_runs"))
        return int(context.meta.get("nodewise.exit_code", 0))
    del run  # what was asked then is put beneath it
    from nodewise.cli.progress import ProgressLine
    from nodewise.experiments.compare import CompareQuestion
    from nodewise.experiments.confirm import check_runnable, confirm, moved_paths, repetition_of
    from nodewise.machine.sources import load_machine
    from nodewise.records.budget import Budget
    from nodewise.records.experiment import read_experiment
    from nodewise.report.pages.write import write_page
    from nodewise.runner.launch import start_of
    from nodewise.runner.local import LocalLauncher
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.question import question_of

    if directory is None:
        raise InputError(
            "no experiment to confirm", "name its directory: nodewise confirm nodewise-experiments/solver-…"
        )
    check_owner(directory, context)
    through = Revealed(directory)
    earlier = read_experiment(directory, through=through)
    hide(through.masks)
    then = question_of(earlier)
    chosen = _as_then(then, context)
    notes = _changed_environment(then)
    environment = {**environment_of(then.environment), **chosen.env}
    run_in = chosen.options.cwd or Path.cwd()
    other, moved = moved_paths(other, run_in)
    start = start_of(chosen.options, chosen.env)
    # a line for the shell that one is in
    start = replace(start, cwd="") if run_in.resolve() == Path.cwd().resolve() else start
    repetition = repetition_of(earlier, other, start)
    machine = load_machine(None, None)
    check_runnable(repetition, machine)
    within = given["within"]
    question = CompareQuestion(
        contenders=repetition.contenders,
        machine=machine,
        out=given["resume"] or given["out"] or place_for("confirm"),
        budget=Budget(parse_seconds(given["budget"], "--budget")),
        most=given["max_runs"],
        within=parse_share(within, "--within") if within else then.within,
        seed=given["seed"],
        timeout_s=chosen.options.timeout_s,
        cwd=chosen.options.cwd,
        environment=environment,
        asked=("nodewise", *(str(directory.absolute()) if w == str(directory) else w for w in sys.argv[1:])),
        objective=chosen.objective,
        shown=chosen.shown,
        resume=given["resume"] is not None,
        same=chosen.options.same,
        accept_disturbed=chosen.accept_disturbed,
    )
    with (
        LocalLauncher(chosen.options, environment) as launcher,
        ProgressLine(question.budget) as line,
        kept_in(question.out, "confirm", chosen.wait),
    ):
        verdict = confirm(repetition, question, launcher, line.show, [*moved, *notes])
    code = 0 if verdict.verdict.value == "holds" else BROKEN
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code

    def print_json(page: Path | None) -> None:
        print(json.dumps(encode(verdict, report=page), indent=1))

    hand_out(question.out, write_page, lambda: _tell(verdict), print_json if given["as_json"] else None)
    return code


def _as_then(question: Question, context: click.Context) -> RunChoice:
    """How the programs were run then, with the options that are given now over it."""
    kind = question.kind
    then, usual = _parameters_then(question.asked, kind), Kind.AUTO if kind == "tune" else Kind.OFF
    folder = Path(question.cwd)
    for name in ("cwd", "stdin"):
        if then.get(name) is not None and then[name] != Path("null"):
            then[name] = folder / then[name]
    params = {**context.params, "cwd": folder, **{n: v for n, v in then.items() if v is not None}}
    for name, value in context.params.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            old = then.get(name)
            params[name] = (*old, *value) if isinstance(value, tuple) and isinstance(old, tuple) else value
    for name, others in {"any_output": ("same_output", "tolerance"), "same_output": ("any_output",)}.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            params |= {n: context.params[n] for n in others}
    if not params["cwd"].is_dir():
        raise InputError(f"the directory in which it was run is gone: {params['cwd']}", "name another one with --cwd")
    chosen = same_output_choice(run_choice({**params, "cwd": params["cwd"].absolute()}), params, usual)
    if kind == "compare" and then:
        from nodewise.cli.commands.compare import accepted_codes

        chosen = replace(chosen, options=replace(chosen.options, accepted=accepted_codes(then)))
    return chosen


def _parameters_then(asked: Sequence[str], kind: str) -> dict[str, Any]:
    """The parameters of the command line that asked the question; none where no command line did."""
    from nodewise.records.kind_registry import kind_named

    registered = kind_named(kind)
    if not registered.promise or not registered.command or kind not in asked:
        return {}
    earlier: click.Command = registered.load("command")
    try:
        return dict(earlier.make_context(kind, list(asked[asked.index(kind) + 1 :])).params)
    except click.ClickException as problem:
        raise InputError(
            f"the experiment was asked for in words that this nodewise does not know: {problem.format_message()}",
            "it was made by another version: ask for it anew",
        ) from problem


def _changed_environment(question: Question) -> list[str]:
    """What is set otherwise now than then of the variables that bear on a run: runs are made as then."""
    now = {k: v for k, v in os.environ.items() if k.startswith(TELLING)}
    then = question.environment
    changed = sorted(k for k in now.keys() | then.keys() if now.get(k) != then.get(k))
    return [
        f"{name} is {now.get(name, 'not set')} now; runs are made as then, with it "
        + (f"set to {then[name]}" if name in then else "not set")
        for name in changed
    ]


def _tell(verdict: ConfirmVerdict) -> None:
    from nodewise.report.text.comparison import metric_line

    print()
    print(f"promised  {verdict.promise.sentence} ({verdict.promise.taken_at})")
    for name, row in zip(("baseline", "setting"), verdict.comparison.contenders, strict=True):
        if row.runs or row.error:
            print(f"{name:<9} {metric_line(verdict.comparison, row)}")
    if verdict.again is not None:
        print(f"now       {verdict.again.sentence} (95% interval)")
    print(f"verdict   {verdict.verdict.value}" + (f": {verdict.reason}" if verdict.reason else ""))
    print(f"after     {verdict.runs} runs, {format_seconds(verdict.seconds_spent)}")
    for text in verdict.differences:
        print(f"differs   {text}")
    for text in verdict.notes:
        print(f"note      {text}")
    print(f"launch    {verdict.comparison.contenders[1].command}")
