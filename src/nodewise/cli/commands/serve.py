# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise serve`: a page of the history, and of what runs now."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import click

from nodewise.cli.help import Command, option
from nodewise.cli.kinds import PATH, PLACE

SECTION = "Keep"


@click.command(
    cls=Command,
    examples={
        "nodewise serve --open": "the history, and what runs now, in your browser",
        "nodewise serve --port 8080 /scratch/me/experiments": "experiments of other machines, too, at a fixed port",
    },
)
@option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="one that is free",
    metavar="N",
    help="The port to listen on.",
    group="Server",
)
@option("--open", "opened", is_flag=True, help="Open the page in your browser.", group="Server")
@option(
    "--store",
    type=PLACE,
    metavar="FILE|URL",
    help="Another history: a file, or postgresql://USER@HOST/DATABASE.",
    group="Server",
)
@click.argument("directories", nargs=-1, type=PATH, metavar="[DIR]...")
def command(port: int, opened: bool, store: str | None, directories: tuple[Path, ...]) -> None:
    """Show the history and what runs now in a browser.

    It prints an address on this machine (127.0.0.1) with a token that nobody else knows, and answers there until Ctrl-C: a table
    of your experiments with their reports, the trends, and for each experiment of yours that runs on this machine how far it is, what
    leads and how sure that is. In DIR lie experiments that other machines write, which are shown, too.

    Nothing is written, but for a passing file with --open. What runs is read when a page asks for it, with what the processors have to spare.
    """
    from nodewise.api.serve import Served
    from nodewise.base.errors import InputError
    from nodewise.cli.served import Server
    from nodewise.history.place import history_place

    for one in directories:
        if not one.is_dir():
            raise InputError(f"no such directory: {one}", "name one with experiments in it, or below it")
    # asked to end it does so well: nothing was begun that is not whole
    with (
        contextlib.suppress(KeyboardInterrupt),
        Server(Served(history_place(store), directories), port) as server,
        # where no file can be written this ends before an address is printed
        _page_that_leads_to(server.url) if opened else contextlib.nullcontext() as page,
    ):
        print(f"serving   {server.url}", flush=True)
        print("          Ctrl-C ends it; who has this address sees what you see", flush=True)
        if page is not None and not _open(page):
            print("note: no browser is found here; open the address yourself", flush=True)
        _step_back()
        server.serve_forever(poll_interval=0.2)
    print("ended")


@contextlib.contextmanager
def _page_that_leads_to(url: str) -> Iterator[Path]:
    """A file of the user's own by which a browser is led to an address: all may see the words that a program is started with."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="nodewise-") as own:
        page = Path(own, "open.html")
        page.write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={url}">')
        yield page


def _open(page: Path) -> bool:
    import webbrowser

    return webbrowser.open(page.as_uri())


def _step_back() -> None:
    """Run only on what the processors have to spare, so that what is measured here meanwhile is not disturbed."""
    with contextlib.suppress(OSError):
        os.nice(19)
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
