# SPDX-License-Identifier: BSD-3-Clause
"""Taking a snapshot of the node below a root: `/`, or a copy of another system's /proc, /sys and /etc. Nothing is changed or timed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.shapes import ShapeError
from nodewise.machine.surroundings import read_surroundings
from nodewise.nodes.possible import impossible
from nodewise.nodes.reading.hardware import clocks_of, online_of, read_firmware, read_memory, read_processors
from nodewise.nodes.reading.links import read_accelerators, read_fabric, read_network
from nodewise.nodes.reading.mounts import read_mounts
from nodewise.nodes.reading.reader import LONGEST, Reader
from nodewise.nodes.reading.sensors import read_errors, read_sensors
from nodewise.nodes.reading.software import read_software
from nodewise.nodes.reading.system import (
    host_name,
    read_kernel,
    read_limits,
    read_services,
    read_system,
    read_time,
)
from nodewise.nodes.snapshot import Snapshot, snapshot_from_json
from nodewise.quiet.examine import examine
from nodewise.quiet.finding import Severity

#: Of values in lists, why any of them may be null.
_SEVERAL = {
    "kernel.options.*": "its value may say whose machine this is",
    "kernel.modules.*": "the module has no version of its own",
    "limits.ulimits.*": "no limit",
}


def take_snapshot(
    root: Path, made_by: str, node: str | None = None, own: Mapping[str, str | float | bool] | None = None
) -> Snapshot:
    """The snapshot; `node` names it where the system's own name shall not, `own` are facts to go with it.

    Raises InputError where the root holds no /proc, or the system has no name and none is given.
    """
    if not (root / "proc").is_dir():
        raise InputError(f"no copy of a system: {root}", "it must hold proc and sys")
    r = Reader(root)
    name = node or host_name(r)
    if not name:
        raise InputError(f"{root}: the system does not say its name", "give one: --node NAME")
    # of the whole node, wherever this process is bound to
    online = online_of(root)
    s = read_surroundings(root, online)
    processor = read_processors(r, online)
    for fact, reason in _SEVERAL.items():
        r.lack(fact, reason)
    return _possible(
        Snapshot(
            node=name,
            taken=round(time.time(), 3),
            made_by=f"nodewise {made_by}",
            system=read_system(r, s),
            firmware=read_firmware(r),
            processor=processor,
            clocks=clocks_of(r, s),
            time=read_time(r, s),
            memory=read_memory(r, s, processor),
            kernel=read_kernel(r, s),
            limits=read_limits(r, s),
            mounts=read_mounts(r),
            software=read_software(r),
            services=read_services(r),
            fabric=read_fabric(r),
            network=read_network(r),
            accelerators=read_accelerators(r),
            sensors=read_sensors(r),
            errors=read_errors(r),
            quiet={f.name: str(f.severity) for f in examine(s) if f.severity in (Severity.NOISY, Severity.NOTE)},
            own=dict(own or {}),
            absent=r.absent,
        )
    )


#: Longer texts are no names, versions or states.
_LONGEST = 1000


def _possible(made: Snapshot) -> Snapshot:
    """The snapshot without what no node can have, as files of a damaged system say it; each with its reason."""
    data = made.to_json()
    wrong = [
        (path, f"the system says {str(number)[:24]}, and {needed}") for path, number, needed in impossible(data, ())
    ]
    wrong += [(path, f"the system says {text[:24]!r} and so on") for path, text in _long(data, ())]
    if not wrong:
        return made
    data = json.loads(json.dumps(data))
    for path, reason in wrong:
        at: Any = data
        for key in path[:-1]:
            at = at[key]
        before, at[path[-1]] = at[path[-1]], None
        fact = path
        if isinstance(before, str) and not _fits(data):
            at[path[-1]] = before[:LONGEST]
        elif not _fits(data):
            # a value that every such thing has: it goes with the thing
            *above, last = path
            holder: Any = data
            for key in above[:-1] if isinstance(last, int) else above:
                holder = holder[key]
            if isinstance(last, int):
                fact = tuple(above)
                holder[above[-1]] = []
            else:
                del holder[last]
        data["absent"][".".join(map(str, fact))] = reason
    return snapshot_from_json(data)


def _fits(data: Any) -> bool:
    try:
        snapshot_from_json(data)
    except ShapeError:
        return False
    return True


def _long(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, Mapping | list | tuple):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _long(inner, (*path, key))
    elif isinstance(value, str) and len(value) > _LONGEST:
        yield path, value
