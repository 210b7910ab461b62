# SPDX-License-Identifier: BSD-3-Clause
"""What was typed but does not arrive: input redirected to nodewise itself, options that stand after the program."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import termios
from collections.abc import Sequence
from pathlib import Path

import click


def input_left_out(descriptor: int = 0) -> str:
    """A sentence where standard input holds something that a program run by nodewise does not get; else empty."""
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) and os.fstat(descriptor).st_size > 0:
            name = Path(f"/proc/self/fd/{descriptor}").readlink()
            return f"the program is not given nodewise's own input: name the file instead, --input {name}"
        if stat.S_ISFIFO(mode):
            (waiting,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
            if waiting:
                return "the program is not given what is piped into nodewise: put it into a file, --input FILE"
    except OSError:
        return ""
    return ""


def options_left_out(params: Sequence[click.Parameter], typed: Sequence[str], command: Sequence[str]) -> str:
    """A sentence where options of nodewise's own stand among a program's arguments; else empty.

    `params` are those of the command, `typed` all words, `command` the program's. Who writes -- before it means them so.
    """
    if len(command) < 2 or "--" in typed[: len(typed) - len(command)]:
        return ""
    options = {o: p for p in params if isinstance(p, click.Option) for o in p.opts if o.startswith("--")}
    found = []
    for i, word in enumerate(command[1:], 1):
        if word == "--":
            break
        option = options.get(word.partition("=")[0])
        if option is not None:
            takes = "=" not in word and not option.is_flag and option.nargs == 1 and i + 1 < len(command)
            found.append(f"{word} {command[i + 1]}" if takes else word)
    if not found:
        return ""
    given = f"{', '.join(found)} {'was' if len(found) == 1 else 'were'} handed to {command[0]}"
    return f"{given}; nodewise's options stand before the program (with -- before it this is not said)"
