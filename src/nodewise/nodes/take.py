# SPDX-License-Identifier: BSD-3-Clause
"""Taking a snapshot of the node below a root: `/`, or a copy of another system's /proc, /sys and /etc. Nothing is changed or timed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.machine.surroundings import read_surroundings
from nodewise.nodes.reading.hardware import clocks_of, online_of, read_firmware, read_memory, read_processors
from nodewise.nodes.reading.links import read_accelerators, read_fabric, read_network
from nodewise.nodes.reading.mounts import read_mounts
from nodewise.nodes.reading.reader import Reader
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
from nodewise.nodes.snapshot import Snapshot
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
    s = read_surroundings(root, tuple(sorted(os.sched_getaffinity(0))) if r.live else online_of(root))
    processor = read_processors(r, online_of(root))
    for fact, reason in _SEVERAL.items():
        r.lack(fact, reason)
    return Snapshot(
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
