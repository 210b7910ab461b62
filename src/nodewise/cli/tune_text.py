# SPDX-License-Identifier: BSD-3-Clause
"""What a tune says to people before its first run, and once it is known what will be tried."""

from __future__ import annotations

import sys

from nodewise.base.units import format_seconds, whole_duration
from nodewise.cli.columns import terminal_columns
from nodewise.cli.typed import input_left_out
from nodewise.cli.wrapping import print_wrapped
from nodewise.experiments.first_run import FEWEST_RUNS, budget_for_s
from nodewise.experiments.tune_question import Question
from nodewise.records.earlier import led_by
from nodewise.runner.launch import launch_of
from nodewise.runner.setting import Setting
from nodewise.search.grid import ROUNDS
from nodewise.tuning.outline import Outline, named_values


def introduce(question: Question) -> None:
    """The machine and the program, and what is known to spoil what will be done."""
    from nodewise.report.text.machine import machine_text

    print(machine_text(question.machine, width=max(60, terminal_columns(100))))
    print(f"program   {launch_of(Setting(question.command), question.start).line()}", flush=True)
    left_out = "" if question.start.stdin else input_left_out()
    if left_out:
        print(f"warning: {left_out}", file=sys.stderr)


def print_outline(outline: Outline) -> None:
    """What will be tried, what will not, and what that may take."""
    lines = [f"{'try' if i == 0 else '':<9} {axis.name}: {named_values(axis)}" for i, axis in enumerate(outline.axes)]
    if any(axis.name in ("threads", "placement", "ranks") for axis in outline.axes):
        lines.append(f"threads   {outline.placed}")
    lines += [f"{'history' if i == 0 else '':<9} {words}" for i, words in enumerate(led_by(outline.earlier))]
    for i, (name, why) in enumerate(outline.left_out.items()):
        lines.append(f"{'left out' if i == 0 else '':<9} {name}: {why}")
    each = f"one run takes {format_seconds(outline.run_s)}, and {_settings_of(outline)}"
    # settings that are faster leave room for more runs
    bounds = [] if outline.runs is None else [f"about {outline.runs} runs like the first"]
    bounds += [] if outline.seconds is None else [format_seconds(outline.seconds)]
    lines.append(f"expected  {', '.join(bounds) or 'as long as it takes'}; {each}")
    print_wrapped("\n".join(lines))


def _settings_of(outline: Outline) -> str:
    if outline.sweep:
        return f"each of {outline.settings} settings is run, {ROUNDS} times at most"
    return f"there are {outline.settings} settings"


def too_small(outline: Outline) -> str:
    """What is said where so few runs can end in no verdict; else empty."""
    if outline.runs is None or outline.runs >= FEWEST_RUNS:
        return ""
    enough = f"--budget {whole_duration(budget_for_s(outline.run_s))}"
    return f"too small: a verdict takes {FEWEST_RUNS} runs, which {enough} and --max-runs {FEWEST_RUNS} would allow"
