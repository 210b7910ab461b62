# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise fleet`: nodes side by side."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nodewise.cli.help import OUTPUT, Command, option
from nodewise.cli.kinds import PATH, json_option, within_option

SECTION = "Nodes"


@click.command(
    cls=Command,
    examples={
        "nodewise fleet tuned --html fleet.html": "the results of a job array, side by side on one page",
        "nodewise fleet node1/run node2/run node3/run": "folders copied from three nodes",
    },
)
@within_option()
@option("--html", type=PATH, metavar="FILE", help="Write a page with all nodes to this file.", group=OUTPUT)
@json_option("what is found")
@click.argument("directories", nargs=-1, required=True, type=PATH, metavar="DIR...")
def command(within: float, html: Path | None, as_json: bool, directories: tuple[Path, ...]) -> None:
    """Hold the results of many nodes against each other.

    In each DIR, or below it, lie experiments of one program on several nodes, as tune --submit --array leaves them. What they all
    measured is compared, each node with the one in the middle; all intervals hold together, however many nodes there are.
    """
    from nodewise.api.fleet import ask_fleet
    from nodewise.verdicts.encoding import encode

    found = ask_fleet(directories, within)
    if html is not None:
        from nodewise.base.files import write_whole
        from nodewise.report.pages.fleet import fleet_page

        write_whole(html, fleet_page(found))
    if as_json:
        print(json.dumps(encode(found, page=html), indent=1))
        return
    from nodewise.report.text.fleet import fleet_text

    print(fleet_text(found))
    if html is not None:
        print(f"page      {html}")
