# SPDX-License-Identifier: BSD-3-Clause
"""`--ci github`: annotations where Actions finds them, and a summary of the step."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from nodewise.base.errors import InputError
from nodewise.cli.help import OUTPUT, option

#: Names the file whose Markdown Actions shows on the page of the job; each step has its own.
_SUMMARY = "GITHUB_STEP_SUMMARY"

ci_option = option(
    "--ci",
    type=click.Choice(["github"]),
    help=f"Print annotations for GitHub Actions behind the answer, and add the table to the step's summary (${_SUMMARY}).",
    group=OUTPUT,
)


def tell_ci(system: str | None, text_of: Callable[[str], str], *, aside: bool) -> None:
    """Tell a continuous integration what was found; `text_of` gives it in the format of an exporter's name.

    Annotations go to standard output, or with `aside`, where that is for one thing alone, to standard error, which Actions reads,
    too. Raises InputError where the summary cannot be written.
    """
    if system is None:
        return
    print(text_of("github"), end="", file=sys.stderr if aside else sys.stdout, flush=True)
    if summary := os.environ.get(_SUMMARY):
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(f"### nodewise\n\n{text_of('markdown')}\n")
        except OSError as problem:
            raise InputError(
                f"cannot write {summary}: {problem.strerror}", f"{_SUMMARY} names it; unset it"
            ) from problem
