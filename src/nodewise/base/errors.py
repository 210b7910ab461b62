# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong, as one family: what is wrong, where, and what to do about it."""

from __future__ import annotations

from nodewise.base.escaping import escaped, harmless
from nodewise.base.exit_codes import ExitCode

_LONGEST, _END = 1500, 150


def shortened(text: str) -> str:
    """A message without the middle of what is beyond reading: what it quotes may be of any length."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END - 50]} … {text[-_END:]}"


class NodewiseError(Exception):
    """A failure to be reported to the user in one message; `exit_code` is what the command line returns."""

    exit_code = ExitCode.BAD_INPUT
    #: Raised by a function of the caller's, on its way back: its words are left alone.
    of_caller = False

    def __init__(self, what: str, hint: str | None = None):
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __reduce__(self) -> tuple[type[NodewiseError], tuple[str, str | None]]:
        # an exception by itself is copied without its hint
        return (type(self), (self.what, self.hint))

    def __str__(self) -> str:
        # who prints it may have a terminal, and no way to write stray bytes
        return harmless(escaped(f"{self.what}\n\nhint: {self.hint}" if self.hint else self.what))


class InputError(NodewiseError):
    """Something that the user gave cannot be used: an argument, a file, a machine description."""


class ProgramError(NodewiseError):
    """The program under test cannot be started, fails, or prints a wrong result."""


class StoreError(NodewiseError):
    """A result cannot be written or read: directory not writable, disk full, file damaged."""


class UnavailableError(NodewiseError):
    """An optional part is missing here; the hint names what brings it."""

    exit_code = ExitCode.MISSING
