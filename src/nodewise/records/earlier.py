# SPDX-License-Identifier: BSD-3-Clause
"""Earlier: what earlier tunes saw, as the question of a tune that starts from it keeps it, so that going on starts from the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.base.shapes import Scalar, fit
from nodewise.machine.model import Machine

#: What an earlier tune is of: the same program (its arguments may be others), or another one of the same libraries.
SAME_PROGRAM, SAME_LIBRARIES = "same program", "same libraries"


@dataclass(frozen=True)
class Width:
    """How wide a machine is: the cores, and the hardware threads, that a program may use there."""

    cores: int
    threads: int


@dataclass(frozen=True)
class SettingSeen:
    """What was seen of a setting: `log` is that of its time over the baseline's (None: it failed), with the standard error `deviation`.

    `values` are those of the axes that it set; of the program as it was started there are none.
    """

    values: Mapping[str, Scalar]
    log: float | None
    deviation: float
    runs: int


@dataclass(frozen=True)
class Earlier:
    """An earlier tune of `command`, on `machine` (its name and processor), which began at `began` (ISO 8601, UTC).

    `relation` is what it has in common with this one, `here` whether it was made on this machine. `defaults` are by axis the
    program's own values then. `best` is its fastest setting in words, `ratio` how many times as fast as the baseline that was.
    """

    command: str
    machine: str
    began: str
    relation: str
    here: bool
    width: Width
    defaults: Mapping[str, Scalar]
    settings: Sequence[SettingSeen]
    best: str = ""
    ratio: float = 1.0


def earlier_from_json(data: Any) -> Sequence[Earlier]:
    """Rebuild earlier tunes from their fields as plain values; raises ShapeError where they are none."""
    found: Sequence[Earlier] = fit(data, Sequence[Earlier])
    return found


def width_of(machine: Machine) -> Width:
    """The cores and the hardware threads that a program may use."""
    return Width(len(machine.allowed_cores), len(machine.allowed))
