# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise report`: the page, the figures and the table of a stored experiment, again."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.option("--html", type=click.Path(path_type=Path), help="Write the page to this file.")
@click.option(
    "--png",
    type=click.Path(path_type=Path),
    help="Write the figures as PNG: a directory, or FILE.png for the main one.",
)
@click.option(
    "--svg",
    type=click.Path(path_type=Path),
    help="Write the figures as SVG: a directory, or FILE.svg for the main one.",
)
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write every sample as a row of CSV.")
@click.option(
    "--anonymous",
    is_flag=True,
    help="Leave out host, user, paths, the command and what it printed; names of your own become numbers.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.argument("directory", type=click.Path(path_type=Path))
def command(
    directory: Path,
    html: Path | None,
    png: Path | None,
    svg: Path | None,
    csv_file: Path | None,
    anonymous: bool,
    as_json: bool,
) -> None:
    """Rebuild what can be seen of the experiment, study or roofline in DIRECTORY from what was kept of it.

    Without options the page is written to DIRECTORY/report.html.
    """
    from nodewise.records.experiment import read_experiment, write_whole
    from nodewise.records.result_store import holds_result
    from nodewise.report.anonymous import FOLDER, Anonymous
    from nodewise.report.figures import write_figures
    from nodewise.report.page import page, verdict_of
    from nodewise.report.tables import csv_text
    from nodewise.verdicts.encoding import encode

    if not any((html, png, svg, csv_file, as_json)):
        html = directory / "report.html"
    if holds_result(directory):
        _redraw(directory, html, png, svg, csv_file, anonymous, as_json)
        return
    experiment = read_experiment(directory, through=Anonymous(directory) if anonymous else None)
    if anonymous:
        experiment.path = FOLDER
    verdict = verdict_of(experiment)
    written = []
    if html:
        write_whole(html, page(experiment, verdict))
        written.append(html)
    for target, kind in ((png, "png"), (svg, "svg")):
        if target:
            written += write_figures(experiment, verdict, target, kind)
    if csv_file:
        write_whole(csv_file, csv_text(experiment))
        written.append(csv_file)
    if as_json:
        print(json.dumps(encode(verdict), indent=1))
    else:
        for path in written:
            print(path)


def _redraw(
    directory: Path,
    html: Path | None,
    png: Path | None,
    svg: Path | None,
    csv_file: Path | None,
    anonymous: bool,
    as_json: bool,
) -> None:
    """The same of a study or a roofline."""
    from nodewise.records.experiment import write_whole
    from nodewise.report.anonymous import FOLDER, Anonymous
    from nodewise.report.stored import stored_csv, stored_page, write_stored_figures
    from nodewise.verdicts.encoding import encode
    from nodewise.verdicts.kept import KeptStudy, read_kept

    kept = read_kept(directory, Anonymous(directory) if anonymous else None)
    written = []
    if html:
        write_whole(html, stored_page(kept, FOLDER if anonymous else directory))
        written.append(html)
    for target, kind in ((png, "png"), (svg, "svg")):
        if target:
            written += write_stored_figures(kept, target, kind)
    if csv_file:
        write_whole(csv_file, stored_csv(kept))
        written.append(csv_file)
    if as_json:
        results = kept.results if isinstance(kept, KeptStudy) else (kept.result,)
        for result in results:
            print(json.dumps(encode(result), indent=1))
    else:
        for path in written:
            print(path)
