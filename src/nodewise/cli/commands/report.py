# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise report`: the page, the figures, the table and the exports of a stored experiment, again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.cli.experiments import STDOUT
from nodewise.cli.exports import Exporting, asked_exports, write_export
from nodewise.cli.help import OUTPUT, option
from nodewise.cli.keeping import print_answer
from nodewise.cli.kinds import PATH

SECTION = "Keep"


class _Report(Exporting):
    exports_before = "directory"


@click.command(
    cls=_Report,
    examples={
        "nodewise report DIR": "write the page of a stored experiment again",
        "nodewise report DIR --pdf figures --width 8cm": "its figures for a column of a paper",
    },
)
@option("--html", type=PATH, help="Write the page to this file.", group=OUTPUT)
@option(
    "--png", type=PATH, help="Write the figures as PNG: a directory, or FILE.png for the main one.", group="Figures"
)
@option(
    "--svg", type=PATH, help="Write the figures as SVG: a directory, or FILE.svg for the main one.", group="Figures"
)
@option(
    "--pdf",
    type=PATH,
    help="Write the figures as PDF, fonts inside: a directory, or FILE.pdf for the main one.",
    group="Figures",
)
@option(
    "--width",
    metavar="LENGTH",
    help="Lay figures out for a column of a paper: 8cm, 85mm, 3.3in or 252pt.",
    group="Figures",
)
@option(
    "--csv",
    "csv_file",
    type=PATH,
    help="Write every sample, or of a study every contender, as a row of CSV; - prints it.",
    group=OUTPUT,
)
@option(
    "--anonymous",
    is_flag=True,
    help="Leave out host, user, paths, the command and what it printed; names of your own become numbers.",
    group=OUTPUT,
)
@option(
    "--text", "as_text", is_flag=True, help="Print the answer again, as the command that measured it did.", group=OUTPUT
)
@option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.", group=OUTPUT)
@click.argument("directory", type=PATH)
def command(
    directory: Path,
    html: Path | None,
    png: Path | None,
    svg: Path | None,
    pdf: Path | None,
    width: str | None,
    csv_file: Path | None,
    anonymous: bool,
    as_text: bool,
    as_json: bool,
    **exports: Any,
) -> None:
    """Write the report of an experiment again, or export it.

    Rebuild the report of the experiment in DIRECTORY, of any kind, from what was kept of it.

    Without options the page is written to DIRECTORY/report.html (report-anonymous.html). Exports are for comparisons.
    """
    from nodewise.base.files import write_whole, write_within
    from nodewise.report.anonymous import FOLDER, Anonymous
    from nodewise.report.exports.layout import caption_of, parse_width
    from nodewise.report.exports.pictures import write_pictures
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.stored import read_stored

    targets = asked_exports(exports, as_json or as_text)
    if as_json and as_text:
        raise InputError("--text and --json are two forms of one answer", "give one of them")
    _check_alone(csv_file, as_json or as_text or STDOUT in targets.values())
    pictures = [(path, suffix) for path, suffix in ((png, "png"), (svg, "svg"), (pdf, "pdf")) if path]
    wide = parse_width(width, "--width") if width is not None else None
    if wide is not None and not pictures:
        raise InputError("--width is of figures as files", "add --png, --svg or --pdf")
    stored = read_stored(directory, *((Anonymous(directory), FOLDER) if anonymous else ()))
    kind = stored.kind
    written = []
    if not any((html, pictures, csv_file, as_text, as_json, targets)):
        # the one with the names stays what it is
        name = "report-anonymous.html" if anonymous else "report.html"
        written.append(write_within(directory, name, kind.load("page")(stored)))
    if html:
        write_whole(html, kind.load("page")(stored))
        written.append(html)
    for path, suffix in pictures:
        written += write_pictures(kind.load("figures")(stored), path, suffix, caption_of(stored), wide)
    if csv_file:
        written += _write_rows(csv_file, kind.load("rows")(stored))
    for name, path in targets.items():
        write_export(name, stored, path)
        written += [path] if path != STDOUT else []
    if as_text:
        print_answer(stored)
    elif as_json:
        for verdict in stored.verdicts:
            print(json.dumps(encode(verdict), indent=1))
    elif STDOUT not in targets.values():
        for path in written:
            print(path)


def _check_alone(csv_file: Path | None, others: bool) -> None:
    if csv_file == STDOUT and others:
        raise InputError("--csv - and another option both write to standard output", "give one of them a file")


def _write_rows(file: Path, rows: str) -> list[Path]:
    """Write them; the files that there are then."""
    from nodewise.base.files import write_whole

    if file == STDOUT:
        print(rows, end="")
        return []
    write_whole(file, rows)
    return [file]
