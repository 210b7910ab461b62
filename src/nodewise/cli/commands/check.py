# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise check`: nodes that differ from their peers, or from what they should be."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from nodewise.base.errors import InputError
from nodewise.cli.asked_nodes import asked_nodes, nodes_options
from nodewise.cli.asked_speed import AskedSpeed, asked_speed, speed_options
from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, TARGET, json_option, refuse_ignored

if TYPE_CHECKING:
    from nodewise.nodes.findings import CheckResult
    from nodewise.nodes.rule import Rule
    from nodewise.nodes.site import Site
    from nodewise.quiet.finding import Severity

SECTION = "Nodes"
_STDIN = Path("-")
#: How long a prologue looks through a history.
_PATIENCE_S = 0.3


@click.command(
    cls=Command,
    examples={
        "nodewise check snapshots/": "which of these nodes differ from their peers",
        "nodewise check --hosts 'n[1-4]' --site site.toml --junit check.xml": "ask nodes now, by the site's file, and keep the findings for CI",
    },
)
@click.argument("snapshots", nargs=-1, type=TARGET, metavar="[SNAPSHOT|DIR|-]...")
@option(
    "--site",
    type=PATH,
    metavar="FILE",
    help="What the site wants: nodes, groups, desired values, rules, suppressions.",
    group="Rules",
)
@option(
    "--rules",
    "more_rules",
    type=PATH,
    multiple=True,
    metavar="FILE|DIR",
    help="Further rules; one of the same id takes the place of nodewise's.",
    group="Rules",
)
@option(
    "--history",
    type=PATH,
    metavar="DIR",
    help="The last good snapshots: what has changed since is found.",
    group="Rules",
)
@option(
    "--fail-on",
    type=click.Choice(["wrong", "noisy", "note"]),
    default="wrong",
    show_default=True,
    help="End with exit code 1 where a finding is this bad, or worse.",
    group="Rules",
)
@option("--prologue", is_flag=True, help="For a batch system: judge this node alone, in one line.", group="Rules")
@option(
    "--all",
    "everything",
    is_flag=True,
    help="Show reasons and remedies of notes, too, and what is suppressed.",
    group=OUTPUT,
)
@json_option("all of it")
@option("--junit", type=TARGET, metavar="FILE", help="Write it as JUnit's XML.", group=OUTPUT)
@option(
    "--html", type=PATH, metavar="FILE", help="Write a page: a map of nodes and rules, and the findings.", group=OUTPUT
)
@speed_options
@nodes_options
@option("--list-rules", is_flag=True, help="Print the rules, and end.", group="Rules")
@click.pass_context
def command(
    context: click.Context,
    /,
    snapshots: tuple[Path, ...],
    site: Path | None,
    more_rules: tuple[Path, ...],
    history: Path | None,
    fail_on: str,
    prologue: bool,
    everything: bool,
    as_json: bool,
    junit: Path | None,
    html: Path | None,
    list_rules: bool,
    **asked: Any,
) -> int:
    """Find nodes that differ from their peers.

    Or from what they should be by rules and by what the site wants.

    SNAPSHOT are files that `nodewise snapshot` wrote, one a line, DIR a folder of such; - is standard input. With --hosts nodes are asked for
    theirs, and without anything this node alone is judged. Nodes are compared within their hardware class, or within the groups that the site's file names. Exit code 0: nothing found, 1: findings, 2: bad input.
    """
    from nodewise.nodes.check import check
    from nodewise.nodes.rule import joined, own_rules, read_rules
    from nodewise.nodes.site import Site, read_site
    from nodewise.quiet.finding import Severity

    if prologue:
        refuse_ignored(
            context,
            "a prologue is one line about this node",
            ("snapshots", "as_json", "junit", "html", "everything", "list_rules", "hosts", "hostfile", "speed"),
        )
        if snapshots:
            raise InputError("--prologue judges this node alone", "leave the snapshots out")
    _check_files([*snapshots, site, *more_rules], {"--junit": junit, "--html": html})
    if junit == _STDIN and as_json:
        raise InputError("--junit - and --json both write to standard output", "name a file for one of them")
    given = joined(own_rules(), *(read_rules(path) for path in more_rules))
    wanted = read_site(site, given.values()) if site else Site()
    rules = joined(given.values(), wanted.rules)
    if list_rules:
        nothing = ("snapshots", "as_json", "junit", "html", "everything", "hosts", "hostfile", "speed", "history")
        refuse_ignored(context, "--list-rules prints a table", nothing)
        print("\n".join(f"{r.id:<28}{r.kind:<10}{r.severity!s:<7}{', '.join(r.reads)}" for r in rules.values()))
        return 0
    if snapshots.count(_STDIN) > 1:
        raise InputError("standard input can be read once")
    if history is not None and not history.is_dir():
        raise InputError(
            f"no folder of snapshots: {history}",
            "once all is well, keep that day's: nodewise snapshot --hosts NODES -o DIR",
        )
    nodes, speed = asked_nodes(context, asked), asked_speed(context, asked, wanted.speed)
    if speed and snapshots and not nodes:
        raise InputError(
            "--speed is measured on nodes, and snapshots are given", "leave one of them out, or add --hosts"
        )
    sources: list[Path | BinaryIO] = [sys.stdin.buffer if p == _STDIN else p for p in snapshots]
    with contextlib.ExitStack() as held:
        if nodes:
            import tempfile

            collected = held.enter_context(tempfile.TemporaryFile())

            def keep(_node: str, line: str, _reason: str) -> None:
                collected.write(line.encode() + b"\n")

            nodes.collect((), keep, speed)
            collected.seek(0)
            sources.append(collected)
        result = (
            check(rules, wanted, sources, history) if sources else _this_node(rules, wanted, history, speed, prologue)
        )
    if not result.nodes and not any(f.finding.name == "no-answer" for f in result.findings):
        shown = [e for f in result.findings if f.finding.name == "unreadable" for e in f.finding.evidence]
        raise InputError(
            "no snapshot in what was given" + (f": {shown[0]}" if shown else ""), "nodewise snapshot -o FILE takes one"
        )
    # what was found is said also where it cannot be written
    if as_json:
        from nodewise.verdicts.encoding import encode

        print(json.dumps(encode(result, junit=junit, html=html), indent=1))
    else:
        with contextlib.redirect_stdout(sys.stderr) if junit == _STDIN else contextlib.nullcontext():
            _print(result, prologue, everything)
    bad = tuple(Severity)[: list(Severity).index(Severity(fail_on)) + 1]
    _write(result, junit, html, bad)
    if html is not None and not as_json:
        print(f"page      {html}", file=sys.stderr if junit == _STDIN else sys.stdout)
    return 1 if any(f.finding.severity in bad for f in result.findings) else 0


