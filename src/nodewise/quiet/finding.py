# SPDX-License-Identifier: BSD-3-Clause
"""Finding: one thing that is, or is not, wrong with a machine or noisy on it, and what can be done about it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from nodewise.base.frozen import dataclass


class Severity(StrEnum):
    """How much it matters, worst first: what is `wrong` fails jobs or sets nodes apart that must be alike, what is `noisy` makes times vary."""

    WRONG = "wrong"
    NOISY = "noisy"
    NOTE = "note"
    UNKNOWN = "unknown"
    OK = "ok"


@dataclass(frozen=True)
class Finding:
    """`name` is what was looked at, `summary` what was found, in one line, `evidence` files with their values.

    `effect` is what it does to times; `do` a command or an advice, `undo` how to put it back, `root` whether `do` needs
    root's rights; `source` where the claim is from. Empty where there is nothing to say.
    """

    name: str
    severity: Severity
    summary: str
    evidence: tuple[str, ...] = ()
    effect: str = ""
    do: str = ""
    undo: str = ""
    root: bool = False
    source: str = ""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """In the order in which they matter; of equal ones the order stays."""
    order = list(Severity)
    return sorted(findings, key=lambda f: order.index(f.severity))


KERNEL = "https://docs.kernel.org"
