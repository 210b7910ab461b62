# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise history`: experiments over time."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.cli.completion import completer
from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, PLACE, json_option, refuse_ignored, within_option

SECTION = "Keep"
_WIDE = 140
_DIFF, _IMPORT = "diff", "import"


@click.command(
    cls=Command,
    examples={
        "nodewise history ./solver --since 30d --html trend.html": "one program over the last 30 days, as a page",
        "nodewise history diff 12 17": "two experiments against each other",
    },
)
@option(
    "--since",
    metavar="DAY|TIME",
    help="Only what began since then: 2026-11-01, or so long ago: 30d, 12h.",
    group="History",
)
@option(
    "--machine",
    type=PLACE,
    metavar="MACHINE",
    help="Only machines with this in their name or their processor's; of an import: where it was made.",
    group="History",
)
@within_option()
@option("--all", "everything", is_flag=True, help="Show every trend, and every experiment of each.", group=OUTPUT)
@option("--html", type=PATH, metavar="FILE", help="Write a page with the trends to this file.", group=OUTPUT)
@option(
    "--rebuild",
    is_flag=True,
    help="Make the history anew from the experiments in these folders, and below them.",
    group="History",
)
@option(
    "--store",
    type=PLACE,
    metavar="FILE|URL",
    help="Another history: a file, or postgresql://USER@HOST/DATABASE.",
    group="History",
)
@json_option("what is found")
@click.argument(
    "words",
    nargs=-1,
    metavar="[PROGRAM | diff A B | import FILE... | --rebuild DIR...]",
    shell_complete=completer(lambda: ("diff", "import"), first=True),
)
@click.pass_context
def command(
    context: click.Context,
    since: str | None,
    machine: str | None,
    within: float,
    everything: bool,
    html: Path | None,
    rebuild: bool,
    store: str | None,
    as_json: bool,
    words: tuple[str, ...],
) -> None:
    """Show what was measured over time.

    Of PROGRAM or of all, with changes of the level marked.

    Every experiment is put into the history when it ends: an SQLite file below your data folder, or what NODEWISE_HISTORY
    names (a file, a PostgreSQL server's URL, or off). PROGRAM is the name of a program, or a part of a command.

    `nodewise history diff A B` holds two experiments against each other, by their numbers in the table or their folders.
    `nodewise history import FILE...` adds results of hyperfine, Google Benchmark, pytest-benchmark, Criterion and asv, and folders of
    experiments; `nodewise history --rebuild DIR...` makes the history anew from such folders.

    A program called diff or import is asked for as ./diff.
    """
    from nodewise.api.history import ask_difference, ask_import, ask_rebuild, ask_trends, place_of

    place = place_of(store)
    if rebuild:
        refuse_ignored(
            context, "a history that is made anew is shown by nodewise history", but=("rebuild", "store", "as_json")
        )
        _print_filled(ask_rebuild(place, [Path(word) for word in words]), as_json)
    elif words[:1] == (_DIFF,):
        refuse_ignored(context, "two experiments are held against each other", but=("store", "as_json", "within"))
        if len(words) != 3:
            raise InputError(
                "two experiments are needed for a difference", "write: nodewise history diff 12 17, or two folders"
            )
        _print_difference(ask_difference(place, words[1], words[2], within), as_json)
    elif words[:1] == (_IMPORT,):
        refuse_ignored(context, "what is imported is shown by nodewise history", but=("store", "as_json", "machine"))
        if len(words) == 1:
            raise InputError("no file is named", "write: nodewise history import results.json")
        _print_filled(ask_import(place, [Path(word) for word in words[1:]], machine), as_json)
    else:
        if len(words) > 1:
            raise InputError(
                f"one program is asked for, and {len(words)} are named",
                "give a command as one text: nodewise history './solver a'",
            )
        _show(
            ask_trends(place, words[0] if words else None, since, machine, within, everything),
            html,
            everything,
            as_json,
        )


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDE


def _warn(damaged: Sequence[str]) -> None:
    for one in damaged:
        print(f"warning: left out, since it is damaged: {one}", file=sys.stderr)


def _print_json(found: Any, **written: Path | None) -> None:
    from nodewise.verdicts.encoding import encode

    print(json.dumps(encode(found, **written), indent=1))


def _show(trends: Any, html: Path | None, everything: bool, as_json: bool) -> None:
    if html is not None:
        from nodewise.base.files import write_whole
        from nodewise.report.pages.history import history_page

        write_whole(html, history_page(trends))
    if as_json:
        _print_json(trends, page=html)
        return
    from nodewise.report.text.history import trends_text

    _warn(trends.damaged)
    print(trends_text(trends, _width(), everything))
    if html is not None:
        print(f"page      {html}")


def _print_difference(found: Any, as_json: bool) -> None:
    from nodewise.report.text.history import difference_text

    if as_json:
        _print_json(found)
    else:
        _warn(found.damaged)
        print(difference_text(found, _width()))


def _print_filled(filled: Any, as_json: bool) -> None:
    from nodewise.report.text.history import filled_text

    if as_json:
        _print_json(filled)
    else:
        print(filled_text(filled, _width()))
