# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise compare`: which command is faster, and is that so."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.base.units import parse_seconds
from nodewise.cli.experiments import again_in, place_for
from nodewise.cli.options import RunChoice, parse_share, run_options

SLOWER = 1
_EXPORTS = ("json", "csv", "markdown", "asciidoc", "orgmode", "google-benchmark")


def _exports(function: Any) -> Any:
    for kind in reversed(_EXPORTS):
        what = {"json": "as hyperfine writes JSON", "google-benchmark": "as Google Benchmark writes JSON"}
        function = click.option(
            f"--export-{kind}",
            type=click.Path(path_type=Path),
            help=f"Write the result {what.get(kind, 'as ' + kind)}.",
        )(function)
    return function


@click.command()
@click.option("-P", "--parameter", multiple=True, metavar="NAME=VALUES", help="Values for {NAME}: 1,2,4 or 1..64*2.")
@click.option("-L", "--parameter-list", multiple=True, nargs=2, metavar="NAME VALUES", help="The same, as two words.")
@click.option(
    "-w", "--warmup", type=click.IntRange(0), default=1, show_default=True, help="Blocks that are not counted."
)
@click.option("-r", "--runs", type=click.IntRange(1), help="Exactly so many runs of each.")
@click.option("-m", "--min-runs", type=click.IntRange(1), default=1, help="At least so many runs of each.")
@click.option("-M", "--max-runs", type=click.IntRange(1), help="At most so many runs of each.")
@click.option("-s", "--setup", help="Shell command before the first run of each command.")
@click.option("-p", "--prepare", multiple=True, help="Shell command before each run; once for all or once for each.")
@click.option("--conclude", multiple=True, help="Shell command after each run; once for all or once for each.")
@click.option("-c", "--cleanup", help="Shell command after the last run of each command.")
@click.option("-n", "--command-name", multiple=True, help="A name for each command, in their order.")
@click.option("-S", "--shell", help="Shell for the commands, or none. [default: sh where its syntax is used]")
@click.option("-N", "no_shell", is_flag=True, help="Never a shell: --shell none.")
@click.option("-i", "--ignore-failure", is_flag=True, help="Exit codes other than 0 count as well done.")
@click.option("--accept-codes", metavar="LIST", help="These exit codes count as well done, such as 1,3.")
@click.option("--reference", help="A command that the others are held against. [default: the first one]")
@click.option("--reference-name", help="A name for it.")
@click.option("--budget", default="60s", show_default=True, help="How long it may take: 60s, 10min.")
@click.option("--within", default="1%", show_default=True, help="A difference up to this counts as none.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Hold it against this earlier experiment, too.")
@click.option("--fail-if-slower", metavar="SHARE", help="Exit code 1 where one is slower than the reference by more.")
@click.option("--seed", type=int, default=0, help="Seed of the random order of runs.")
@click.option("--out", type=click.Path(path_type=Path), help="Directory of the experiment.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with the experiment in this directory.")
@_exports
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@run_options
@click.argument("commands", nargs=-1, metavar="COMMAND...")
@click.pass_context
def command(context: click.Context, /, run: RunChoice, **given: Any) -> int:
    """Measure each COMMAND (one text each, as for a shell) in random interleaved blocks, and say which is faster.

    The first one is the reference. It ends as soon as an interval says a word of each, or the budget ends; all intervals
    hold together at 95 %, however early that is. With one COMMAND and --baseline it is held against then.
    """
    if given["resume"] is not None and not context.obj:
        if given["commands"]:
            raise InputError("--resume goes on with the commands of then", "give --resume DIR alone")
        again_in(context, given["resume"], "compare")
        return int(context.meta.get("nodewise.exit_code", 0))
    from nodewise.api.baseline import against_baseline
    from nodewise.api.compare import compare
    from nodewise.api.experiment import read_experiment
    from nodewise.cli.progress import ProgressLine
    from nodewise.report.comparison import comparison_lines
    from nodewise.report.exports import write_export
    from nodewise.report.page import write_report
    from nodewise.runner.local import LocalLauncher

    question, options = _question(run, given)
    # whether it can be answered is to be known before the time is spent
    earlier = read_experiment(given["baseline"]) if given["baseline"] else None
    with LocalLauncher(options, question.environment) as launcher, ProgressLine(question.budget) as line:
        verdict = compare(question, launcher, line.show)
    experiment = read_experiment(question.out)
    if earlier is not None:
        verdict["baseline"] = against_baseline(experiment, earlier)
    report = write_report(question.out)
    for kind in _EXPORTS:
        target = given["export_" + kind.replace("-", "_")]
        if target is not None:
            write_export(kind, experiment, verdict, target)
    code = _exit_code(verdict, question.threshold)
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code
    if given["as_json"]:
        print(json.dumps({**verdict, "report": str(report)}, indent=1))
        return code
    for text in comparison_lines(experiment, verdict, question.threshold):
        print(text)
    print(f"report    {report}")
    return code


