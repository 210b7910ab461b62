# SPDX-License-Identifier: BSD-3-Clause
"""Trust: continuing an experiment runs the commands that it names, so its owner has to be known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nodewise.cli.help import PROGRAM, option
from nodewise.cli.masked_terminal import show_as_it_is


def trust_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option of commands that continue an experiment; whoever opens its folder reads it: `check_owner`."""
    return option(
        "--trust",
        is_flag=True,
        expose_value=False,
        callback=_note,
        help="Run the commands of a folder that belongs to another user.",
        group=PROGRAM,
    )(function)


def _note(context: click.Context, option: click.Parameter, given: bool) -> None:
    del option
    context.meta["nodewise.trust"] = given


def check_owner(folder: Path, context: click.Context) -> None:
    """Raises InputError where a folder, or what it holds, is another user's and --trust is not given."""
    from nodewise.api import trust

    try:
        trust.check_owner(folder, is_trusted(context))
    except trust.ForeignError as foreign:
        show_as_it_is(foreign.lines)
        raise


def is_trusted(context: click.Context) -> bool:
    """Whether --trust is given."""
    return bool(context.meta.get("nodewise.trust"))
