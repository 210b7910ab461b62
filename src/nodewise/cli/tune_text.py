# SPDX-License-Identifier: BSD-3-Clause
"""What a tune says to people: before its first run, once it is known what will be tried, and at its end."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nodewise.base.units import format_percent, format_seconds, whole_duration
from nodewise.cli.typed import input_left_out
from nodewise.experiments.tune import FEWEST_RUNS
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Budget
from nodewise.runner.launch import launch_of
from nodewise.runner.objective import format_metric
from nodewise.runner.setting import Setting
from nodewise.statistics.verdict import Word
from nodewise.tuning.outline import Outline, named_values
from nodewise.verdicts.tune import TuneVerdict

#: So many times the runs' own time is proposed for a budget that is too small.
_WITH_START = 1.2


def introduce(question: Question) -> None:
    """The machine and the program, and what is known to spoil what will be done."""
    from nodewise.report.text.machine import machine_text

    print(machine_text(question.machine))
    print(f"program   {launch_of(Setting(question.command), question.start).line()}", flush=True)
    left_out = "" if question.start.stdin else input_left_out()
    if left_out:
        print(f"warning: {left_out}", file=sys.stderr)


def tell_outline(outline: Outline) -> None:
    """What will be tried, what will not, and what that may take."""
    for i, axis in enumerate(outline.axes):
        print(f"{'try' if i == 0 else '':<9} {axis.name}: {named_values(axis)}")
    if any(axis.name in ("threads", "placement", "ranks") for axis in outline.axes):
        print(f"threads   {outline.placed}")
    for i, (name, why) in enumerate(outline.left_out.items()):
        print(f"{'left out' if i == 0 else '':<9} {name}: {why}")
    each = f"one run takes {format_seconds(outline.run_s)}, and there are {outline.settings} settings"
    bounds = [] if outline.runs is None else [f"about {outline.runs} runs"]
    bounds += [] if outline.seconds is None else [format_seconds(outline.seconds)]
    print(f"expected  {'at most ' + ', '.join(bounds) if bounds else 'as long as it takes'}; {each}", flush=True)


def too_small(outline: Outline) -> str:
    """What is said where so few runs can end in no verdict; else empty."""
    if outline.runs is None or outline.runs >= FEWEST_RUNS:
        return ""
    enough = f"--budget {whole_duration(outline.run_s * FEWEST_RUNS * _WITH_START)}"
    return f"too small: a verdict takes {FEWEST_RUNS} runs, which {enough} and --max-runs {FEWEST_RUNS} would allow"


def tell(verdict: TuneVerdict, labels: dict[str, str], budget: Budget, ranks: Sequence[str] = ()) -> None:
    """The closing lines, which are what one came for; `ranks` are those of the best start's ranks."""
    from nodewise.report.text.comparison import shown_lines
    from nodewise.report.text.going_on import going_on

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
            print(
                f"next      {verdict.candidate}: {shown(verdict.summary(verdict.candidate).median)}, which may be no better"
            )
    for line in shown_lines(verdict, labels):
        print(line)
    interval = "" if verdict.low is None else "95% interval; "
    print(f"ratio     {verdict.sentence} ({interval}{verdict.runs} runs, {format_seconds(verdict.seconds_spent)})")
    print(f"gain from {_gain_from(verdict)}")
    for text in verdict.why:
        print(f"why       {text}")
    if verdict.stopped == "interrupted":
        print("note      interrupted: this is the best so far")
    for note in verdict.notes:
        print(f"note      {note}")
    more = going_on(verdict, budget)
    if more.advice:
        print(f"undecided {more.advice}")
    if more.line:
        print(f"go on     {more.line}")
    for i, text in enumerate(ranks):
        print(f"{'ranks' if i == 0 else '':<9} {text}")
    if verdict.best.build:
        print(f"build     {verdict.best.build}")
    print(f"launch    {verdict.best.launch_line}")


def _gain_from(verdict: TuneVerdict) -> str:
    if any(verdict.axes.values()):
        shares = sorted(verdict.axes.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} {format_percent(share)}" for name, share in shares)
    if verdict.verdict is not Word.FASTER:
        return "none of the axes, as far as could be shown"
    if len(verdict.axes) == 1:
        return next(iter(verdict.axes))
    return "several axes together: there were too few runs to tell them apart"
