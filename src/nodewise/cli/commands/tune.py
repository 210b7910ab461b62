# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise tune`: the fastest way to run a program here, with the proof."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.base.units import format_percent, format_seconds, parse_seconds
from nodewise.cli.experiments import again_in, ended_like_ctrl_c, place_for, quiet_wait
from nodewise.cli.options import RunChoice, parse_pair, parse_share, run_options, same_output_options
from nodewise.runner.objective import format_metric
from nodewise.runner.same_output import Kind

if TYPE_CHECKING:
    from nodewise.verdicts.tune import TuneVerdict


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--budget", default="2min", show_default=True, help="How long it may take: 60s, 10min, 1h.")
@click.option("--max-runs", type=int, help="How many runs of the program it may take.")
@click.option(
    "--axes",
    help="What may be changed: threads, ranks, placement, memory, hugepages, schedule, wait, allocator, flags, knobs (what is "
    "worth trying of the libraries that it loads) or knobs by name. [default: threads, placement, hugepages, memory, knobs]",
)
@click.option(
    "-P",
    "--parameter",
    multiple=True,
    metavar="NAME=VALUES",
    help="Try values for {NAME} in COMMAND: 1,2,4 or 1..64*2.",
)
@click.option("--env-axis", multiple=True, metavar="NAME=VALUES", help="Try values of a variable; unset is one, too.")
@click.option("--build", help="Make the program with this shell command: 'cc {flags} -o app app.c'.")
@click.option("--constraint", multiple=True, help="What must hold between axes: 'ranks * threads <= 64'.")
@click.option("--machine", "machine_spec", help="Plan for another machine: synthetic:TEXT, FILE.xml or FILE.json.")
@click.option("--allow", help="Use only these processors, such as 0-3,8.")
@click.option("--within", default="1%", show_default=True, help="A difference up to this counts as none.")
@click.option("--seed", type=int, default=0, help="Seed of the random order of runs.")
@click.option("--out", type=click.Path(path_type=Path), help="Directory of the experiment.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with the experiment in this directory.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@run_options
@same_output_options(Kind.AUTO)
@click.argument("command_words", nargs=-1, metavar="[--] COMMAND...")
@click.pass_context
def command(
    context: click.Context,
    budget: str,
    max_runs: int | None,
    axes: str | None,
    parameter: tuple[str, ...],
    env_axis: tuple[str, ...],
    build: str | None,
    constraint: tuple[str, ...],
    machine_spec: str | None,
    allow: str | None,
    within: str,
    seed: int,
    out: Path | None,
    resume: Path | None,
    as_json: bool,
    run: RunChoice,
    command_words: tuple[str, ...],
) -> None:
    """Search the settings of COMMAND, then confirm the best one against the way it is started now.

    COMMAND is a program with its arguments, or study:NAME with that study's knobs (study:is class=A). Ctrl-C ends with
    the best so far.
    """
    from nodewise.cli.progress import ProgressLine
    from nodewise.experiments.contenders import parse_parameters, parse_values
    from nodewise.experiments.target import resolve_tunable
    from nodewise.experiments.tune import Question, tune
    from nodewise.machine.sources import load_machine
    from nodewise.records.budget import Budget
    from nodewise.report.page import write_report
    from nodewise.report.tables import label
    from nodewise.runner.launch import start_of
    from nodewise.runner.local import LocalLauncher
    from nodewise.tuning.axes import Wanted
    from nodewise.verdicts.encoding import encode

    if resume is not None and not context.obj:
        again_in(context, resume, "tune")
        return
    limit = Budget(parse_seconds(budget), max_runs)
    names = None if axes is None else tuple(name.strip() for name in axes.split(",") if name.strip())
    machine = load_machine(machine_spec, allow)
    environment = {**os.environ, **run.env}
    command, tries = resolve_tunable(command_words)
    question = Question(
        command=command,
        machine=machine,
        axes=names,
        out=resume or out or place_for(Path(command_words[0]).name),
        budget=limit,
        within=parse_share(within, "--within"),
        seed=seed,
        timeout_s=run.options.timeout_s,
        environment=environment,
        asked=("nodewise", *sys.argv[1:]),
        objective=run.objective,
        shown=run.shown,
        resume=resume is not None,
        same=run.options.same,
        wanted=Wanted(
            {**tries, **parse_parameters(parameter)},
            {
                name: parse_values(values)
                for name, values in (parse_pair(e, "--env-axis", "NAME=v1,v2") for e in env_axis)
            },
            build,
            constraint,
        ),
        start=start_of(run.options, run.env),
        accept_disturbed=run.accept_disturbed,
    )
    if not as_json:
        _introduce(question)
    with LocalLauncher(run.options, environment) as launcher, ProgressLine(limit) as line, ended_like_ctrl_c():
        verdict = tune(question, launcher, line.show, quiet_wait(run.wait_quiet_s, question.machine.allowed))
    report = write_report(question.out)
    if as_json:
        print(json.dumps({**encode(verdict), "report": str(report)}, indent=1))
    else:
        _tell(verdict, report, {s.key: label(s.values) for s in verdict.settings})


def _introduce(question: Any) -> None:
    """The machine, and what will be done."""
    from nodewise.report.machine_text import machine_text

    print(machine_text(question.machine))
    print(f"program   {' '.join(question.command)}", flush=True)
    if (question.axes is None or "placement" in question.axes) and question.machine.live:
        _warn(question)


def _warn(question: Any) -> None:
    """What is known to spoil placements of this program, started from here."""
    from nodewise.placement.traps import environment_traps
    from nodewise.runner.binding import way_of

    way = way_of(question.command, question.environment)
    if way.name != "openmp":
        print(f"threads   are bound by {way.name}: {way.why}", flush=True)
    for trap in environment_traps(question.environment):
        print(f"warning: {trap}", file=sys.stderr)


def _tell(verdict: TuneVerdict, report: Path, labels: dict[str, str]) -> None:
    """The closing lines, which are what one came for."""
    from nodewise.report.comparison import shown_lines
    from nodewise.statistics.verdict import Word

    def shown(value: float | None) -> str:
        return "–" if value is None else format_metric(verdict.metric, value, verdict.currency)

    base = verdict.summary(verdict.baseline.key)
    faster = verdict.verdict is Word.FASTER
    spread = f" ± {shown(base.mad)}" if base.mad is not None else ""
    print()
    print(f"axes      {', '.join(verdict.axes)}")
    print(f"baseline  {shown(base.median)}{spread}, started as now")
    if faster:
        print(f"best      {verdict.best.key}: {shown(verdict.summary(verdict.best.key).median)}")
    else:
        print("best      as it is: no setting was shown to be faster")
        if verdict.candidate != verdict.baseline.key:
            print(f"next      {verdict.candidate}: {shown(verdict.summary(verdict.candidate).median)}")
    for line in shown_lines(verdict, labels):
        print(line)
    print(f"ratio     {verdict.sentence} (95 % interval; {verdict.runs} runs, {format_seconds(verdict.seconds_spent)})")
    if any(verdict.axes.values()):
        shares = sorted(verdict.axes.items(), key=lambda item: -item[1])
        print(f"gain from {', '.join(f'{name} {format_percent(share)}' for name, share in shares)}")
    elif faster and len(verdict.axes) == 1:
        print(f"gain from {next(iter(verdict.axes))}")
    elif faster:
        print("gain from several axes together: there were too few runs to tell them apart")
    else:
        print("gain from none of the axes, as far as could be shown")
    for text in verdict.why:
        print(f"why       {text}")
    if verdict.stopped == "interrupted":
        print("note      interrupted: this is the best so far")
    for note in verdict.notes:
        print(f"note      {note}")
    print(f"launch    {verdict.best.launch_line}")
    print(f"report    {report}")