def _question(run: RunChoice, given: dict[str, Any]) -> tuple[Any, Any]:
    """The question and how to run, from what the command line says."""
    from nodewise.api.budget import Budget
    from nodewise.api.compare import CompareQuestion
    from nodewise.api.contenders import make_contenders, parse_parameter, parse_values
    from nodewise.machine.sources import load_machine

    commands, names = list(given["commands"]), list(given["command_name"])
    if given["reference"]:
        commands.insert(0, given["reference"])
        if names or given["reference_name"]:
            names.insert(0, given["reference_name"] or given["reference"])
    if not commands or (
        len(commands) < 2 and not given["baseline"] and not given["parameter"] + given["parameter_list"]
    ):
        raise InputError(
            "two commands are needed for a comparison",
            "write each as one text: nodewise compare './old in' './new in'; for one command: nodewise run",
        )
    parameters = dict(parse_parameter(p) for p in given["parameter"])
    parameters |= {name: parse_values(values) for name, values in given["parameter_list"]}
    contenders = make_contenders(
        commands,
        parameters,
        names=names,
        shell="none" if given["no_shell"] else given["shell"],
        setup=given["setup"],
        prepare=given["prepare"],
        conclude=given["conclude"],
        cleanup=given["cleanup"],
    )
    accepted = None if given["ignore_failure"] else _codes(given["accept_codes"])
    fewest, most = (given["runs"], given["runs"]) if given["runs"] else (given["min_runs"], given["max_runs"])
    if most is not None and most < fewest:
        raise InputError(f"--max-runs {most} is less than --min-runs {fewest}")
    environment = {**os.environ, **run.env}
    question = CompareQuestion(
        contenders=tuple(contenders),
        machine=load_machine(None, None),
        out=given["resume"] or given["out"] or place_for("compare"),
        budget=Budget(parse_seconds(given["budget"])),
        fewest=fewest,
        most=most,
        warmup=given["warmup"],
        within=parse_share(given["within"], "--within"),
        threshold=parse_share(given["fail_if_slower"], "--fail-if-slower") if given["fail_if_slower"] else None,
        seed=given["seed"],
        timeout_s=run.options.timeout_s,
        cwd=run.options.cwd,
        environment=environment,
        asked=("nodewise", *sys.argv[1:]),
        objective=run.objective,
        shown=run.shown,
        resume=given["resume"] is not None,
    )
    return question, dataclasses.replace(run.options, accepted=accepted)


def _codes(text: str | None) -> frozenset[int]:
    try:
        return frozenset(int(code) for code in text.split(",")) if text else frozenset()
    except ValueError as problem:
        raise InputError(f"--accept-codes {text!r} is no list of exit codes", "write it such as 1,3") from problem


def _exit_code(verdict: dict[str, Any], threshold: float | None) -> int:
    """1 where something is surely slower than the reference (or than it was at the baseline) by more than asked."""
    if threshold is None:
        return 0
    pairs = [r["against_reference"] for r in verdict["contenders"] if r["against_reference"]]
    pairs += [p for p in verdict.get("baseline", {}).get("pairs", []) if p["comparable"]]
    return SLOWER if any(p["high"] is not None and p["high"] * (1 + threshold) < 1 for p in pairs) else 0
