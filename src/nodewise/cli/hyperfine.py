# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of hyperfine, read as they are meant there where nodewise spells the same otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import click

from nodewise.base.errors import InputError
from nodewise.cli.help import Command

_SCAN = ("-P", "--parameter-scan")
_STEP = ("-D", "--parameter-step-size")


def as_our_words(words: Sequence[str]) -> list[str]:
    """`-P VAR MIN MAX` (with `-D STEP`) becomes `-P VAR=MIN..MAX+STEP`, `--ignore-failure=1,3` becomes `--accept-codes 1,3`.

    Raises InputError for a step without a range.
    """
    end = words.index("--") if "--" in words else len(words)
    rest, made = list(words[:end]), []
    step = None
    for name in _STEP:
        if name in rest[:-1]:
            at = rest.index(name)
            step = rest[at + 1]
            del rest[at : at + 2]
    while rest:
        word = rest.pop(0)
        if word in _SCAN and len(rest) >= 3 and "=" not in rest[0]:
            name, low, high = rest[:3]
            del rest[:3]
            made += ["-P", f"{name}={low}..{high}" + (f"+{step}" if step is not None else "")]
            step = None
        elif word == "--ignore-failure=all-non-zero":
            made.append("--ignore-failure")
        elif word.startswith("--ignore-failure="):
            made += ["--accept-codes", word.partition("=")[2]]
        else:
            made.append(word)
    if step is not None:
        raise InputError(f"the step {step} belongs to no range", "write it such as -P n=0..1+0.25, or -P n 0 1 -D 0.25")
    return [*made, *words[end:]]


class HyperfineWords(Command):
    """A command that takes hyperfine's spellings, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See `click.Command.parse_args`."""
        return super().parse_args(ctx, as_our_words(args))
