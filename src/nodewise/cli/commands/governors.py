# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise governors`: what the system's choice of frequencies costs processes that share a core."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError
from nodewise.cli.help import MACHINE, MEASUREMENT, Command, option
from nodewise.cli.kinds import PATH, budget_option, json_option, out_option, refuse_ignored

if TYPE_CHECKING:
    from nodewise.api.governors import GovernorRow, GovernorStudy

SECTION = "Nodes"
_FOLDER = Path("nodewise-experiments")


@click.command(
    cls=Command,
    examples={
        "nodewise governors": "what the governor that is set costs, and nothing is changed",
        "nodewise governors --change-governor --only performance,powersave": "two of them compared, as root",
    },
)
@option(
    "--change-governor",
    "change",
    is_flag=True,
    help="Set other governors while they are measured, as root; what was set before is put back, also after a crash.",
    group=MEASUREMENT,
)
@option(
    "--only",
    default="",
    metavar="A,B",
    help="The governors to compare. [default: performance, ondemand, schedutil, powersave]",
    group=MEASUREMENT,
)
@option(
    "--allow",
    default="",
    metavar="LIST",
    help="Use the first of these processors. [default: the first that may be used]",
    group=MACHINE,
)
@option("--quick", is_flag=True, help="End within a minute: matrices have a tenth of the rows.", group=MEASUREMENT)
@budget_option(None, " [default: 5min, or six blocks with --quick]")
@out_option()
@option("--root", type=PATH, metavar="DIR", help="Only show what this copy of another system's / says.", group=MACHINE)
@json_option("what was found")
@click.pass_context
def command(
    context: click.Context,
    change: bool,
    only: str,
    allow: str,
    quick: bool,
    budget: float | None,
    out: Path | None,
    root: Path | None,
    as_json: bool,
) -> None:
    """Report what frequency governors cost processes that share a core.

    Three processes multiply matrices on one core, and sleep for some milliseconds after each row; beside them as controls one of
    them alone, and three without sleep. In random interleaved blocks, under the governor that is set or, with --change-governor, under
    several: medians with 95% intervals, and what the kernel counted of the core's frequency.
    """
    from nodewise.api.governors import study_governors
    from nodewise.base.processors import parse_processors
    from nodewise.cli.experiments import place_for_command
    from nodewise.cli.wrapping import print_wrapped
    from nodewise.machine.frequencies import read_frequency_control
    from nodewise.machine.given import machine
    from nodewise.report.text.governors import control_text
    from nodewise.verdicts.encoding import encode

    allowed = sorted(machine(None).allowed)
    try:
        wanted = sorted(parse_processors(allow)) if allow else allowed
    except ValueError as problem:
        raise InputError(f"--allow: {problem}", "such as: 8, or 0-3") from None
    if root is not None:
        refuse_ignored(context, "--root only reads", ("change", "only", "quick", "budget", "out", "as_json"))
        if not root.is_dir():
            raise InputError(f"--root: no such folder: {root}", "name a copy of a system's /")
        if not (root / "sys").is_dir():
            raise InputError(f"no copy of a system: {root}", "it must hold sys")
        print(control_text(read_frequency_control(root, wanted[0]), wanted[0]))
        return
    if wrong := [p for p in wanted if p not in allowed]:
        raise InputError(f"--allow: processor {wrong[0]} may not be used", "`nodewise machine` shows which may")
    named = [name.strip() for name in only.split(",") if name.strip()]
    if only and not named:
        raise InputError(f"--only names no governor: {only!r}", "such as: --only performance,powersave")
    study = study_governors(
        wanted[0],
        change=change,
        only=named,
        quick=quick,
        budget=budget,
        out=place_for_command(("governors",), _FOLDER) if out is None else out,
        tell=lambda name: print(f"measuring {name}", file=sys.stderr, flush=True),
    )
    if as_json:
        print(json.dumps(encode(study), indent=1))
    else:
        print_wrapped(_text(study))


def _text(study: GovernorStudy) -> str:
    from nodewise.api.governors import SIZES
    from nodewise.base.lists import listed
    from nodewise.report.text.governors import control_text, rows_text

    lines = [control_text(study.before, study.processor), "", *rows_text([_cells(row) for row in study.rows])]
    if study.after is not None and study.after.counted:
        lines += ["", "afterwards", control_text(study.after, study.processor)]
    lines.append("")
    if study.rows_each != SIZES:
        these, whole = (listed([str(size) for size in sizes]) for sizes in (study.rows_each, SIZES))
        lines.append(
            f"reduced   matrices of {these} rows instead of {whole}: nothing here can be held against what was published"
        )
    if study.published_into_top:
        counts = ", ".join(map(str, study.published_into_top))
        back = f"back to the top frequency {sum(study.published_into_top)} times, from each of 13 others {counts}"
        lines.append(f"published ondemand, three that sleep: {back}")
    lines += [
        *(f"note      {note}" for note in study.notes),
        *(f"kept      {folder}" for folder in study.experiments),
    ]
    return "\n".join(lines)


def _cells(row: GovernorRow) -> list[str]:
    from nodewise.base.units import format_seconds

    def seconds(value: float | None) -> str:
        return "–" if value is None else format_seconds(value)

    span = "–" if row.low_s is None or row.high_s is None else f"{seconds(row.low_s)} – {seconds(row.high_s)}"
    times = "–" if row.times is None else f"{row.times:.3f}"
    if row.times_low is not None and row.times_high is not None:
        times += f" ({row.times_low:.3f}–{row.times_high:.3f})"
    counts = ["–" if value is None else f"{value:g}" for value in (row.transitions, row.into_top)]
    return [row.workload, row.governor, str(row.runs), seconds(row.median_s), span, times, *counts]
