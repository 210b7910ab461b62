# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise run`: one command, measured well."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.processors import parse_processors
from nodewise.base.units import format_bytes, format_seconds
from nodewise.cli.options import RunChoice, run_options
from nodewise.runner.objective import Shown, format_metric, value_of
from nodewise.runner.sample import Sample


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--runs", type=int, default=10, show_default=True, help="How many runs are measured.")
@click.option("--warmup", type=int, default=1, show_default=True, help="How many runs come before, unmeasured.")
@click.option("--affinity", metavar="LIST", help="Hold the program to these processors, such as 0-3,8.")
@click.option("--json", "as_json", is_flag=True, help="Print every sample as JSON.")
@run_options
@click.argument("command_words", nargs=-1, required=True, metavar="[--] COMMAND...")
def command(
    runs: int, warmup: int, affinity: str | None, as_json: bool, run: RunChoice, command_words: tuple[str, ...]
) -> None:
    """Run COMMAND without a shell and say how long it took, what it used and what disturbed it."""
    from nodewise.experiments.target import resolve_command
    from nodewise.placement.traps import environment_traps
    from nodewise.runner.local import LocalLauncher
    from nodewise.runner.setting import Setting

    if runs < 1 or warmup < 0:
        raise InputError("at least one run is needed, and no less than no warm-up", "give --runs 1 or more")
    mask = parse_processors(affinity) if affinity else None
    for trap in environment_traps({**os.environ, **run.env}):
        print(f"warning: {trap}", file=sys.stderr)
    setting = Setting(command=resolve_command(command_words), mask=mask)
    with LocalLauncher(run.options, {**os.environ, **run.env}) as launcher:
        samples = [_checked(launcher.run(setting)) for _ in range(warmup + runs)][warmup:]
        missing, no_energy = launcher.counters_missing, launcher.energy_missing
    if as_json:
        print(
            json.dumps(
                {
                    **_summary(samples, run.shown),
                    "counters": missing,
                    "energy": no_energy,
                    "samples": [s.to_json() for s in samples],
                },
                indent=1,
            )
        )
    else:
        _tell(samples, missing, no_energy, run.shown)


def _checked(sample: Sample) -> Sample:
    if not sample.ok:
        printed = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
        raise ProgramError(f"the program failed: {sample.error}{printed}")
    return sample


def _summary(samples: list[Sample], shown: Shown) -> dict[str, Any]:
    from nodewise.statistics.interval import median_interval
    from nodewise.statistics.summary import mad, median

    times = [s.seconds for s in samples]
    low, high = median_interval(times) or (None, None)
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
        "source": samples[0].source,
        "usage": usage,
        "metrics": metrics,
        "shown": beside,
    }


def _tell(samples: list[Sample], missing: str | None, no_energy: str | None, shown: Shown) -> None:
    summary = _summary(samples, shown)
    usage = summary["usage"]
    told = "as the program says" if summary["source"] == "program" else "wall time"
    seconds = {name: format_seconds(summary[f"{name}_s"]) for name in ("median", "mad", "min", "max")}
    interval = "too few runs for an interval"
    if summary["low_s"] is not None:
        interval = f"95 % interval {format_seconds(summary['low_s'])} – {format_seconds(summary['high_s'])}"
    print(f"time      {seconds['median']} ({interval}), {told}")
    print(f"spread    MAD {seconds['mad']}, from {seconds['min']} to {seconds['max']}, {summary['runs']} runs")
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
