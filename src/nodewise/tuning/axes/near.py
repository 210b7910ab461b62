# SPDX-License-Identifier: BSD-3-Clause
"""The axis near: near which devices the threads sit."""

from __future__ import annotations

from nodewise.base.errors import InputError
from nodewise.search.space import Axis
from nodewise.tuning.known import KnownAxis, Surroundings
from nodewise.tuning.option import Option, held


def _make(around: Surroundings) -> Option:
    """All devices of a kind, where those are not as near to every processor."""
    every = set(around.machine.allowed)
    kinds: dict[str, list[str]] = {}
    for device in around.machine.devices:
        if every & set(device.pus) and not every <= set(device.pus):
            kinds.setdefault(device.kind, []).append(device.name)
    gpus = [name for name in kinds.get("gpu", []) if name.startswith("gpu")]
    values = ["any", *(",".join(gpus if kind == "gpu" else names) for kind, names in kinds.items())]
    if len(values) == 1:
        raise InputError(
            "the axis near has nothing to choose: no device here is nearer to some of the processors than to others",
            "leave it out; `nodewise machine` lists the devices that hwloc sees",
        )
    return held(Axis("near", tuple(values), tuple(values), "any"))


AXIS = KnownAxis("near", _make, order=40, hint="devices")
