# SPDX-License-Identifier: BSD-3-Clause
"""Earlier: what earlier tunes saw, as the question of a tune that starts from it keeps it, so that going on starts from the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.shapes import Scalar, fit
from nodewise.base.units import format_count
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

    @property
    def sentence(self) -> str:
        """What it was and what it suggests, in words."""
        where = "on this machine" if self.here else f"on {self.machine or 'another machine'}"
        of = (
            self.command if self.relation == SAME_PROGRAM else f"{self.command} (another program of the same libraries)"
        )
        found = f"{self.best} was {self.ratio:.2f}× as fast" if self.best else "nothing was shown to be faster"
        return f"{of}, {where}, {self.began[:10]}: {found} ({format_count(len(self.settings), 'setting')})"


@dataclass(frozen=True)
class StartedFrom:
    """An earlier tune that a search started from, without its `settings`, of which this is the number; the fields are those of `Earlier`."""

    command: str
    machine: str
    began: str
    relation: str
    here: bool
    settings: int
    best: str
    ratio: float
    sentence: str


def started_from(one: Earlier) -> StartedFrom:
    """An earlier tune in short."""
    return StartedFrom(
        one.command,
        one.machine,
        one.began,
        one.relation,
        one.here,
        len(one.settings),
        one.best,
        one.ratio,
        one.sentence,
    )


def led_by(earlier: Sequence[Earlier | StartedFrom]) -> list[str]:
    """What a search starts from, in lines; none where it starts from nothing."""
    if not earlier:
        return []
    count = "an earlier tune" if len(earlier) == 1 else f"{len(earlier)} earlier tunes"
    return [
        f"the search starts from {count}, the verdict from fresh runs (--no-history: from nothing)",
        *(one.sentence for one in earlier),
    ]


def earlier_from_json(data: Any) -> Sequence[Earlier]:
    """Rebuild earlier tunes from their fields as plain values; raises ShapeError where they are none."""
    found: Sequence[Earlier] = fit(data, Sequence[Earlier])
    return found


def width_of(machine: Machine) -> Width:
    """The cores and the hardware threads that a program may use."""
    return Width(len(machine.allowed_cores), len(machine.allowed))
