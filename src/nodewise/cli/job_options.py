# SPDX-License-Identifier: BSD-3-Clause
"""The options of commands that become jobs of Slurm, and their words without them."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.cli.help import JOB, option
from nodewise.cli.kinds import Decorator


def array_option(does: str) -> Decorator:
    """`--array N[%M]`."""
    return option("--array", metavar="N[%M]", help=does, group=JOB)


def without(words: Sequence[str], valued: Sequence[str], alone: Sequence[str]) -> list[str]:
    """Words without options: those that have a value, in the same word or in the next one, and those that have it there or none."""
    left: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in valued:
            next(rest, None)
        elif word not in alone and word.partition("=")[0] not in (*valued, *alone):
            left.append(word)
    return left
