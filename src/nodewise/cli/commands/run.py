# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise run`: one command, measured well."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.base.processors import parse_processors
from nodewise.base.units import format_bytes, format_seconds, parse_seconds
from nodewise.cli.experiments import again_in, ended_like_ctrl_c, place_for, quiet_wait
from nodewise.cli.options import RunChoice, run_options
from nodewise.cli.typed import options_left_out
from nodewise.runner.objective import Shown, format_metric, value_of
from nodewise.runner.sample import Sample

FAILED = 1
#: What is told of a verdict's warnings; the rest is said in lines of their own.
_TOLD = ("failed in", "a run was stopped")
#: What may be said anew when going on with a run.
_ANEW = ("as_json", "budget")


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "-r", "--runs", type=int, default=10, show_default=True, help="Runs to measure, and as many as were disturbed."
)
@click.option("-w", "--warmup", type=int, default=1, show_default=True, help="How many runs come before, unmeasured.")
@click.option("--affinity", metavar="LIST", help="Hold the program to these processors, such as 0-3,8.")
@click.option("--budget", default="10min", show_default=True, help="How long it may take.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Directory of the experiment.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="DIR", help="Go on with the run in this directory.")
@click.option("--json", "as_json", is_flag=True, help="Print every sample as JSON.")
@run_options
@click.argument("command_words", nargs=-1, metavar="[--] COMMAND...")
@click.pass_context
def command(
    context: click.Context,
    runs: int,
    warmup: int,
    affinity: str | None,
    budget: str,
    out: Path | None,
    resume: Path | None,
    as_json: bool,
    run: RunChoice,
    command_words: tuple[str, ...],
) -> int:
    """Run COMMAND without a shell and say how long it took, what it used and what disturbed it.

    A run that fails is no time: what is told is of the others, and in how many it failed.

    Exit codes: 0 each run ended well; 1 some failed; 2 bad input, or none ended well.
    """
    if resume is not None and not context.obj:
        again_in(context, resume, "run", _ANEW)
        return int(context.meta.get("nodewise.exit_code", 0))
    from nodewise.experiments.compare import CompareQuestion, compare
    from nodewise.experiments.contenders import Contender
    from nodewise.experiments.target import resolve_command
    from nodewise.machine.sources import load_machine
    from nodewise.placement.traps import environment_traps
    from nodewise.records.budget import Budget
    from nodewise.report.page import write_report
    from nodewise.runner.local import LocalLauncher
    from nodewise.runner.setting import Setting
    from nodewise.verdicts.compare import RUN

    if not command_words:
        raise InputError("there is no command to run", "name it: nodewise run -- ./app")
    if runs < 1 or warmup < 0:
        raise InputError("at least one run is needed, and no less than no warm-up", "give --runs 1 or more")
    if left_out := options_left_out(context.command.params, sys.argv[1:], command_words):
        print(f"note: {left_out}", file=sys.stderr)
    mask = parse_processors(affinity) if affinity else None
    environment = {**os.environ, **run.env}
    for trap in environment_traps(environment):
        print(f"warning: {trap}", file=sys.stderr)
    words = resolve_command(command_words)
    question = CompareQuestion(
        contenders=(Contender(Setting(words, mask=mask, name=shlex.join(words)), shlex.join(words)),),
        machine=load_machine(None, None),
        out=resume or out or place_for(Path(words[0]).name),
        budget=Budget(parse_seconds(budget, "--budget")),
        fewest=1,
        most=runs,
        warmup=warmup,
        timeout_s=run.options.timeout_s,
        cwd=run.options.cwd,
        environment=environment,
        asked=("nodewise", *sys.argv[1:]),
        objective=run.objective,
        shown=run.shown,
        resume=resume is not None,
        accept_disturbed=run.accept_disturbed,
        kind=RUN,
    )
    with LocalLauncher(run.options, environment) as launcher, ended_like_ctrl_c():
        verdict = compare(question, launcher, before_block=quiet_wait(run.wait_quiet_s, question.machine.allowed))
        missing, no_energy = launcher.counters_missing, launcher.energy_missing
    samples = _samples(question.out)
    (row,) = verdict.contenders
    code = FAILED if row.failed else 0
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code
    report = write_report(question.out)
    if as_json:
        more = {"counters": missing, "energy": no_energy, "experiment": verdict.experiment, "report": str(report)}
        print(
            json.dumps(
                {
                    **_summary(samples, run.shown, run.accept_disturbed),
                    "failed": row.failed,
                    "error": row.error,
                    "stopped": verdict.stopped,
                    **more,
                    "samples": [s.to_json() for s in samples],
                },
                indent=1,
            )
        )
    else:
        _tell(samples, missing, no_energy, run)
        for text in (w for w in verdict.warnings if w.startswith(_TOLD)):
            print(f"note      {text}")
        if verdict.stopped == "budget":
            again = f"nodewise run --resume {shlex.quote(verdict.experiment)} --budget …"
            print(f"note      the budget ended it after {row.runs + row.failed} of {runs} runs; {again} goes on")
        print(f"report    {report}")
    return code


def _samples(out: Path) -> list[Sample]:
    """The good runs that were measured, in their order."""
    from nodewise.records.experiment import read_experiment
    from nodewise.verdicts.compare import COMPARE

    experiment = read_experiment(out)
    return [r.sample for r in experiment.records if r.phase == COMPARE and r.sample.ok]


def _summary(samples: list[Sample], shown: Shown, accept_disturbed: bool) -> dict[str, Any]:
    from nodewise.statistics.spoiled import repeat_worthy
    from nodewise.statistics.summary import mad, median
    from nodewise.verdicts.secondary import interval_of

    every, samples = samples, [s for s in samples if accept_disturbed or not repeat_worthy(s.marks)]
    # where most were disturbed there is nothing else to be had, and the notes say by what
    samples = samples if 2 * len(samples) >= len(every) else every
    times = [s.seconds for s in samples]
    low, high = interval_of(times)
    usage = {name: median([s.usage[name] for s in samples]) for name in samples[0].usage}
    metrics = {name: median([s.metrics.get(name, 0.0) for s in samples]) for name in samples[0].metrics}
    beside = {}
    for name in dict.fromkeys([*(o.metric for o in shown.metrics), "energy_j"]):
        values = [v for s in samples if (v := value_of(s, name)) is not None]
        if values:
            beside[name] = {"median": median(values), "mad": mad(values)}
    return {
        "median_s": median(times),
        "low_s": low,
        "high_s": high,
        "mad_s": mad(times),
        "min_s": min(times),
        "max_s": max(times),
        "runs": len(times),
        "left_out": len(every) - len(samples),
        "source": samples[0].source,
        "usage": usage,
        "metrics": metrics,
        "shown": beside,
    }


def _tell(samples: list[Sample], missing: str | None, no_energy: str | None, run: RunChoice) -> None:
    summary, shown = _summary(samples, run.shown, run.accept_disturbed), run.shown
    usage = summary["usage"]
    told = "as the program says" if summary["source"] == "program" else "wall time"
    seconds = {name: format_seconds(summary[f"{name}_s"]) for name in ("median", "mad", "min", "max")}
    span = "too few runs for an interval"
    if summary["low_s"] is not None:
        span = f"95 % interval {format_seconds(summary['low_s'])} – {format_seconds(summary['high_s'])}"
    left_out = f"; {summary['left_out']} more were disturbed and do not count" if summary["left_out"] else ""
    runs = f"{summary['runs']} run{'s' * (summary['runs'] != 1)}{left_out}"
    print(f"time      {seconds['median']} ({span}), {told}")
    print(f"spread    MAD {seconds['mad']}, from {seconds['min']} to {seconds['max']}, {runs}")
    print(f"processor {format_seconds(usage['user_s'])} user, {format_seconds(usage['system_s'])} system")
    print(
        f"memory    {format_bytes(usage['peak_bytes'])} at most; {usage['minor_faults']:.0f} minor, {usage['major_faults']:.0f} major page faults"
    )
    print(
        f"switches  {usage['context_switches']:.0f} voluntary, {usage['involuntary_switches']:.0f} involuntary"
        + (f"; {usage['migrations']:.0f} migrations" if "migrations" in usage else "")
    )
    for name, value in summary["metrics"].items():
        if name not in summary["shown"]:
            print(f"{name:<9} {value:.6g}")
    for name, told in summary["shown"].items():
        centre, spread = (format_metric(name, told[n], shown.currency) for n in ("median", "mad"))
        told_of = " (the whole machine's while a run lasted)" if name.startswith("energy_") else ""
        print(f"{name.removesuffix('_j'):<9} {centre}, MAD {spread}{told_of}")
    if no_energy:
        print(f"energy    not known: {no_energy}")
    if "cycles" in usage:
        print(f"counters  {usage['cycles']:.4g} cycles, {usage.get('instructions', 0):.4g} instructions")
    elif missing:
        print(f"counters  no hardware counters: {missing}")
    marked = {mark.partition(":")[0]: mark for s in samples for mark in s.marks}
    for mark in marked.values():
        count = sum(any(m.startswith(mark.partition(":")[0]) for m in s.marks) for s in samples)
        print(f"note      {mark} ({count} of {len(samples)} runs)")
