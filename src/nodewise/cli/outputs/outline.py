# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise tune --dry-run --json` prints."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.frozen import dataclass
from nodewise.records.earlier import StartedFrom, started_from
from nodewise.tuning.outline import Outline


@dataclass(frozen=True)
class OutlineOutput:
    """What a tune would try: by axis its values, the program's own first; what is `left_out` and why.

    The search starts from the tunes of `history`. One run takes `run_s` seconds; at most `runs` runs and `seconds` seconds are made of it (None: no bound).
    """

    axes: Mapping[str, tuple[str | int | float, ...]]
    left_out: Mapping[str, str]
    placed: str
    run_s: float
    runs: int | None
    seconds: float | None
    settings: int
    sweep: bool
    history: tuple[StartedFrom, ...] = ()


def outline_output(outline: Outline) -> OutlineOutput:
    """An outline in plain values."""
    return OutlineOutput(
        axes={a.name: (a.default, *(v for v in a.values if v != a.default)) for a in outline.axes},
        left_out=outline.left_out,
        placed=outline.placed,
        run_s=outline.run_s,
        runs=outline.runs,
        seconds=outline.seconds,
        settings=outline.settings,
        sweep=outline.sweep,
        history=tuple(map(started_from, outline.earlier)),
    )
