# SPDX-License-Identifier: BSD-3-Clause
"""A table as lines of text."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.table import Table


def drawn(table: Table, width: int) -> str:
    """Its lines, in that many columns at most, without a blank at their ends."""
    console = Console(file=StringIO(), width=width)
    with console.capture() as lines:
        console.print(table)
    return "\n".join(line.rstrip() for line in lines.get().rstrip("\n").split("\n"))
