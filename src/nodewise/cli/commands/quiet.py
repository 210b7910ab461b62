# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise quiet`: what on this machine makes measuring noisy, and what to do about it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.errors import InputError
from nodewise.base.processors import parse_processors
from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, TIME_OR_NONE, allow_option, json_option, refuse_ignored

if TYPE_CHECKING:
    from nodewise.machine.surroundings import Surroundings
    from nodewise.machine.watch import Watched
    from nodewise.quiet.finding import Finding
    from nodewise.runner.spin import Spin

SECTION = "Understand"
WATCH_S = 1.0


@click.command(
    cls=Command,
    examples={
        "nodewise quiet": "what makes this machine noisy, and what to do about it",
        "nodewise quiet --seconds 30s --fail-on noisy": "look for longer, with exit code 1 where something is found",
    },
)
@option(
    "--seconds",
    type=TIME_OR_NONE,
    metavar="TIME",
    default="5s",
    show_default=True,
    help="How long to measure, on all processors together; 0: not at all.",
    group="Observation",
)
@allow_option
@option(
    "--all",
    "everything",
    is_flag=True,
    help="Show what all findings rest on, including those where all is well.",
    group=OUTPUT,
)
@option(
    "--fail-on",
    type=click.Choice(["noisy", "note"]),
    help="End with exit code 1 where a finding is this bad, or worse.",
    group=OUTPUT,
)
@json_option("all of it")
@option(
    "--root",
    type=PATH,
    metavar="DIR",
    help="Read this copy of another system's /proc and /sys; nothing is watched or measured then.",
    group="Observation",
)
@click.pass_context
def command(
    context: click.Context,
    seconds: float,
    allow: str | None,
    everything: bool,
    fail_on: str | None,
    as_json: bool,
    root: Path | None,
) -> int:
    """Report what here makes a program's time vary.

    Report what on this machine makes a program's time vary, and what to do about each; nothing is changed.

    It reads how the system is set, watches for a second who else runs, and repeats a short loop of equal work on all
    processors that may be used, which shows what is lost to interruptions and which differences can be resolved here now.
    """
    from nodewise.cli.outputs.quiet import quiet_output
    from nodewise.machine.surroundings import read_surroundings
    from nodewise.quiet.examine import examine
    from nodewise.quiet.finding import Severity
    from nodewise.verdicts.encoding import encode

    if root is not None:
        refuse_ignored(context, "of a copy nothing is measured", ("seconds",))
    if root is not None and not (root / "proc").is_dir():
        raise InputError(f"no copy of a system: {root}", "it must hold proc and sys")
    surroundings = read_surroundings(root or Path("/"), _processors(allow, root))
    idle = loaded = None
    spins: list[Spin] = []
    if root is None:
        idle, loaded, spins = _watch(surroundings, seconds, hint=not as_json)
    findings = examine(surroundings, idle, loaded, spins)
    if as_json:
        print(json.dumps(encode(quiet_output(findings, spins)), indent=1))
    else:
        _print(findings, spins, everything)
    bad = {"noisy": (Severity.NOISY,), "note": (Severity.NOISY, Severity.NOTE)}.get(fail_on or "", ())
    return 1 if any(f.severity in bad for f in findings) else 0


def _processors(allow: str | None, root: Path | None) -> tuple[int, ...] | None:
    from nodewise.machine.surroundings import online_processors

    there = tuple(sorted(os.sched_getaffinity(0))) if root is None else online_processors(root)
    if allow is None:
        return there
    wanted = parse_processors(allow)
    missing = sorted(set(wanted) - set(there))
    if missing:
        from nodewise.base.processors import format_processors, processors_are

        raise InputError(
            f"{processors_are(missing)} not there or not allowed to this process",
            f"it may use {format_processors(there)}",
        )
    return wanted


def _watch(s: Surroundings, seconds: float, hint: bool) -> tuple[Watched, Watched | None, list[Spin]]:
    from nodewise.machine.watch import difference, look
    from nodewise.runner.spin import spin

    root, own = Path("/"), os.getpid()
    if hint and sys.stderr.isatty():
        print(f"watching for {WATCH_S:g} s, measuring for {seconds:g} s …", file=sys.stderr)
    first = look(root, time.monotonic(), s.processors)
    time.sleep(WATCH_S)
    second = look(root, time.monotonic(), s.processors)
    idle = difference(root, first, second, own)
    if seconds == 0:
        return idle, None, []
    quota = s.limits.cpu_quota
    at_once = None if quota is None else max(1, int(quota))
    spins = spin(s.processors, seconds, at_once)
    third = look(root, time.monotonic(), s.processors)
    return idle, difference(root, second, third, own), spins


def _print(findings: list[Finding], spins: list[Spin], everything: bool) -> None:
    from nodewise.quiet.measured import resolutions, summary
    from nodewise.report.text.quiet import counts_text, findings_text, spins_text

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    sentence = summary(spins)
    if sentence:
        print(f"on this machine now, {sentence}")
        print("(the machine's own part; a program's own variation comes on top)\n")
        print(spins_text(spins, resolutions(spins)) + "\n")
    print(findings_text(findings, min(120, shutil.get_terminal_size((100, 24)).columns), colour, everything))
    print(f"\n{counts_text(findings)}")
