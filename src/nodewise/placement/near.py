# SPDX-License-Identifier: BSD-3-Clause
"""Placement near devices: which processors are the nearest to a disk, an adapter or a graphics processor, and whose turn it is."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.errors import InputError
from nodewise.base.meant import meant
from nodewise.base.processors import format_processors
from nodewise.machine.model import Device, Machine
from nodewise.placement.job import share_zones, within


def find_device(machine: Machine, name: str) -> Device:
    """The device of a name or a PCI address (`3b:00.0`). Raises InputError where there is none."""
    for device in machine.devices:
        if name == device.name or (device.bus and name in (device.bus, device.bus.removeprefix("0000:"))):
            return device
    names = [d.name for d in machine.devices]
    raise InputError(
        f"--near: there is no device {name!r} here{meant(name, names)}",
        f"the devices are: {', '.join(names)}" if names else "hwloc sees no devices of this machine",
    )


def near_processors(machine: Machine, device: Device) -> tuple[int, ...]:
    """Those of its nearest processors that may be used. Raises InputError where none may."""
    found = tuple(p for p in machine.allowed if p in set(device.pus))
    if not found:
        raise InputError(
            f"no processor near {device.name} may be used: the nearest are {format_processors(device.pus)}",
            "leave --near out, or allow some of them",
        )
    return found


def near_zones(machine: Machine, names: Sequence[str], ranks: int) -> list[tuple[int, ...]]:
    """The zones of a node's ranks: rank r gets the device r modulo their number, those of one device a share of its cores each.

    `ranks` is 1 for a process that no launcher starts. Raises InputError for a device that is not here or has no processor left.
    """
    devices = [find_device(machine, name) for name in names]
    zones: list[tuple[int, ...]] = [()] * ranks
    for d, device in enumerate(devices):
        mine = range(d, ranks, len(devices))
        if mine:
            shares = share_zones(within(machine, near_processors(machine, device)), len(mine))
            for rank, zone in zip(mine, shares, strict=True):
                zones[rank] = zone
    return zones


def near_notes(machine: Machine, names: Sequence[str]) -> list[str]:
    """What is to be said of devices that are as near to all processors."""
    every = set(machine.pus)
    return [
        f"{name} is as near to every processor of this machine"
        for name in names
        if every <= set(find_device(machine, name).pus)
    ]
