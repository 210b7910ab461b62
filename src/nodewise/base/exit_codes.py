# SPDX-License-Identifier: BSD-3-Clause
"""The exit codes of the command line, one meaning each in all commands."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """With which the command line ends."""

    WELL = 0
    #: The answer is the bad one that was asked after: slower, broken, something found.
    FOUND = 1
    #: What was given cannot be used, or a program does not run.
    BAD_INPUT = 2
    #: An optional part is not here.
    MISSING = 3
    #: There is no answer yet, and that was to be an error.
    UNDECIDED = 4
    #: A defect of nodewise's own.
    DEFECT = 70
    #: Ctrl-C, before there was anything to hand out; ended by another signal it is 128 and its number, as in a shell.
    INTERRUPTED = 130
