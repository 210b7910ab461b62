# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise run`: one command, measured well."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError
from nodewise.base.units import format_bytes, format_seconds
from nodewise.cli.experiments import again_in, place_for, say_note
from nodewise.cli.keeping import hand_out, kept_in
from nodewise.cli.kinds import allow_option, budget_option, json_option, out_option, resume_option
from nodewise.cli.options import run_options
from nodewise.cli.typed import options_left_out
from nodewise.runner.launch import quoted_line
from nodewise.runner.marks import UNREAD
from nodewise.runner.objective import format_metric

if TYPE_CHECKING:
    from nodewise.api.options import RunChoice
    from nodewise.verdicts.run import RunSummary

FAILED = 1
#: What may be said anew when going on with a run.
_ANEW = ("as_json", "budget")


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "-r",
    "--runs",
    type=click.IntRange(1),
    metavar="N",
    default=10,
    show_default=True,
    help="So many runs, and as many more as were disturbed.",
)
@click.option(
    "-w",
    "--warmup",
    type=click.IntRange(0),
    metavar="N",
    default=1,
    show_default=True,
    help="Runs that come first and are not counted.",
)
@allow_option
@budget_option("10min")
@out_option()
@resume_option()
@json_option("every sample")
@run_options
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
    """Run COMMAND without a shell and say how long it took, what it used and what disturbed it.

    Runs that fail have no time: the others are reported, with how many failed.

    Exit codes: 0 each run ended well; 1 some failed; 2 bad input, or none ended well.
    """
    if resume is not None and not context.obj:
        again_in(context, resume, "run", _ANEW)
        return int(context.meta.get("nodewise.exit_code", 0))
    from nodewise.api.run import prepare_run
    from nodewise.records.experiment import read_experiment
    from nodewise.report.pages.write import write_page
    from nodewise.report.text.ranks import rank_lines, ranks_of
    from nodewise.verdicts.encoding import encode

    if not command_words:
        raise InputError("there is no command to run", "name it: nodewise run -- ./app")
    if left_out := options_left_out(context.command.params, sys.argv[1:], command_words):
        print(f"note: {left_out}", file=sys.stderr)
    single = prepare_run(
        command_words,
        run,
        resume or out or place_for(Path(command_words[0]).name),
        runs=runs,
        warmup=warmup,
        allow=allow,
        budget=budget,
        resume=resume is not None,
        asked=("nodewise", *sys.argv[1:]),
    )
    folder = single.question.out
    with kept_in(folder, "run"):
        summary = single.answer(note=say_note)
    code = FAILED if summary.failed else 0
    if context.parent is not None:
        context.parent.meta["nodewise.exit_code"] = code

    def print_json(page: Path | None) -> None:
        print(json.dumps(encode(summary, report=page), indent=1))

    def answer() -> None:
        _tell(summary, run.shown.currency)
        ranks = ranks_of(read_experiment(folder), single.question.contenders[0].setting.key)
        for i, text in enumerate([] if ranks is None else rank_lines(ranks)):
            print(f"{'ranks' if i == 0 else '':<9} {text}")
        again = f"nodewise run --resume {quoted_line([summary.experiment])}"
        if summary.stopped == "budget":
            print(f"note      the budget ended it after {summary.made} of {runs} runs; {again} --budget … goes on")
        if summary.stopped == "interrupted":
            print(f"note      interrupted after {summary.made} of {runs} runs; {again} goes on")

    hand_out(folder, write_page, answer, print_json if as_json else None)
    return code


def _tell(summary: RunSummary, currency: str) -> None:
    samples, usage = summary.samples, summary.usage
    told = "as the program says" if summary.source == "program" else "wall time"
    centre, spread = format_seconds(summary.median_s), format_seconds(summary.mad_s)
    least, most = format_seconds(summary.min_s), format_seconds(summary.max_s)
    span = "too few runs for an interval"
    if summary.low_s is not None and summary.high_s is not None:
        span = f"95% interval {format_seconds(summary.low_s)} – {format_seconds(summary.high_s)}"
    left_out = f"; {summary.left_out} more were disturbed and do not count" if summary.left_out else ""
    runs = f"{summary.runs} run{'s' * (summary.runs != 1)}{left_out}"
    print(f"time      {centre} ({span}), {told}")
    print(f"spread    MAD {spread}, from {least} to {most}, {runs}")
    print(f"processor {format_seconds(usage['user_s'])} user, {format_seconds(usage['system_s'])} system")
    print(
        f"memory    {format_bytes(usage['peak_bytes'])} at most; {usage['minor_faults']:.0f} minor, {usage['major_faults']:.0f} major page faults"
    )
    print(
        f"switches  {usage['context_switches']:.0f} voluntary, {usage['involuntary_switches']:.0f} involuntary"
        + (f"; {usage['migrations']:.0f} migrations" if "migrations" in usage else "")
    )
    for name, value in summary.metrics.items():
        if name not in summary.shown:
            print(f"{name:<9} {value:.6g}")
    for name, found in summary.shown.items():
        centre, spread = (format_metric(name, value, currency) for value in (found.median, found.mad))
        told_of = " (the whole machine's while a run lasted)" if name.startswith("energy_") else ""
        print(f"{name.removesuffix('_j'):<9} {centre}, MAD {spread}{told_of}")
    if summary.energy:
        print(f"energy    not known: {summary.energy}")
    if "cycles" in usage:
        print(f"counters  {usage['cycles']:.4g} cycles, {usage.get('instructions', 0):.4g} instructions")
    elif summary.counters:
        print(f"counters  no hardware counters: {summary.counters}")
    # what the notes tell of all runs together is not told here
    marked = {mark.partition(":")[0]: mark for s in samples for mark in s.marks if not mark.startswith(UNREAD)}
    for mark in marked.values():
        count = sum(any(m.startswith(mark.partition(":")[0]) for m in s.marks) for s in samples)
        print(f"note      {mark} ({count} of {len(samples)} runs)")
    for text in summary.notes:
        print(f"note      {text}")