def _check_files(read: Iterable[Path | None], written: Mapping[str, Path | None]) -> None:
    """Raises InputError where what is written would take the place of what is read, or of the other, or cannot be written."""
    from nodewise.cli.experiments import check_target

    known = {p.resolve(): "it is read, too" for p in read if p is not None and p != _STDIN}
    for name, path in written.items():
        if path is None or path == _STDIN or (path.exists() and not path.is_file()):
            continue
        check_target(path, name)
        if path.resolve() in known:
            raise InputError(f"{name} {path}: {known[path.resolve()]}", "name another file")
        known[path.resolve()] = f"{name} is written there"


def _this_node(
    rules: dict[str, Rule], site: Site, history: Path | None, speed: AskedSpeed | None, prologue: bool
) -> CheckResult:
    import datetime
    import time
    from dataclasses import replace

    import nodewise
    from nodewise.nodes.check import judge, new_fleet
    from nodewise.nodes.last_known import read_last
    from nodewise.nodes.site import Site
    from nodewise.nodes.take import take_snapshot

    made = take_snapshot(Path("/"), nodewise.__version__)
    data = json.loads(json.dumps((speed.measured(made) if speed else made).to_json()))
    alone = replace(site, expected=())
    fleet = new_fleet(rules.values(), alone)
    fleet.add(data, "this node")
    before, looked = None, True
    if history is not None:
        before = new_fleet([r for r in rules.values() if r.kind == "change"], Site())
        # of ten thousand nodes' history only this one's is read, and before a job no longer than it may wait
        looked = read_last(before, history, data["node"], _PATIENCE_S if prologue else None)
    result = judge(fleet, rules, alone, before, datetime.date.today(), time.time())
    if prologue:
        # that a node is new to the history is nothing that keeps it from a job
        result = replace(result, notes=())
    result = replace(result, notes=(*result.notes, *_speeds(data)))
    if looked:
        return result
    slow = f"{history}: not looked through within {_PATIENCE_S:g} s; keep a file for each node: {data['node']}.json"
    return replace(result, notes=(*result.notes, slow))


def _speeds(data: dict[str, Any]) -> Iterator[str]:
    """What was measured here: rates with their intervals, and how many of the runs other load had disturbed."""
    for name, one in data["speed"].items():
        if one["rate"] is not None:
            low, high = one["low"], one["high"]
            interval = "" if low is None or high is None else f" ({low:.4g}–{high:.4g})"
            disturbed = f", {one['disturbed']} of them beside other load" if one["disturbed"] else ""
            yield f"{name}: {one['rate']:.4g} {one['unit']}{interval}, {one['runs']} runs{disturbed}"


def _write(result: CheckResult, junit: Path | None, html: Path | None, failing: Sequence[Severity]) -> None:
    from nodewise.base.files import write_whole

    if junit is not None:
        from nodewise.report.exports.junit import junit_text

        if junit == _STDIN:
            print(junit_text(result, failing))
        else:
            write_whole(junit, junit_text(result, failing))
    if html is not None:
        from nodewise.report.pages.check import check_page

        write_whole(html, check_page(result))


def _print(result: CheckResult, prologue: bool, everything: bool) -> None:
    from nodewise.report.text.check import check_text, prologue_line

    if prologue:
        print(prologue_line(result))
        return
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(check_text(result, min(120, shutil.get_terminal_size((100, 24)).columns), colour, everything))
