# SPDX-License-Identifier: BSD-3-Clause
"""Recall: the earlier tunes from which a new one starts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from nodewise.history.learned import WORKER, libraries_of, program_named
from nodewise.history.place import is_server
from nodewise.history.store import Remembered, Store
from nodewise.machine.model import Machine
from nodewise.records.earlier import SAME_LIBRARIES, SAME_PROGRAM, Earlier, width_of
from nodewise.runner.loaded import Loaded

#: So many earlier tunes lead a new one, of so many that are looked at.
_MOST, _LOOKED_AT = 3, 60
#: Of a command no more characters are told.
_MOST_TOLD = 80
#: A tune does not wait longer for a history that others are writing to.
_WAIT_S = 2.0


def recalled(
    place: str, command: Sequence[str], machine: Machine, metric: str, loaded: Loaded | None
) -> Sequence[Earlier]:
    """The earlier tunes of the same program, whatever its arguments, or of another one of the same libraries; those that are
    likest first, of one command on one machine the latest. None where there is no history yet.

    `metric` is what the tune decides by. Raises NodewiseError where the history cannot be read.
    """
    if not is_server(place) and not Path(place).exists():
        return ()
    program = program_named(command)
    with Store(place, make=False, wait_s=_WAIT_S) as store:
        found = store.learned(program, libraries_of(loaded), metric, _LOOKED_AT)
    # what a study's kernel gains by is no program's, whatever libraries it has, and the other way round
    found = [
        one
        for one in found
        if one.learned.program == program or not any(p.startswith(WORKER) for p in (program, one.learned.program))
    ]
    told = [_earlier(one, program, machine) for one in found]
    told.sort(key=lambda one: (one.relation != SAME_PROGRAM, not one.here))
    latest: dict[tuple[str, str], Earlier] = {}
    for one in told:
        latest.setdefault((one.command, one.machine), one)
    own = [one for one in latest.values() if one.relation == SAME_PROGRAM]
    return tuple((own or list(latest.values()))[:_MOST])


def _earlier(one: Remembered, program: str, machine: Machine) -> Earlier:
    learned, width = one.learned, width_of(machine)
    here = (one.host, one.processor, learned.width) == (machine.hostname, machine.processor.model, width)
    command = one.command if len(one.command) <= _MOST_TOLD else f"{one.command[: _MOST_TOLD - 1]}…"
    return Earlier(
        command=command,
        machine=", ".join(filter(None, (one.host, one.processor))),
        began=datetime.fromtimestamp(one.began, UTC).isoformat(timespec="seconds"),
        relation=SAME_PROGRAM if learned.program == program else SAME_LIBRARIES,
        here=here,
        width=learned.width,
        defaults=learned.defaults,
        settings=learned.settings,
        best=learned.best,
        ratio=learned.ratio,
    )
